import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Operation } from '../../contract/operation.ts'
import type { Caller, PlatformContext } from '../core/context.ts'
import type { PlatformSchema } from '../core/schema.ts'

/** The types of events with their categories. The contract has no types for HRIS records; their events use those of the connection's records. */
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
  USER_DOCUMENT_UPLOADED: 'USER',
  USER_DOCUMENT_DELETED: 'USER',
  USER_POLICY_ACCEPTED: 'POLICY',
  DEVICE_LINKED: 'DEVICE',
  DEVICE_DELETED: 'DEVICE',
  DEVICE_DOCUMENT_UPLOADED: 'DEVICE',
  DEVICE_DOCUMENT_DELETED: 'DEVICE',
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
  WORKSPACE_SCOPE_UPDATED: 'MULTIPLE_PRODUCT_SUPPORT',
  GROUPS_IDENTITY_CREATED: 'PERSONNEL',
  GROUPS_IDENTITY_UPDATED: 'PERSONNEL',
  GROUPS_IDENTITY_DELETED: 'PERSONNEL',
} as const

/** What was done, as the contract names it. */
export type EventType = keyof typeof categories
type Category = (typeof categories)[EventType]

/** Who wrote. The `name` of an operator is the sign-in name, or null for the command line. */
export type Actor =
  | { readonly kind: 'api_key'; readonly userId: number; readonly operation: Operation }
  | { readonly kind: 'operator'; readonly name: string | null; readonly command: string }
  | { readonly kind: 'schedule'; readonly job: string }

/** The operator on the command line. */
export function operatorActor(command: string): Actor {
  return { kind: 'operator', name: null, command }
}

/** An event to record. */
export type NewEvent = {
  readonly type: EventType
  /** One sentence in the past tense, without personal data that the object itself does not show. */
  readonly description: string
  readonly target: Target
  /** Everything that one request wrote, if more than the target. An event stores at most `maxNamedTargets` of them. */
  readonly targets?: Targets
  readonly connectionId?: number
  readonly workspaceId?: number
}

/** The account that was written to, the actor, and the time. */
export type WriteContext = { readonly accountId: number; readonly actor: Actor; readonly at: Date }

/** The kinds of objects that events are about. */
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
  | 'deviceDocument'
  | 'entitlement'
  | 'group'
  | 'hrisUserIdentity'
  | 'identitySync'
  | 'personnel'
  | 'policy'
  | 'user'
  | 'workspace'
  | 'userDocument'

/** The object that was written: its kind and the id that the API gives it. */
export type Target = { readonly kind: TargetKind; readonly id: number | string }

/** Several objects of one kind. */
export type Targets = { readonly kind: TargetKind; readonly ids: readonly (number | string)[] }

/** Maximum number of targets that an event names; its description counts all of them. */
export const maxNamedTargets = 1000

/** Records an event of a request. `trx` is the transaction of the write, so that both are stored or none. */
export async function recordEvent(trx: Kysely<PlatformSchema>, ctx: PlatformContext, event: NewEvent): Promise<void> {
  await recordEvents(trx, ctx, [event])
}

/** As `recordEvent`, for any number of events; one statement at most. */
export async function recordEvents(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  events: readonly NewEvent[],
): Promise<void> {
  await storeEvents(trx, writeContextOf(ctx), events)
}

/** The account, the actor and the present time of a request. */
export function writeContextOf(ctx: Caller): WriteContext {
  return { accountId: ctx.accountId, actor: apiKeyActor(ctx), at: ctx.now() }
}

/** The actor of a request of the public API. */
export function apiKeyActor({ callerId, operation }: Pick<Caller, 'callerId' | 'operation'>): Actor {
  return { kind: 'api_key', userId: callerId, operation }
}

/** Records an event outside of a request. `trx` is the transaction of the write. */
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
      targets: targets && { ...targets, ids: targets.ids.slice(0, maxNamedTargets) },
    }),
    created_at: at,
  }))
  await trx.insertInto('events').values(rows).execute()
}

type EventsOfQuery = {
  readonly type: EventType
  readonly kind: TargetKind
  readonly subjects: RawBuilder<unknown>
}

/** Records one event for each row of `subjects`, a query that selects `id` and `description`. */
export async function storeEventsOf(
  trx: Kysely<PlatformSchema>,
  by: WriteContext,
  { type, kind, subjects }: EventsOfQuery,
): Promise<void> {
  const rows = sql`
    select ${type}::text as type, description,
      jsonb_build_object('targetEntity', jsonb_build_object('kind', ${kind}::text, 'id', id)) as metadata
    from (${subjects}) as subjects
    order by id`
  await eventsInsert(by, { category: categories[type], rows }).execute(trx)
}

type InsertedEvents = {
  readonly category: Category
  readonly connectionId?: number | null
  /** A query that selects `type`, `description` and `metadata`. */
  readonly rows: RawBuilder<unknown>
}

/** The statement that records one event for each row of `rows`. */
export function eventsInsert(
  { accountId, actor, at }: WriteContext,
  { category, connectionId = null, rows }: InsertedEvents,
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
