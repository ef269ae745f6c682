import type { Writable } from 'node:stream'
import type { Kysely } from 'kysely'
import type {
  AccountInput,
  AccountListing,
  AccountSummary,
  CreatedKey,
  KeyInput,
  KeyListing,
} from '../accounts/contract.ts'
import {
  acceptTerms,
  createAccount,
  findAccount,
  grantEntitlements,
  listAccounts,
  revokeEntitlements,
  showAccount,
} from '../accounts/accounts.ts'
import { createKey, listKeys, revokeKey } from '../accounts/api-keys.ts'
import { syncIdentities } from '../identity-sync/identity-sync.ts'
import { type AuditOperator, databaseAuditOperator } from './operate-audits.ts'
import type { OperatorInput, OperatorListing, OperatorPassword } from './contract.ts'
import type { SeedDocument, SeedResult } from '../seed/document.ts'
import type { SyncResult } from '../identity-sync/sync-result.ts'
import { createOperator, listOperators, removeOperator, setOperatorPassword } from './operators.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { seed } from '../seed/seed.ts'
import { writeExport } from '../export/write.ts'

/** What the operator may do, be it on the database itself or through a running platform. */
export type Operator = {
  createAccount(account: AccountInput): Promise<AccountSummary>
  listAccounts(): Promise<AccountListing[]>
  showAccount(account: string): Promise<AccountListing>
  /** Keeps the moment of the first acceptance. */
  acceptTerms(account: string): Promise<AccountListing>
  grantEntitlements(account: string, names: readonly string[]): Promise<AccountListing>
  revokeEntitlements(account: string, names: readonly string[]): Promise<AccountListing>
  createKey(key: KeyInput): Promise<CreatedKey>
  listKeys(): Promise<KeyListing[]>
  revokeKey(id: number): Promise<void>
  syncIdentities(account: string): Promise<SyncResult>
  seed(document: SeedDocument): Promise<SeedResult>
  createOperator(operator: OperatorInput): Promise<OperatorListing>
  listOperators(): Promise<OperatorListing[]>
  setOperatorPassword(operator: OperatorPassword): Promise<void>
  removeOperator(name: string): Promise<void>
  /** Writes everything that the platform holds, as one JSON document, and leaves `sink` open. */
  writeExport(sink: Writable): Promise<void>
} & AuditOperator

/** The operator's functions on the platform's own database. */
export function databaseOperator(db: Kysely<PlatformSchema>, now: () => Date = () => new Date()): Operator {
  return {
    createAccount: (account) => createAccount(db, account, now()),
    listAccounts: () => listAccounts(db, now()),
    showAccount: (account) => showAccount(db, account, now()),
    acceptTerms: (account) => acceptTerms(db, account, now()),
    grantEntitlements: (account, names) => grantEntitlements(db, { account, names, now: now() }),
    revokeEntitlements: (account, names) => revokeEntitlements(db, { account, names, now: now() }),
    createKey: (key) => createKey(db, key, now()),
    listKeys: () => listKeys(db, now()),
    revokeKey: (id) => revokeKey(db, id, now()),
    syncIdentities: async (account) => {
      const { id } = await findAccount(db, account)
      return syncIdentities(db, { accountId: id, trigger: 'operator', now })
    },
    seed: (document) => seed(db, document, now()),
    writeExport: (sink) => writeExport(db, { sink, now: now() }),
    ...databaseAuditOperator(db, now),
    createOperator: (operator) => createOperator(db, operator, now()),
    listOperators: () => listOperators(db),
    setOperatorPassword: (operator) => setOperatorPassword(db, operator),
    removeOperator: (name) => removeOperator(db, name),
  }
}
