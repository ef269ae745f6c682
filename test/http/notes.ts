import { pino } from 'pino'
import { z } from 'zod'
import { operations } from '../../src/contract/operation.ts'
import { listQuery, page } from '../../src/contract/platform/common.ts'
import { type ClientOptions, createClient } from '../../src/http/client/client.ts'
import { type AppOptions, createApp } from '../../src/http/server/app.ts'
import { type Handlers, type MountOptions, mount } from '../../src/http/server/mount.ts'

const Note = z.object({ id: z.int().min(1), text: z.string().max(20), pinned: z.boolean() }).meta({ id: 'Note' })
const NoteDraft = z.object({ text: z.string().max(20), pinned: z.boolean().optional() }).meta({ id: 'NoteDraft' })
const NoteRef = z.union([z.int().min(1), z.templateLiteral(['key:', z.string()])])

/** A small table that has every kind of operation and parameter. */
export const notes = operations({
  listNotes: {
    method: 'GET',
    path: '/notes',
    summary: 'All notes.',
    query: z.object({
      ...listQuery,
      pinned: z.boolean().optional(),
      'expand[]': z.array(z.enum(['author', 'history'])).optional(),
      ids: z.array(z.int()).optional(),
    }),
    success: { 200: page(Note) },
    errors: [400, 401, 402, 403, 412, 500],
  },
  createNote: {
    method: 'POST',
    path: '/notes',
    summary: 'Write a note.',
    permission: ['notes-post', 'notes-admin'],
    entitlement: 'NOTES',
    body: NoteDraft,
    success: { 201: Note },
    errors: [400, 401, 402, 403, 409, 412, 413, 422, 500],
  },
  importNotes: {
    method: 'POST',
    path: '/notes/import',
    summary: 'Write many notes, each judged by itself.',
    body: z.array(z.unknown()).min(1).max(3),
    item: NoteDraft,
    success: { 200: z.array(z.boolean()), 207: z.array(z.boolean()) },
    errors: [400, 401, 500],
  },
  getNote: {
    method: 'GET',
    path: '/notes/:noteId',
    summary: 'One note.',
    permission: 'notes-get',
    params: z.object({ noteId: NoteRef }),
    success: { 200: z.object({ noteId: NoteRef }) },
    errors: [400, 401, 404, 500],
  },
  getPage: {
    method: 'GET',
    path: '/books/:bookId/pages/:pageId',
    summary: 'A page.',
    params: z.object({ bookId: z.int().min(1), pageId: z.string() }),
    query: z.object({ size: z.int().min(1).optional() }),
    success: { 200: z.object({ bookId: z.int(), pageId: z.string() }) },
    errors: [400, 401, 404, 500],
  },
  deleteNote: {
    method: 'DELETE',
    path: '/notes/:noteId',
    summary: 'Throw a note away.',
    params: z.object({ noteId: NoteRef }),
    success: { 204: null },
    errors: [401, 500],
  },
})

export type NoteHandlers = Handlers<typeof notes, unknown>

const plainHandlers: NoteHandlers = {
  listNotes: async () => ({ status: 200, body: { data: [], pagination: {} } }),
  createNote: async (_, { body }) => ({ status: 201, body: { id: 1, text: body.text, pinned: body.pinned ?? false } }),
  importNotes: async (_, { body }) => ({ status: 200, body: body.map(() => true) }),
  getNote: async (_, { params }) => ({ status: 200, body: params }),
  getPage: async (_, { params }) => ({ status: 200, body: params }),
  deleteNote: async () => ({ status: 204 }),
}

type Serving = {
  readonly handlers?: Partial<NoteHandlers>
  readonly mount?: Partial<MountOptions<unknown>>
  readonly app?: AppOptions
  readonly client?: Partial<ClientOptions>
}

/** The notes on a free port, with a client for them and the lines that the server logged. */
export async function serveNotes(serving: Serving = {}) {
  const logged: Record<string, unknown>[] = []
  const logger = pino({ level: 'debug' }, { write: (line: string) => logged.push(JSON.parse(line)) })
  const app = await createApp({ logger, ...serving.app })
  const authorize = async () => null
  mount(app, notes, { ...plainHandlers, ...serving.handlers }, { prefix: '/v1', authorize, ...serving.mount })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const baseUrl = `${origin}/v1`
  return {
    app,
    baseUrl,
    logged,
    client: createClient(notes, { baseUrl, bearer: 'a-key', ...serving.client }),
    [Symbol.asyncDispose]: () => app.close(),
  }
}

/** The typed client of the notes at any address. */
export function clientOf(baseUrl: string, options: Partial<ClientOptions> = {}) {
  return createClient(notes, { baseUrl, bearer: 'a-very-secret-key', ...options })
}

/** Asks without the typed client, for what it would never send. */
export async function ask(url: string, init: RequestInit = {}) {
  const response = await fetch(url, init)
  const text = await response.text()
  return { status: response.status, text, body: text === '' ? undefined : JSON.parse(text), headers: response.headers }
}
