import { createHash, randomBytes } from 'node:crypto'
import { BlockList, isIP, isIPv6 } from 'node:net'
import { type Kysely, type Selectable, sql } from 'kysely'
import { prepared } from '../../database/prepared.ts'
import { Failure } from '../../errors.ts'
import type { KeyAccess, PlatformSchema } from '../core/schema.ts'
import { operatorActor, storeEvent } from '../events/store-events.ts'
import { findAccount } from './accounts.ts'
import type { CreatedKey, KeyInput, KeyListing } from './contract.ts'

const secretBytes = 32
const expiryWarningMs = 30 * 24 * 60 * 60 * 1000

/** The owner of a usable key, with the account's plan and the key's permissions. */
export type Caller = {
  readonly accountId: number
  readonly callerId: number
  readonly termsAccepted: boolean
  readonly entitlements: ReadonlySet<string>
  readonly access: KeyAccess
  readonly permissions: ReadonlySet<string>
}

type KeyRow = Pick<
  Selectable<PlatformSchema['api_keys']>,
  'account_id' | 'user_id' | 'access' | 'permissions' | 'expires_at' | 'revoked_at' | 'allowed_addresses'
> & { readonly terms_accepted_at: Date | null; readonly entitlements: readonly string[] }

/** Creates a key and its service user. Only the result contains the key itself; the database stores its hash. */
export async function createKey(db: Kysely<PlatformSchema>, input: KeyInput, now: Date): Promise<CreatedKey> {
  if (input.expiresAt && new Date(input.expiresAt) <= now)
    throw new Failure(
      'usage',
      `a key that ends at ${input.expiresAt} would never work; name a later moment, or "never"`,
    )
  const key = `rck_${randomBytes(secretBytes).toString('base64url')}`
  const id = await db.transaction().execute(async (trx) => {
    const account = await findAccount(trx, input.account)
    const user = await insertKeyUser(trx, account.id, input.name, now)
    const row = await trx
      .insertInto('api_keys')
      .values({
        account_id: account.id,
        user_id: user,
        name: input.name,
        hash: hashKey(key),
        access: typeof input.permissions === 'string' ? input.permissions : 'custom',
        permissions: typeof input.permissions === 'string' ? [] : [...input.permissions],
        expires_at: input.expiresAt === undefined ? twelveMonthsAfter(now) : input.expiresAt,
        revoked_at: null,
        allowed_addresses: [...new Set(input.allowedAddresses)],
        created_at: now,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    await storeEvent(
      trx,
      { accountId: account.id, actor: operatorActor('keys create'), at: now },
      {
        type: 'PUBLIC_API_KEY_CREATED',
        description: `The API key ${row.id} was made`,
        target: { kind: 'apiKey', id: row.id },
      },
    )
    return row.id
  })
  return { id, key }
}

/** Revokes a key; a second time changes nothing. Fails with `not_found`. */
export async function revokeKey(db: Kysely<PlatformSchema>, id: number, now: Date): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const key = await trx.selectFrom('api_keys').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
    if (!key) throw new Failure('not_found', `there is no API key ${id}; \`platform keys list\` shows all`)
    if (key.revoked_at) return
    await trx.updateTable('api_keys').set({ revoked_at: now }).where('id', '=', id).execute()
    await storeEvent(
      trx,
      { accountId: key.account_id, actor: operatorActor('keys revoke'), at: now },
      { type: 'PUBLIC_API_KEY_REVOKED', description: `The API key ${id} was revoked`, target: { kind: 'apiKey', id } },
    )
  })
}

/** All API keys by id, without the keys themselves. */
export async function listKeys(db: Kysely<PlatformSchema>, now: Date): Promise<KeyListing[]> {
  const rows = await db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .selectAll('api_keys')
    .select('accounts.name as account')
    .orderBy('api_keys.id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    account: row.account,
    name: row.name,
    access: row.access,
    permissions: row.permissions,
    allowedAddresses: row.allowed_addresses,
    state: keyState(row, now),
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at?.toISOString() ?? null,
    revokedAt: row.revoked_at?.toISOString() ?? null,
  }))
}

type PresentedKey = { readonly key: string; readonly address: string | null; readonly now: Date }

/** The caller with `key`, or null if the key is unknown, expired, revoked or not allowed from `address`. A null address means this machine. */
export async function findCaller(
  db: Kysely<PlatformSchema>,
  { key, address, now }: PresentedKey,
): Promise<Caller | null> {
  const { rows } = await sql<KeyRow>`${sql.raw(prepared)}
    select key.account_id, key.user_id, key.access, key.permissions, key.expires_at, key.revoked_at, key.allowed_addresses,
      account.terms_accepted_at, array(select name from entitlements where entitlements.account_id = account.id) as entitlements
    from api_keys as key
    join accounts as account on account.id = key.account_id
    where key.hash = ${hashKey(key)}
  `.execute(db)
  const [row] = rows
  if (!row || !isUsable(keyState(row, now))) return null
  if (address !== null && !isWithin(row.allowed_addresses, address)) return null
  return {
    accountId: row.account_id,
    callerId: row.user_id,
    termsAccepted: row.terms_accepted_at !== null,
    entitlements: new Set(row.entitlements),
    access: row.access,
    permissions: new Set(row.permissions),
  }
}

/** Whether one of the addresses or networks contains `address`. An empty list allows every address. */
function isWithin(ranges: readonly string[], address: string): boolean {
  if (ranges.length === 0) return true
  // A proxy may pass on any text.
  if (isIP(address) === 0) return false
  const list = new BlockList()
  for (const range of ranges) addRange(list, range)
  // An IPv4 caller of a socket that takes both families comes as ::ffff:10.0.0.1, which BlockList understands.
  return list.check(address, familyOf(address))
}

function addRange(list: BlockList, range: string): void {
  const [address = '', prefix] = range.split('/')
  if (prefix === undefined) list.addAddress(address, familyOf(address))
  else list.addSubnet(address, Number(prefix), familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4'
}

// A key is 256 random bits: nobody can guess it from its hash, so a slow password hash would only slow down every request.
function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

async function insertKeyUser(db: Kysely<PlatformSchema>, accountId: number, name: string, now: Date): Promise<number> {
  const user = await db
    .insertInto('users')
    .values({
      account_id: accountId,
      email: `api-key-${randomBytes(8).toString('hex')}@api-key.invalid`,
      first_name: name,
      last_name: null,
      origin: 'api_key',
      roles: ['SERVICE_USER'],
      created_at: now,
      updated_at: now,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return user.id
}

function keyState(key: Pick<KeyRow, 'expires_at' | 'revoked_at'>, now: Date): KeyListing['state'] {
  if (key.revoked_at) return 'revoked'
  if (!key.expires_at) return 'active'
  const remainingMs = key.expires_at.getTime() - now.getTime()
  if (remainingMs <= 0) return 'expired'
  return remainingMs <= expiryWarningMs ? 'expires-soon' : 'active'
}

function isUsable(state: KeyListing['state']): boolean {
  return state === 'active' || state === 'expires-soon'
}

function twelveMonthsAfter(now: Date): Date {
  const zoned = now.toTemporalInstant().toZonedDateTimeISO('UTC').add({ months: 12 })
  return new Date(zoned.epochMilliseconds)
}
