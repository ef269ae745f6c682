import type { Kysely } from 'kysely'
import type { AccountInput } from './account-input.ts'
import { createAccount, findAccount } from './accounts.ts'
import { createKey, listKeys, revokeKey } from './api-keys.ts'
import { syncIdentities } from './identity-sync.ts'
import { type AuditOperator, databaseAuditOperator } from './operate-audits.ts'
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
} & AuditOperator

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
    ...databaseAuditOperator(db, now),
  }
}
