import { type Kysely, sql } from 'kysely'
import { prepared } from '../../database/prepared.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Caller, PlatformContext } from '../core/context.ts'
import type { PlatformSchema, ProviderType } from '../core/schema.ts'

/** What connections of each type contain, as refusals name it. */
const holdings = { HRIS: 'identities', MDM: 'devices', CUSTOM: 'records' } as const satisfies Record<
  ProviderType,
  string
>

type ConnectionRef = { readonly connectionId: number; readonly type: ProviderType }
/** A resource as a path names it. */
export type ResourceRef = { readonly connectionId: number; readonly resourceId: number }
/** A resource with the JSON Schema of its records. */
export type Resource = { readonly id: number; readonly schema: Record<string, unknown> }

/** Refuses a connection that the caller's account does not have with 404, and one of another type with 400. */
export async function requireConnection(ctx: PlatformContext, ref: ConnectionRef): Promise<void> {
  checkConnection(ref, await connectionOf(ctx, ctx.db, ref).executeTakeFirst())
}

/**
 * As `requireConnection`; nobody can delete the connection until the transaction ends. Writers with this lock do not wait for each
 * other.
 */
export async function lockConnectionForShare(
  trx: Kysely<PlatformSchema>,
  ctx: Caller,
  ref: ConnectionRef,
): Promise<void> {
  checkConnection(ref, await connectionForShare(trx, ctx, ref).executeTakeFirst())
}

/** The query of `lockConnectionForShare`, for use inside of another statement. */
export function connectionForShare(db: Kysely<PlatformSchema>, ctx: Caller, ref: ConnectionRef) {
  return connectionOf(ctx, db, ref).forKeyShare()
}

/** Refuses the result of such a query if there is no connection or it has another type. */
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

/** The resource of a CUSTOM connection of the caller's account; any other is refused with 404. */
export async function findResource(ctx: PlatformContext, ref: ResourceRef): Promise<Resource> {
  await requireConnection(ctx, { connectionId: ref.connectionId, type: 'CUSTOM' })
  const resource = await resourceOf(ctx.db, ref).select(['id', 'schema']).executeTakeFirst()
  return resource ?? refuseResource(ref)
}

/** Locks a resource that `findResource` returned: `shared` with other writers of its records, or `exclusive`. */
export async function lockResource(
  trx: Kysely<PlatformSchema>,
  ref: ResourceRef,
  mode: 'shared' | 'exclusive',
): Promise<void> {
  const query = resourceOf(trx, ref).select('id')
  const locked = await (mode === 'shared' ? query.forKeyShare() : query.forUpdate()).executeTakeFirst()
  if (!locked) refuseResource(ref)
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
