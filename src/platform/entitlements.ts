import type { Kysely } from 'kysely'
import { findAccount, showAccount } from './accounts.ts'
import type { AccountListing } from './operator-contract.ts'
import type { PlatformSchema } from './schema.ts'

type Named = { readonly account: string; readonly names: readonly string[]; readonly now: Date }

/** Adds features to an account's plan; those that it has already stay. */
export async function grantEntitlements(
  db: Kysely<PlatformSchema>,
  { account, names, now }: Named,
): Promise<AccountListing> {
  const { id } = await findAccount(db, account)
  const rows = [...new Set(names)].map((name) => ({ account_id: id, name }))
  if (rows.length > 0) {
    await db
      .insertInto('entitlements')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  return showAccount(db, account, now)
}

/** Takes features from an account's plan; those that it does not have change nothing. */
export async function revokeEntitlements(
  db: Kysely<PlatformSchema>,
  { account, names, now }: Named,
): Promise<AccountListing> {
  const { id } = await findAccount(db, account)
  if (names.length > 0) {
    await db
      .deleteFrom('entitlements')
      .where('account_id', '=', id)
      .where('name', 'in', [...names])
      .execute()
  }
  return showAccount(db, account, now)
}
