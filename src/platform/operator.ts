import type { Kysely } from 'kysely'
import { Failure } from '../errors.ts'
import type { AccountInput } from './account-input.ts'
import { createKey, findAccount, listKeys, revokeKey } from './api-keys.ts'
import { syncIdentities } from './identity-sync.ts'
import type { AccountSummary, CreatedKey, KeyInput, KeyListing, SeedResult, SyncResult } from './operator-contract.ts'
import type { PlatformSchema } from './schema.ts'
import { seed } from './seed.ts'
import type { SeedDocument } from './seed-document.ts'

/** What the operator may do, be it on the database itself or through a running platform. */
export type Operator = {
  createAccount(account: AccountInput): Promise<AccountSummary>
  createKey(key: KeyInput): Promise<CreatedKey>
  listKeys(): Promise<KeyListing[]>
  revokeKey(id: number): Promise<void>
  syncIdentities(account: string): Promise<SyncResult>
  seed(document: SeedDocument): Promise<SeedResult>
}

/** The operator's functions on the platform's own database. */
export function databaseOperator(db: Kysely<PlatformSchema>, now: () => Date = () => new Date()): Operator {
  return {
    createAccount: (account) => createAccount(db, account, now()),
    createKey: (key) => createKey(db, key, now()),
    listKeys: () => listKeys(db, now()),
    revokeKey: (id) => revokeKey(db, id, now()),
    syncIdentities: async (account) => {
      const { id } = await findAccount(db, account)
      return syncIdentities(db, { accountId: id, trigger: 'operator', now })
    },
    seed: (document) => seed(db, document, now()),
  }
}

async function createAccount(
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
