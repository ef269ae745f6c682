import { z } from 'zod'
import { operations } from '../operation.ts'
import { expandQuery, Id, listQuery, maxShortTextLength, page, Timestamp, text, UserCompact } from './common.ts'

const ControlNotesExpand = z.enum(['owner']).meta({ id: 'ControlNotesExpandEnum' })

const NoteId = z.guid({ error: 'must be a UUID' })

const comment = text(maxShortTextLength).min(1)

const ControlNoteCreate = z.object({ comment }).meta({ id: 'ControlNoteCreateRequestPublicV2Dto' })

const ControlNoteUpdate = z.object({ comment }).meta({ id: 'NoteRequestPublicDto' })

/** A note about a control. */
export const ControlNote = z
  .object({
    id: z.string(),
    ownerId: Id.describe('The user who wrote it.'),
    comment: z.string(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    owner: UserCompact.optional().describe('On request (`expand[]`).'),
  })
  .meta({ id: 'ControlNoteResponsePublicV2Dto', description: 'A note about a control.' })
export type ControlNote = z.infer<typeof ControlNote>

const ControlNotePage = page(ControlNote).meta({ id: 'ControlNotesResponsePublicV2Dto' })

const listParams = z.object({ workspaceId: Id, controlId: Id })
const params = z.object({ workspaceId: Id, controlId: Id, noteId: NoteId })
const expand = expandQuery(ControlNotesExpand)

/** The operations on control notes. */
export const controlNotes = operations({
  listControlNotes: {
    method: 'GET',
    path: '/workspaces/:workspaceId/controls/:controlId/notes',
    summary: 'List Control Notes',
    description: 'The notes of a control.',
    permission: 'controls-notes-get',
    params: listParams,
    query: z.object({
      ...listQuery,
      ...expand,
      excludeIds: z.array(NoteId).optional().describe('Excludes these notes.'),
    }),
    success: { 200: ControlNotePage },
    errors: [400, 401, 403, 404, 412, 500],
  },
  createControlNote: {
    method: 'POST',
    path: '/workspaces/:workspaceId/controls/:controlId/notes',
    summary: 'Create Control Note',
    description: 'Create a note about a control. Its author is the service user of the API key.',
    permission: 'controls-notes-post',
    params: listParams,
    body: ControlNoteCreate,
    success: { 201: ControlNote },
    errors: [400, 401, 403, 404, 412, 500],
  },
  getControlNote: {
    method: 'GET',
    path: '/workspaces/:workspaceId/controls/:controlId/notes/:noteId',
    summary: 'Get Control Note',
    description: 'One note of a control.',
    permission: 'controls-notes-get',
    params,
    query: z.object(expand),
    success: { 200: ControlNote },
    errors: [400, 401, 403, 404, 412, 500],
  },
  updateControlNote: {
    method: 'PUT',
    path: '/workspaces/:workspaceId/controls/:controlId/notes/:noteId',
    summary: 'Update Control Note',
    description: 'Replace the text of a note. The author does not change.',
    permission: 'controls-notes-put',
    params,
    body: ControlNoteUpdate,
    success: { 200: ControlNote },
    errors: [400, 401, 403, 404, 412, 500],
  },
  deleteControlNote: {
    method: 'DELETE',
    path: '/workspaces/:workspaceId/controls/:controlId/notes/:noteId',
    summary: 'Delete Control Note',
    description: 'Delete a note.',
    permission: 'controls-notes-delete',
    params,
    success: { 200: null },
    errors: [400, 401, 403, 404, 412, 500],
  },
})
