import { type Kysely, type Selectable, sql } from 'kysely'
import type { ControlNote, controlNotes } from '../../contract/platform/control-notes.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { compactUsers } from '../core/compact.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { presentRows } from '../core/present-rows.ts'
import { changedAt, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { type NewEvent, recordEvent } from '../events/store-events.ts'
import { findControl, lockControlForShare } from './find-control.ts'

type Row = Selectable<PlatformSchema['control_notes']>
type NotePath = { readonly workspaceId: number; readonly controlId: number; readonly noteId: string }

/** The handlers of the operations on control notes. */
export const controlNoteHandlers: Handlers<typeof controlNotes, PlatformContext> = {
  async listControlNotes(ctx, { params, query }) {
    const { id: controlId } = await findControl(ctx.db, ctx, params)
    const { excludeIds = [] } = query
    return replyWithPage(ctx, {
      table: 'control_notes',
      where: sql`control_id = ${controlId} and uuid <> all(${excludeIds}::uuid[])`,
      filter: { controlId, excludeIds },
      query,
      present: (rows) => present(ctx, rows, query['expand[]']),
    })
  },

  async createControlNote(ctx, { params, body }) {
    const row = await ctx.db.transaction().execute(async (trx) => {
      const { id } = await lockControlForShare(trx, ctx, params)
      const created = await insertNote(trx, ctx, id, body.comment)
      await recordEvent(trx, ctx, noteEvent('ADDED', params, created))
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
      await recordEvent(trx, ctx, noteEvent('EDITED', params, updated))
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
      await recordEvent(trx, ctx, noteEvent('DELETED', params, deleted))
    })
    return { status: 200 }
  },
}

function noteAt(db: Kysely<PlatformSchema>, controlId: number, noteId: string) {
  return db.selectFrom('control_notes').selectAll().where('control_id', '=', controlId).where('uuid', '=', noteId)
}

function refuseUnknown({ controlId, noteId }: NotePath): never {
  throw new Refusal(404, `There is no note ${noteId} of a control ${controlId}`)
}

async function insertNote(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  controlId: number,
  comment: string,
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
    .set({ comment, ...changedAt(ctx.now()) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

function noteEvent(
  change: 'ADDED' | 'EDITED' | 'DELETED',
  { workspaceId, controlId }: Pick<NotePath, 'workspaceId' | 'controlId'>,
  { uuid }: Row,
): NewEvent {
  const verb = change.charAt(0) + change.slice(1).toLowerCase()
  return {
    type: `CONTROL_NOTE_${change}`,
    description: `${verb} a note of the control ${controlId}.`,
    target: { kind: 'controlNote', id: uuid },
    workspaceId,
  }
}

function present(ctx: PlatformContext, rows: readonly Row[], expand?: readonly string[]): Promise<ControlNote[]> {
  const authorIds = rows.map((row) => row.owner_id)
  const loaders = {
    owner: async () => {
      const authors = await compactUsers(ctx.db, ctx.accountId, authorIds)
      return (row: Row) => authors.get(row.owner_id)
    },
  }
  return presentRows(rows, { present: presentRow, expand, loaders })
}

function presentRow(row: Row): ControlNote {
  return {
    id: row.uuid,
    ownerId: row.owner_id,
    comment: row.comment,
    ...presentTimes(row),
  }
}
