import type { Kysely } from 'kysely'
import { Failure } from '../errors.ts'
import { createKey, findAccount, listKeys, revokeKey } from './api-keys.ts'
import { syncIdentities } from './identity-sync.ts'
import type {
  AccountInput,
  AccountSummary,
  CreatedKey,
  KeyInput,
  KeyListing,
  OperatorInput,
  OperatorListing,
  OperatorPassword,
  SeedDocument,
  SeedResult,
  SyncResult,
} from './operator-contract.ts'
import { createOperator, listOperators, removeOperator, setOperatorPassword } from './operators.ts'
import type { PlatformSchema } from './schema.ts'
import { seed } from './seed.ts'

/** What the operator may do, be it on the database itself or through a running platform. */
export type Operator = {
  createAccount(account: AccountInput): Promise<AccountSummary>
  createKey(key: KeyInput): Promise<CreatedKey>
  listKeys(): Promise<KeyListing[]>
  revokeKey(id: number): Promise<void>
  syncIdentities(account: string): Promise<SyncResult>
  seed(document: SeedDocument): Promise<SeedResult>
  createOperator(operator: OperatorInput): Promise<OperatorListing>
  listOperators(): Promise<OperatorListing[]>
  setOperatorPassword(operator: OperatorPassword): Promise<void>
  removeOperator(name: string): Promise<void>
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
    createOperator: (operator) => createOperator(db, operator, now()),
    listOperators: () => listOperators(db),
    setOperatorPassword: (operator) => setOperatorPassword(db, operator),
    removeOperator: (name) => removeOperator(db, name),
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
