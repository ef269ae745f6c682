import { sql } from 'kysely'
import type { RunOfConnection } from '../keys.ts'
import type { Db, RunAccount } from '../schema.ts'

/** Maximum number of accounts that are kept per connection. */
const accountsKept = 200

type AccountOfRun = RunOfConnection & {
  readonly account: RunAccount
}

/** Stores the account of a run, in the transaction that completes its plan. */
export async function storeAccount(tx: Db, { runId, connection, account }: AccountOfRun): Promise<void> {
  await tx
    .insertInto('run_accounts')
    .values({ run_id: runId, account: JSON.stringify(account) })
    .onConflict((conflict) => conflict.column('run_id').doUpdateSet({ account: JSON.stringify(account) }))
    .execute()
  await sql`
    delete from run_accounts where run_id in (
      select run_accounts.run_id from run_accounts join runs on runs.id = run_accounts.run_id
      where runs.connection = ${connection} order by runs.created_at desc, runs.id offset ${accountsKept})`.execute(tx)
}

/** The report of a run about named people; null if the run has none, or it was deleted. */
export async function readRunAccount(db: Db, runId: string): Promise<RunAccount | null> {
  const row = await db.selectFrom('run_accounts').select('account').where('run_id', '=', runId).executeTakeFirst()
  return row?.account ?? null
}
