import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Operation } from '../../contract/operation.ts'
import type { Caller, PlatformContext } from '../core/context.ts'
import type { PlatformSchema } from '../core/schema.ts'

/** The kinds of writes, each with the category under which it is listed. HRIS records have no kinds of their own in the contract: they count as records of their connection. */
const categories = {
  PROVIDER_CONNECTION_CREATED: 'CONNECTION',
  PROVIDER_CONNECTION_UPDATED: 'CONNECTION',
  PROVIDER_CONNECTION_REMOVED: 'CONNECTION',
  CUSTOM_RESOURCE_RECORD_CREATED: 'CUSTOM_CONNECTION',
  CUSTOM_RESOURCE_RECORD_UPDATED: 'CUSTOM_CONNECTION',
  CUSTOM_RESOURCE_RECORD_REMOVED: 'CUSTOM_CONNECTION',
  USER_IDENTITY_PERSONNEL_SYNCED: 'PERSONNEL',
  EMPLOYMENT_STATUS_UPDATED: 'PERSONNEL',
  FORCE_SYNC_ON_A_PERSON: 'PERSONNEL',
  FORCE_SYNC_ON_SOME: 'PERSONNEL',
  FORCE_SYNC_ON_ALL: 'PERSONNEL',
  RESYNC_DATA: 'RESYNC',
  BACKGROUND_CHECK_MANUAL: 'PERSONNEL',
  DEVICE_LINKED: 'DEVICE',
  DEVICE_DELETED: 'DEVICE',
  MDM_USER_DATA_UPDATED: 'MDM',
  MANUAL_ASSET_CREATED: 'ASSET',
  MANUAL_ASSET_UPDATED: 'ASSET',
  MANUAL_ASSET_DELETED: 'ASSET',
  ASSET_NOTES_UPDATED: 'ASSET',
  ASSET_OWNER_UPDATED: 'ASSET',
  CREATE_CONTROL: 'GRC',
  EDIT_CONTROL_INFO: 'GRC',
  CONTROL_NOTE_ADDED: 'GRC',
  CONTROL_NOTE_EDITED: 'GRC',
  CONTROL_NOTE_DELETED: 'GRC',
  CONTROL_OWNER_ADDED: 'GRC',
  CONTROL_OWNER_DELETED: 'GRC',
  AUDIT_CREATED: 'AUDIT',
  AUDIT_STATUS_CHANGED: 'AUDIT',
  CUSTOMER_REQUEST_DETAILS_EDITED: 'AUDIT',
  REQUEST_STATUS_CHANGED: 'AUDIT',
  REQUEST_MESSAGE_SENT: 'AUDIT',
  PUBLIC_API_KEY_CREATED: 'PUBLIC_API_KEY',
  PUBLIC_API_KEY_REVOKED: 'PUBLIC_API_KEY',
  ENTITLEMENT_ENABLED: 'COMPANY',
  ENTITLEMENT_DISABLED: 'COMPANY',
  TERMS_AGREED: 'COMPANY',
  COMPANY_DATA_UPDATED: 'COMPANY',
  WORKSPACE_CREATED: 'MULTIPLE_PRODUCT_SUPPORT',
} as const

export type EventType = keyof typeof categories
type Category = (typeof categories)[EventType]

/** Who wrote. `name` of an operator is the name of the sign-in, or null for the command line. */
export type Actor =
  | { readonly kind: 'api_key'; readonly userId: number; readonly operation: Operation }
  | { readonly kind: 'operator'; readonly name: string | null; readonly command: string }
  | { readonly kind: 'schedule'; readonly job: string }

/** What the operator writes with a command, to which no name belongs. */
export function operatorActor(command: string): Actor {
  return { kind: 'operator', name: null, command }
}

export type NewEvent = {
  readonly type: EventType
  /** One sentence in the past tense, without personal values that the object itself does not show. */
  readonly description: string
  /** What was written: its kind and the id that the interface answers for it. */
  readonly target: Target
  /** Where one request wrote several things: each of them, of which the event keeps the first. */
  readonly targets?: Targets
  readonly connectionId?: number
  readonly workspaceId?: number
}

/** Which account was written to, by which actor, and when. */
export type WriteContext = { readonly accountId: number; readonly actor: Actor; readonly at: Date }

/** What can be written, as programs name it. */
export type TargetKind =
  | 'account'
  | 'apiKey'
  | 'asset'
  | 'audit'
  | 'auditRequest'
  | 'backgroundCheck'
  | 'control'
  | 'controlNote'
  | 'customConnection'
  | 'customDataRecord'
  | 'customDataSession'
  | 'customResource'
  | 'device'
  | 'entitlement'
  | 'hrisUserIdentity'
  | 'identitySync'
  | 'personnel'
  | 'user'

export type Target = { readonly kind: TargetKind; readonly id: number | string }

/** Several things of one kind. They are stored like this, since a batch names a thousand of them. */
export type Targets = { readonly kind: TargetKind; readonly ids: readonly (number | string)[] }

/** How many of the things that one request wrote an event names; its description counts all of them. */
export const maxNamedTargets = 1000

/** Records what a request wrote. `trx` is the transaction of the write, so that there is never one without the other. */
export async function recordEvent(trx: Kysely<PlatformSchema>, ctx: PlatformContext, event: NewEvent): Promise<void> {
  await recordEvents(trx, ctx, [event])
}

/** As `recordEvent`, for a request that wrote in several ways or in none: one statement at most. */
export async function recordEvents(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  events: readonly NewEvent[],
): Promise<void> {
  await storeEvents(trx, writeContextOf(ctx), events)
}

/** To whose account a request writes now, and who makes it. */
export function writeContextOf(ctx: Caller): WriteContext {
  return { accountId: ctx.accountId, actor: apiKeyActor(ctx), at: ctx.now() }
}

/** Who writes with a request of the public interface. */
export function apiKeyActor({ callerId, operation }: Pick<Caller, 'callerId' | 'operation'>): Actor {
  return { kind: 'api_key', userId: callerId, operation }
}

/** Records what an actor wrote to an account. */
export async function storeEvent(trx: Kysely<PlatformSchema>, by: WriteContext, event: NewEvent): Promise<void> {
  await storeEvents(trx, by, [event])
}

async function storeEvents(
  trx: Kysely<PlatformSchema>,
  { accountId, actor, at }: WriteContext,
  events: readonly NewEvent[],
): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(({ type, description, target, targets, connectionId, workspaceId }) => ({
    account_id: accountId,
    type,
    category: categories[type],
    description,
    ...actorColumns(actor),
    connection_id: connectionId ?? null,
    workspace_id: workspaceId ?? null,
    metadata: JSON.stringify({
      targetEntity: target,
      ...(targets && { targets: { ...targets, ids: targets.ids.slice(0, maxNamedTargets) } }),
    }),
    created_at: at,
  }))
  await trx.insertInto('events').values(rows).execute()
}

/** Records one event of a type for each row of a query that gives `id` and `description`, all about things of one kind. */
export async function storeEventsOf(
  trx: Kysely<PlatformSchema>,
  by: WriteContext,
  { type, kind, things: subjects }: { type: EventType; kind: TargetKind; things: RawBuilder<unknown> },
): Promise<void> {
  const rows = sql`
    select ${type}::text as type, description,
      jsonb_build_object('targetEntity', jsonb_build_object('kind', ${kind}::text, 'id', id)) as metadata
    from (${subjects}) as things
    order by id`
  await eventsInsert(by, { category: categories[type], rows }).execute(trx)
}

/** The statement that records an event for each row of a query that gives `type`, all of one category, `description` and `metadata`. */
export function eventsInsert(
  { accountId, actor, at }: WriteContext,
  {
    category,
    connectionId = null,
    rows,
  }: { category: Category; connectionId?: number | null; rows: RawBuilder<unknown> },
): RawBuilder<unknown> {
  const { source, user_id, request_description } = actorColumns(actor)
  return sql`
    insert into events
      (account_id, type, category, description, source, user_id, request_description, connection_id, metadata, created_at)
    select ${accountId}::bigint, type, ${category}::text, description, ${source}::text, ${user_id}::bigint,
      ${request_description}::text, ${connectionId}::bigint, metadata, ${at}::timestamptz
    from (${rows}) as rows`
}

function actorColumns(actor: Actor) {
  switch (actor.kind) {
    case 'api_key': {
      const { method, path } = actor.operation
      return { source: 'PUBLIC_API', user_id: actor.userId, request_description: `${method} ${path}` } as const
    }
    case 'operator': {
      const by = actor.name === null ? actor.command : `${actor.command} by ${actor.name}`
      return { source: 'APP', user_id: null, request_description: `operator: ${by}` } as const
    }
    case 'schedule':
      return { source: 'SCHEDULED', user_id: null, request_description: actor.job } as const
    default:
      return actor satisfies never
  }
}
