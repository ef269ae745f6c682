import { type Kysely, sql } from 'kysely'
import { Failure } from '../../errors.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { operatorActor, storeEvent } from '../events/store-events.ts'
import type { AccountInput, AccountListing, AccountSummary } from './contract.ts'
import { addEntitlements, removeEntitlements } from './entitlements.ts'

type AccountRow = Pick<AccountListing, 'id' | 'name' | 'entitlements'> &
  AccountListing['counts'] & { readonly created_at: Date; readonly terms_accepted_at: Date | null }

/** Opens an account; fails with `conflict` if the name is taken. */
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
    const opening = { accountId: account.id, command: 'accounts create', now }
    await recordOpening(trx, { ...opening, isAccepted: termsAcceptedAt !== null })
    await addEntitlements(trx, { ...opening, names: entitlements })
    return account
  })
}

/** All accounts by id, with their plans and counts. */
export async function listAccounts(db: Kysely<PlatformSchema>, now: Date): Promise<AccountListing[]> {
  return readAccounts(db, { name: null, now })
}

/** One account as `listAccounts` shows it; fails as `findAccount`. */
export async function showAccount(db: Kysely<PlatformSchema>, name: string, now: Date): Promise<AccountListing> {
  const [account] = await readAccounts(db, { name, now })
  return account ?? refuseUnknownAccount(name)
}

/** Records that an account has accepted the terms. A second acceptance changes nothing. */
export async function acceptTerms(db: Kysely<PlatformSchema>, name: string, now: Date): Promise<AccountListing> {
  await db.transaction().execute(async (trx) => {
    const accepted = await trx
      .updateTable('accounts')
      .set({ terms_accepted_at: now })
      .where('name', '=', name)
      .where('terms_accepted_at', 'is', null)
      .returning('id')
      .executeTakeFirst()
    if (accepted) await recordAcceptance(trx, { accountId: accepted.id, command: 'terms accept', now })
  })
  return showAccount(db, name, now)
}

type PlanChange = { readonly account: string; readonly names: readonly string[]; readonly now: Date }

/** Adds features to an account's plan. */
export async function grantEntitlements(
  db: Kysely<PlatformSchema>,
  { account, names, now }: PlanChange,
): Promise<AccountListing> {
  await db.transaction().execute(async (trx) => {
    const { id } = await findAccount(trx, account)
    await addEntitlements(trx, { accountId: id, names, command: 'entitlements grant', now })
  })
  return showAccount(db, account, now)
}

/** Removes features from an account's plan; those that it does not have are ignored. */
export async function revokeEntitlements(
  db: Kysely<PlatformSchema>,
  { account, names, now }: PlanChange,
): Promise<AccountListing> {
  await db.transaction().execute(async (trx) => {
    const { id } = await findAccount(trx, account)
    await removeEntitlements(trx, { accountId: id, names, command: 'entitlements revoke', now })
  })
  return showAccount(db, account, now)
}

/** The account of that name; fails with `not_found`. */
export async function findAccount(db: Kysely<PlatformSchema>, name: string): Promise<{ id: number }> {
  const account = await db.selectFrom('accounts').select('id').where('name', '=', name).executeTakeFirst()
  return account ?? refuseUnknownAccount(name)
}

type AccountOpening = { readonly accountId: number; readonly command: string; readonly now: Date }

/** Records that an account was opened, and that its terms were accepted if they were. */
export async function recordOpening(
  trx: Kysely<PlatformSchema>,
  { isAccepted, ...opening }: AccountOpening & { readonly isAccepted: boolean },
): Promise<void> {
  const { accountId, command, now } = opening
  await storeEvent(
    trx,
    { accountId, actor: operatorActor(command), at: now },
    {
      type: 'COMPANY_DATA_UPDATED',
      description: 'The account was opened',
      target: { kind: 'account', id: accountId },
    },
  )
  if (isAccepted) await recordAcceptance(trx, opening)
}

async function recordAcceptance(
  trx: Kysely<PlatformSchema>,
  { accountId, command, now }: AccountOpening,
): Promise<void> {
  await storeEvent(
    trx,
    { accountId, actor: operatorActor(command), at: now },
    {
      type: 'TERMS_AGREED',
      description: 'The terms and conditions were accepted for the account',
      target: { kind: 'account', id: accountId },
    },
  )
}

function refuseUnknownAccount(name: string): never {
  throw new Failure('not_found', `the platform has no account "${name}"; \`platform accounts create\` makes one`)
}

/** `name`: null for all accounts. */
type AccountQuery = { readonly name: string | null; readonly now: Date }

async function readAccounts(db: Kysely<PlatformSchema>, { name, now }: AccountQuery): Promise<AccountListing[]> {
  const { rows } = await sql<AccountRow>`
    select id, name, created_at, terms_accepted_at,
      array(select e.name from entitlements e where e.account_id = a.id order by e.name collate "C") as entitlements,
      (select count(*)::int from workspaces w where w.account_id = a.id) as workspaces,
      (select count(*)::int from personnel p where p.account_id = a.id) as personnel,
      (select count(*)::int from custom_connections c where c.account_id = a.id) as connections,
      (select count(*)::int from hris_user_identities i join custom_connections c on c.id = i.connection_id
        where c.account_id = a.id and i.deleted_at is null) as identities,
      (select count(*)::int from api_keys k where k.account_id = a.id and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > ${now}::timestamptz)) as keys
    from accounts a where ${name}::text is null or a.name = ${name}
    order by id
  `.execute(db)
  return rows.map(({ id, name: accountName, created_at, terms_accepted_at, entitlements, ...counts }) => ({
    id,
    name: accountName,
    createdAt: created_at.toISOString(),
    termsAcceptedAt: terms_accepted_at?.toISOString() ?? null,
    entitlements,
    counts,
  }))
}
