import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Role } from '../../src/contract/control/access.ts'
import { Upload } from '../../src/contract/control/first-visit.ts'
import type { Reload } from '../../src/contract/control/processes.ts'
import { NewToken } from '../../src/contract/control/tokens.ts'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import type { Reloads } from '../../src/daemon/config/reload.ts'
import type { UploadLimits } from '../../src/daemon/proposal/uploads.ts'
import { startDaemon } from '../../src/daemon/start.ts'
import { type Event, silentEvents } from '../../src/telemetry/events.ts'
import { createVisitor } from './console.ts'
import { createPostgresDatabase } from './servers/databases.ts'

const adminToken = 'token-of-the-one-who-sets-it-up'

/**
 * A daemon whose configuration has no connection yet, with a store of its own. `more`: further lines of the configuration. `files`: files
 * beside it.
 */
export async function openEmptyDaemon({
  baseUrl = 'http://127.0.0.1:9/public/v2',
  limits = { maxBytes: 1024 * 1024, maxUploads: 4, maxIdleMs: 60_000 },
  more = '',
  files = {},
  now,
}: {
  baseUrl?: string
  limits?: UploadLimits
  more?: string
  files?: Readonly<Record<string, string>>
  now?: () => Date
} = {}) {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const database = opening.use(await createPostgresDatabase())
  const file = join(folder, 'rollcall.yaml')
  const text = `# Kept as it is.
platform:
  baseUrl: ${baseUrl} # ours
  apiKey: \${file:platform.key}
database: \${file:database}
server: { host: 127.0.0.1, port: 0, token: '\${file:token}' }
${more}`
  await writeFile(join(folder, 'database'), database.at)
  await writeFile(join(folder, 'token'), adminToken)
  await writeFile(file, text)
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  const reloadRequests: string[] = []
  const events: Event[] = []
  const reloads: Reloads & { last: Reload | null } = { last: null, ask: () => void reloadRequests.push('reload') }
  const daemon = opening.use(
    await startDaemon(await loadConfig(file, {}), {
      events: silentEvents((event) => void events.push(event)),
      uploadLimits: limits,
      reloads,
      ...(now && { now }),
    }),
  )
  const api = (path: string, init: RequestInit = {}, token = adminToken) =>
    fetch(`${daemon.url}/api/v1${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })
  const post = async (path: string, body: object, token?: string) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await api(path, { method: 'POST', headers, body: JSON.stringify(body) }, token)
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  const opened = opening.move()
  return {
    ...{ folder, file, text, url: daemon.url, database, events, reloads, reloadRequests, api, post, adminToken },
    async newToken(name: string, role: Role): Promise<string> {
      return NewToken.parse((await post('/tokens', { name, role })).body).token
    },
    /** Gives an export as a program does; answers its id. */
    async upload(name: string, content: string, token?: string): Promise<string> {
      const headers = { 'content-type': 'application/octet-stream' }
      const answer = await api(`/first-visit/exports?name=${name}`, { method: 'POST', body: content, headers }, token)
      return Upload.parse(await answer.json()).id
    },
    uploads: () => readdir(join(folder, 'data', 'uploads')).catch(() => []),
    config: () => readFile(file, 'utf8'),
    /** Somebody who is signed in to the console. */
    visitor: (token = adminToken) => signedIn(daemon.url, token),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

export type EmptyDaemon = Awaited<ReturnType<typeof openEmptyDaemon>>

export const exportHeader = 'Employee ID,Email,First Name,Last Name,Start Date,Status'

/** An export of this many people whom every preset reads. */
export function exportOf(count: number): string {
  const row = (at: number) => `E${at},p${at}@example.com,Ana,Berg,2024-01-15,Active`
  return [exportHeader, ...Array.from({ length: count }, (_, at) => row(at)), ''].join('\n')
}

async function signedIn(url: string, access: string) {
  const visitor = createVisitor(url, null)
  const form = await visitor.get('/sign-in')
  await visitor.post('/sign-in', { token: tokenIn(form.text), to: '/', access })
  return {
    ...visitor,
    /** Sends a file with the form of the first page, as a browser does. */
    async give(name: string, content: string | Uint8Array<ArrayBuffer>, fields: Readonly<Record<string, string>> = {}) {
      const body = new FormData()
      const { text } = await visitor.get('/connect')
      for (const [field, value] of Object.entries({ token: tokenIn(text), ...fields })) body.set(field, value)
      body.set('export', new Blob([content]), name)
      const cookie = [...visitor.cookies].map(([key, value]) => `${key}=${value}`).join('; ')
      const init = { method: 'POST', body, redirect: 'manual', headers: { cookie, accept: 'text/html' } } as const
      const answer = await fetch(`${url}/connect/export`, init)
      const page = await answer.text()
      return { status: answer.status, location: answer.headers.get('location'), page, notice: noticeIn(page) }
    },
  }
}

export function tokenIn(page: string): string {
  return /name="token" value="([^"]+)"/.exec(page)?.[1] ?? ''
}

/** What a page says in its notice, as a person reads it. */
export function noticeIn(page: string): string {
  const [, text = ''] = /<p class="notice[^>]*>([\s\S]*?)<\/p>/.exec(page) ?? []
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&gt;', '>').trim()
}
