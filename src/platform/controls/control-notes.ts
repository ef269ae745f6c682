import { type Kysely, type Selectable, sql } from 'kysely'
import type { ControlNote, controlNotes } from '../../contract/platform/control-notes.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { compactUsers } from '../core/compact.ts'
import type { PlatformContext } from '../core/context.ts'
import { listPage } from '../core/pages.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { type EventType, recordEvent } from '../events/store-events.ts'
import { findControl, lockControlForShare } from './find-control.ts'

type Row = Selectable<PlatformSchema['control_notes']>
type Expansions = readonly 'owner'[]
type Address = { readonly workspaceId: number; readonly controlId: number; readonly noteId: string }

export const controlNoteHandlers: Handlers<typeof controlNotes, PlatformContext> = {
  async listControlNotes(ctx, { params, query }) {
    const { id: controlId } = await findControl(ctx.db, ctx, params)
    const { excludeIds = [] } = query
    const { rows, pagination } = await listPage(ctx, {
      table: 'control_notes',
      where: sql`control_id = ${controlId} and uuid <> all(${excludeIds}::uuid[])`,
      filter: { controlId, excludeIds },
      query,
    })
    return { status: 200, body: { data: await present(ctx, rows, query['expand[]']), pagination } }
  },

  async createControlNote(ctx, { params, body }) {
    const row = await ctx.db.transaction().execute(async (trx) => {
      const { id } = await lockControlForShare(trx, ctx, params)
      const created = await insertNote(trx, ctx, { controlId: id, comment: body.comment })
      await record(trx, ctx, { type: 'CONTROL_NOTE_ADDED', done: 'Added', note: created, ...params })
      return created
    })
    return { status: 201, body: presentRow(row) }
  },

  async getControlNote(ctx, { params, query }) {
    const { id } = await findControl(ctx.db, ctx, params)
    const row = await noteAt(ctx.db, id, params.noteId).executeTakeFirst()
    if (!row) return refuseUnknown(params)
    const [note = presentRow(row)] = await present(ctx, [row], query['expand[]'])
    return { status: 200, body: note }
  },

  async updateControlNote(ctx, { params, body }) {
    const row = await ctx.db.transaction().execute(async (trx) => {
      const { id } = await findControl(trx, ctx, params)
      const known = await noteAt(trx, id, params.noteId).forUpdate().executeTakeFirst()
      if (!known) return refuseUnknown(params)
      if (known.comment === body.comment) return known
      const updated = await updateNote(trx, ctx, known, body.comment)
      await record(trx, ctx, { type: 'CONTROL_NOTE_EDITED', done: 'Edited', note: updated, ...params })
      return updated
    })
    return { status: 200, body: presentRow(row) }
  },

  async deleteControlNote(ctx, { params }) {
    await ctx.db.transaction().execute(async (trx) => {
      const { id } = await findControl(trx, ctx, params)
      const deleted = await trx
        .deleteFrom('control_notes')
        .where('control_id', '=', id)
        .where('uuid', '=', params.noteId)
        .returningAll()
        .executeTakeFirst()
      if (!deleted) return refuseUnknown(params)
      await record(trx, ctx, { type: 'CONTROL_NOTE_DELETED', done: 'Deleted', note: deleted, ...params })
    })
    return { status: 200 }
  },
}

function noteAt(db: Kysely<PlatformSchema>, controlId: number, noteId: string) {
  return db.selectFrom('control_notes').selectAll().where('control_id', '=', controlId).where('uuid', '=', noteId)
}

function refuseUnknown({ controlId, noteId }: Address): never {
  throw new Refusal(404, `There is no note ${noteId} of a control ${controlId}`)
}

async function insertNote(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  { controlId, comment }: { controlId: number; comment: string },
): Promise<Row> {
  const now = ctx.now()
  return trx
    .insertInto('control_notes')
    .values({ control_id: controlId, owner_id: ctx.callerId, comment, created_at: now, updated_at: now })
    .returningAll()
    .executeTakeFirstOrThrow()
}

async function updateNote(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  { id }: Row,
  comment: string,
): Promise<Row> {
  return trx
    .updateTable('control_notes')
    .set({
      comment,
      updated_at: sql`greatest(updated_at, ${ctx.now()}::timestamptz)`,
      changed_in: sql`pg_current_xact_id()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

async function record(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  {
    type,
    done,
    note,
    workspaceId,
    controlId,
  }: { type: EventType; done: string; note: Row; workspaceId: number; controlId: number },
): Promise<void> {
  await recordEvent(trx, ctx, {
    type,
    description: `${done} a note of the control ${controlId}.`,
    target: { kind: 'controlNote', id: note.uuid },
    workspaceId,
  })
}

async function present(ctx: PlatformContext, rows: readonly Row[], expand: Expansions = []): Promise<ControlNote[]> {
  const authors = expand.includes('owner')
    ? await compactUsers(
        ctx.db,
        ctx.accountId,
        rows.map((row) => row.owner_id),
      )
    : null
  return rows.map((row) => ({ ...presentRow(row), ...(authors && { owner: authors.get(row.owner_id) }) }))
}

function presentRow(row: Row): ControlNote {
  return {
    id: row.uuid,
    ownerId: row.owner_id,
    comment: row.comment,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
