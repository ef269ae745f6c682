import { type Kysely, sql } from 'kysely'
import { prepared } from '../../database/prepared.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Caller, PlatformContext } from '../core/context.ts'
import type { PlatformSchema, ProviderType } from '../core/schema.ts'

/** What connections of each type hold, as refusals name it. */
const holdings = { HRIS: 'identities', MDM: 'devices', CUSTOM: 'records' } as const satisfies Record<
  ProviderType,
  string
>

type ConnectionRef = { readonly connectionId: number; readonly type: ProviderType }
export type ResourceRef = { readonly connectionId: number; readonly resourceId: number }
export type Resource = { readonly id: number; readonly schema: Record<string, unknown> }

/** Refuses a connection that the caller's account does not have, or that is of another type. */
export async function requireConnection(ctx: PlatformContext, wanted: ConnectionRef): Promise<void> {
  checkConnection(wanted, await connectionOf(ctx, ctx.db, wanted).executeTakeFirst())
}

/**
 * As `requireConnection`, and holds the connection until the transaction ends, so that no request deletes it while something is
 * written into it. Writers do not wait for one another.
 */
export async function lockConnectionForShare(
  trx: Kysely<PlatformSchema>,
  ctx: Caller,
  wanted: ConnectionRef,
): Promise<void> {
  checkConnection(wanted, await connectionForShare(trx, ctx, wanted).executeTakeFirst())
}

/** The query with which `holdConnection` finds and holds it, for statements that go on from there. */
export function connectionForShare(db: Kysely<PlatformSchema>, ctx: Caller, wanted: ConnectionRef) {
  return connectionOf(ctx, db, wanted).forKeyShare()
}

/** Refuses what such a query found, where it is not what was wanted. */
export function checkConnection(
  { connectionId, type }: ConnectionRef,
  connection: { readonly provider_type: ProviderType } | undefined,
): void {
  if (!connection) throw new Refusal(404, `There is no custom connection ${connectionId}`)
  if (connection.provider_type === type) return
  throw new Refusal(
    400,
    `Custom connection ${connectionId} is of type ${connection.provider_type}; only one of type ${type} holds ${holdings[type]}`,
  )
}

/** The resource of a connection of type CUSTOM; one of another connection is as absent as one that never was. */
export async function findResource(ctx: PlatformContext, wanted: ResourceRef): Promise<Resource> {
  await requireConnection(ctx, { connectionId: wanted.connectionId, type: 'CUSTOM' })
  const resource = await resourceOf(ctx.db, wanted).select(['id', 'schema']).executeTakeFirst()
  return resource ?? refuseResource(wanted)
}

/** Holds a resource that `findResource` found: together with other writers of its records, or alone. */
export async function lockResource(
  trx: Kysely<PlatformSchema>,
  wanted: ResourceRef,
  strength: 'shared' | 'alone',
): Promise<void> {
  const query = resourceOf(trx, wanted).select('id')
  const held = await (strength === 'shared' ? query.forKeyShare() : query.forUpdate()).executeTakeFirst()
  if (!held) refuseResource(wanted)
}

function connectionOf(ctx: Caller, db: Kysely<PlatformSchema>, { connectionId }: ConnectionRef) {
  return db
    .selectFrom('custom_connections')
    .modifyFront(sql.raw(prepared))
    .select('provider_type')
    .where('account_id', '=', ctx.accountId)
    .where('id', '=', connectionId)
}

function resourceOf(db: Kysely<PlatformSchema>, { connectionId, resourceId }: ResourceRef) {
  return db.selectFrom('custom_resources').where('connection_id', '=', connectionId).where('id', '=', resourceId)
}

function refuseResource({ connectionId, resourceId }: ResourceRef): never {
  throw new Refusal(404, `Custom connection ${connectionId} has no resource ${resourceId}`)
}
