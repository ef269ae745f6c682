import { type Kysely, sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { addRows } from '../core/add-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'

/** The ids of the account's users with these addresses; kept from being deleted until the transaction ends. */
export async function usersOf(
  trx: Kysely<PlatformSchema>,
  accountId: number,
  emails: readonly string[],
): Promise<number[]> {
  const wanted = [...new Set(emails.map((email) => email.toLowerCase()))]
  if (wanted.length === 0) return []
  const rows = await trx
    .selectFrom('users')
    .select(['id', 'email'])
    .where('account_id', '=', accountId)
    .where(sql<boolean>`fold_case(email) = any(${wanted}::text[])`)
    .orderBy('id')
    .forKeyShare()
    .execute()
  const found = new Set(rows.map(({ email }) => email.toLowerCase()))
  refuseMissing(wanted, found, (email) => `the account has no user ${email}`)
  return rows.map(({ id }) => id)
}

/** The ids of the workspace's controls with these codes; kept from being deleted until the transaction ends. */
export async function controlsOf(
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
  const found = new Set(rows.map(({ code }) => code))
  refuseMissing(codes, found, (code) => `the workspace has no control ${code}`)
  return rows.map(({ id }) => id)
}

/** The ids of these auditors, who are added to the account if they are new. A known address keeps its name. */
export async function auditorsOf(
  trx: Kysely<PlatformSchema>,
  accountId: number,
  auditors: readonly { readonly name: string; readonly email: string }[],
): Promise<number[]> {
  if (auditors.length === 0) return []
  const rows = auditors.map(({ name, email }) => ({ account_id: accountId, name, email }))
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
  wanted: readonly string[],
  found: ReadonlySet<string>,
  message: (missing: string) => string,
): void {
  const missing = wanted.find((name) => !found.has(name))
  if (missing !== undefined) throw new Failure('not_found', message(missing))
}
