import { type Kysely, sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { addRows } from '../core/add-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'

/** The ids of the account's users with these e-mail addresses, locked until the transaction ends. Fails with `not_found`. */
export async function userIdsByEmail(
  trx: Kysely<PlatformSchema>,
  accountId: number,
  emails: readonly string[],
): Promise<number[]> {
  const addresses = [...new Set(emails.map((email) => email.toLowerCase()))]
  if (addresses.length === 0) return []
  const rows = await trx
    .selectFrom('users')
    .select(['id', 'email'])
    .where('account_id', '=', accountId)
    .where(sql<boolean>`fold_case(email) = any(${addresses}::text[])`)
    .orderBy('id')
    .forKeyShare()
    .execute()
  const known = new Set(rows.map(({ email }) => email.toLowerCase()))
  refuseMissing(addresses, known, (email) => `the account has no user ${email}`)
  return rows.map(({ id }) => id)
}

/** The ids of the workspace's controls with these codes, locked until the transaction ends. Fails with `not_found`. */
export async function controlIdsByCode(
  trx: Kysely<PlatformSchema>,
  workspaceId: number,
  codes: readonly string[],
): Promise<number[]> {
  if (codes.length === 0) return []
  const rows = await trx
    .selectFrom('controls')
    .select(['id', 'code'])
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`code = any(${codes}::text[])`)
    .orderBy('id')
    .forKeyShare()
    .execute()
  const known = new Set(rows.map(({ code }) => code))
  refuseMissing(codes, known, (code) => `the workspace has no control ${code}`)
  return rows.map(({ id }) => id)
}

/** The ids of these auditors; new ones are added to the account. A known auditor keeps their name. */
export async function ensureAuditors(
  trx: Kysely<PlatformSchema>,
  accountId: number,
  auditors: readonly { readonly name: string; readonly email: string }[],
): Promise<number[]> {
  if (auditors.length === 0) return []
  const rows = auditors.map(({ name, email }) => ({ account_id: accountId, name, email }))
  // In order, so that transactions that add the same auditors wait for one another instead of locking each other.
  await addRows(
    trx,
    'auditors',
    rows.toSorted((one, other) => (one.email.toLowerCase() < other.email.toLowerCase() ? -1 : 1)),
  )
  const known = await trx
    .selectFrom('auditors')
    .select('id')
    .where('account_id', '=', accountId)
    .where(sql<boolean>`fold_case(email) = any(${rows.map(({ email }) => email.toLowerCase())}::text[])`)
    .execute()
  return known.map(({ id }) => id)
}

function refuseMissing(
  names: readonly string[],
  known: ReadonlySet<string>,
  message: (missing: string) => string,
): void {
  const missing = names.find((name) => !known.has(name))
  if (missing !== undefined) throw new Failure('not_found', message(missing))
}
