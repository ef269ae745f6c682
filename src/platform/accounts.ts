import type { Kysely } from 'kysely'
import { Failure } from '../errors.ts'
import type { AccountInput } from './account-input.ts'
import type { AccountSummary } from './operator-contract.ts'
import type { PlatformSchema } from './schema.ts'

/** Opens an account; the name of another one is a conflict. */
export async function createAccount(
  db: Kysely<PlatformSchema>,
  { name, entitlements, termsAcceptedAt }: AccountInput,
  now: Date,
): Promise<AccountSummary> {
  return db.transaction().execute(async (trx) => {
    const account = await trx
      .insertInto('accounts')
      .values({ name, terms_accepted_at: termsAcceptedAt, created_at: now })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .returning(['id', 'name'])
      .executeTakeFirst()
    if (!account) throw new Failure('conflict', `the platform already has an account "${name}"; choose another name`)
    const rows = [...new Set(entitlements)].map((entitlement) => ({ account_id: account.id, name: entitlement }))
    if (rows.length > 0) await trx.insertInto('entitlements').values(rows).execute()
    return account
  })
}

/** The account of that name, or the failure that tells the operator so. */
export async function findAccount(db: Kysely<PlatformSchema>, name: string): Promise<{ id: number }> {
  const account = await db.selectFrom('accounts').select('id').where('name', '=', name).executeTakeFirst()
  if (account) return account
  throw new Failure('not_found', `the platform has no account "${name}"; \`platform accounts create\` makes one`)
}
