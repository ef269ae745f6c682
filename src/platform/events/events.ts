import { type RawBuilder, type Selectable, sql } from 'kysely'
import { z } from 'zod'
import type { InputOf } from '../../contract/operation.ts'
import {
  type Event,
  EventCategory,
  type EventExpand,
  EventMetadata,
  type events,
} from '../../contract/platform/events.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { compactConnections, compactUsers } from '../core/compact.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { presentRows } from '../core/present-rows.ts'
import type { PlatformSchema } from '../core/schema.ts'

type Row = Selectable<PlatformSchema['events']>
type Query = InputOf<typeof events.listEvents>['query']

const StoredMetadata = EventMetadata.extend({
  targets: z.object({ kind: z.string(), ids: z.array(z.union([z.number(), z.string()])) }).optional(),
})

/** The handlers of the operations on events. */
export const eventHandlers: Handlers<typeof events, PlatformContext> = {
  async listEvents(ctx, { query }) {
    const { cursor, size, sort, sortDir, includeTotalCount, 'expand[]': expand, ...filter } = query
    return replyWithPage(ctx, {
      table: 'events',
      where: sql.join([sql`account_id = ${ctx.accountId}`, ...conditions(query)], sql` and `),
      filter,
      query: { cursor, size, sort, sortDir, includeTotalCount },
      present: (rows) => present(ctx, rows, expand),
    })
  },

  async getEvent(ctx, { params, query }) {
    const row = await ctx.db
      .selectFrom('events')
      .selectAll()
      .where('account_id', '=', ctx.accountId)
      .where('uuid', '=', params.eventId)
      .executeTakeFirst()
    const [event] = row ? await present(ctx, [row], query['expand[]']) : []
    if (!event) throw new Refusal(404, 'There is no such event')
    return { status: 200, body: event }
  },
}

function conditions(query: Query): RawBuilder<unknown>[] {
  const { type, source, category, connectionId, userId, workspaceId, createdAtStartDate, createdAtEndDate } = query
  return [
    equal('type', type),
    equal('source', source),
    equal('category', category),
    equal('connection_id', connectionId),
    equal('user_id', userId),
    equal('workspace_id', workspaceId),
    createdAtStartDate === undefined ? null : sql`created_at >= ${new Date(createdAtStartDate)}::timestamptz`,
    createdAtEndDate === undefined ? null : sql`created_at <= ${new Date(createdAtEndDate)}::timestamptz`,
  ].filter((condition) => condition !== null)
}

function equal(column: keyof Row, value: string | number | null | undefined): RawBuilder<unknown> | null {
  if (value === undefined) return null
  return value === null ? sql`${sql.ref(column)} is null` : sql`${sql.ref(column)} = ${value}`
}

function present(ctx: PlatformContext, rows: readonly Row[], expand: readonly EventExpand[] = []): Promise<Event[]> {
  const loaders = {
    user: async () => {
      const userIds = rows.map((row) => row.user_id)
      const users = await compactUsers(ctx.db, ctx.accountId, userIds)
      return (row: Row) => users.get(row.user_id ?? 0) ?? null
    },
    connection: async () => {
      const connectionIds = rows.map((row) => row.connection_id)
      const connections = await compactConnections(ctx.db, ctx.accountId, connectionIds)
      return (row: Row) => connections.get(row.connection_id ?? 0) ?? null
    },
    metadata: async () => metadataOf,
    testName: async () => () => null,
    testId: async () => () => null,
    issues: async () => () => [],
  }
  // The contract adds the issues to the metadata.
  const requested = expand.includes('metadata') ? [...expand, 'issues'] : expand
  return presentRows(rows, { present: presentRow, expand: requested, loaders })
}

function presentRow(row: Row): Event {
  return {
    id: row.uuid,
    type: row.type,
    category: EventCategory.parse(row.category),
    source: row.source,
    description: row.description,
    status: null,
    createdAt: row.created_at.toISOString(),
    userId: row.user_id,
    connectionId: row.connection_id,
    requestDescription: row.request_description,
  }
}

function metadataOf({ metadata }: Row): EventMetadata {
  const { targets, ...shown } = StoredMetadata.parse(metadata)
  if (!targets) return shown
  return { ...shown, targetEntities: targets.ids.map((id) => ({ kind: targets.kind, id })) }
}
