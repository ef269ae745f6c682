import type { Kysely } from 'kysely'
import { Failure } from '../../errors.ts'
import { findAccount } from '../accounts/accounts.ts'
import type { PlatformSchema } from '../core/schema.ts'
import type { OperatorInput, OperatorListing, OperatorPassword } from './contract.ts'
import { hashPassword } from './passwords.ts'

/** Adds an operator of the Personnel page, for one account or for all. Fails with `conflict` if the name is taken. */
export async function createOperator(
  db: Kysely<PlatformSchema>,
  { name, account, password }: OperatorInput,
  now: Date,
): Promise<OperatorListing> {
  const accountId = account === null ? null : (await findAccount(db, account)).id
  const row = await db
    .insertInto('operators')
    .values({ name, account_id: accountId, password: await hashPassword(password), created_at: now })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returning(['id', 'created_at'])
    .executeTakeFirst()
  if (!row)
    throw new Failure('conflict', `there is already an operator "${name}"; \`platform operators list\` shows all`)
  return { id: row.id, name, account, createdAt: row.created_at.toISOString() }
}

/** All operators of the Personnel page by id. */
export async function listOperators(db: Kysely<PlatformSchema>): Promise<OperatorListing[]> {
  const rows = await db
    .selectFrom('operators')
    .leftJoin('accounts', 'accounts.id', 'operators.account_id')
    .select(['operators.id', 'operators.name', 'operators.created_at', 'accounts.name as account'])
    .orderBy('operators.id')
    .execute()
  return rows.map(({ id, name, account, created_at }) => ({ id, name, account, createdAt: created_at.toISOString() }))
}

/** Replaces an operator's password and ends all their sessions. Fails with `not_found`. */
export async function setOperatorPassword(
  db: Kysely<PlatformSchema>,
  { name, password }: OperatorPassword,
): Promise<void> {
  const hash = await hashPassword(password)
  await db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable('operators')
      .set({ password: hash })
      .where('name', '=', name)
      .returning('id')
      .executeTakeFirst()
    if (!row) throw unknownOperator(name)
    await trx.deleteFrom('operator_sessions').where('operator_id', '=', row.id).execute()
  })
}

/** Removes an operator with all their sessions. Fails with `not_found`. */
export async function removeOperator(db: Kysely<PlatformSchema>, name: string): Promise<void> {
  const { numDeletedRows } = await db.deleteFrom('operators').where('name', '=', name).executeTakeFirstOrThrow()
  if (numDeletedRows === 0n) throw unknownOperator(name)
}

function unknownOperator(name: string): Failure {
  return new Failure('not_found', `there is no operator "${name}"; \`platform operators list\` shows all`)
}
