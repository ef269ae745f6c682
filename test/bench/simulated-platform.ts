import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'

// A platform that keeps people in memory, answers after a delay, and limits the requests a minute from one address. It simulates a
// distant platform that takes almost no processor time of this machine.

const [requestsPerMinute = 500, latencyMs = 200] = process.argv.slice(2).map(Number)
const Batch = z.array(z.looseObject({ identityId: z.string(), separatedAt: z.string().nullish() }))
type Stored = z.infer<typeof Batch>[number]

const connections = new Map<string, Map<string, Stored>>()
const totals = { requests: 0, refused: 0, people: 0, unknown: [] as string[], answeredMs: 0 }
const at = '2026-01-01T00:00:00.000Z'
/** What the platform says of fields that were never sent. */
const unknownFields = {
  email: null,
  secondaryEmail: null,
  firstName: null,
  lastName: null,
  jobTitle: null,
  managerId: null,
  managerName: null,
  startedAt: null,
  separatedAt: null,
  isContractor: null,
}
let window = { endsMs: 0, left: 0 }

const server = createServer((request, response) => {
  void answer(request, response)
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ baseUrl: `http://127.0.0.1:${port}/public/v2` })}\n`)
})
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '', url = '' } = request
  if (url === '/totals') return send(response, 200, totals)
  totals.requests++
  const waitMs = take()
  response.setHeader('ratelimit-policy', `"minute";q=${requestsPerMinute};w=60`)
  response.setHeader(
    'ratelimit',
    `"minute";r=${window.left};t=${Math.ceil((window.endsMs - performance.now()) / 1000)}`,
  )
  if (waitMs > 0) {
    totals.refused++
    request.resume()
    response.setHeader('retry-after', Math.ceil(waitMs / 1000))
    const message = `one address may send at most ${requestsPerMinute} requests a minute`
    return send(response, 429, { statusCode: 429, message, code: 14290 })
  }
  const [, id = '', isBatch] = /^\/public\/v2\/custom-connections\/(\d+)(\/hris-user-identities)?$/.exec(url) ?? []
  if (method === 'POST' && isBatch) {
    const records = Batch.parse(await json(request))
    await pause(latencyMs)
    const results = upsert(id, records)
    totals.answeredMs = Date.now()
    return send(response, 207, results)
  }
  const [, of = '', key = ''] = /\/custom-connections\/(\d+)\/hris-user-identities\/identity-id%3A(.+)$/.exec(url) ?? []
  if (key !== '' && (method === 'PUT' || method === 'GET')) {
    const fields = method === 'PUT' ? z.looseObject({}).parse(await json(request)) : null
    await pause(latencyMs)
    return send(response, 200, identity(of, decodeURIComponent(key), fields))
  }
  await pause(latencyMs)
  if (method === 'GET' && url.startsWith('/public/v2/events?')) return send(response, 200, page([syncedJustNow()]))
  if (method === 'GET' && id !== '' && !isBatch) {
    const times = { createdAt: at, updatedAt: at }
    return send(response, 200, {
      id: Number(id),
      clientAlias: id,
      description: null,
      providerTypes: ['HRIS'],
      ...times,
    })
  }
  totals.unknown.push(`${method} ${url}`)
  send(response, 404, { statusCode: 404, message: 'there is no such thing' })
}

/** Takes a request from the budget of this minute. Returns after how many milliseconds there is another one. */
function take(): number {
  const nowMs = performance.now()
  if (nowMs >= window.endsMs) window = { endsMs: nowMs + 60_000, left: requestsPerMinute }
  if (window.left === 0) return window.endsMs - nowMs
  window.left--
  return 0
}

function upsert(connection: string, records: readonly Stored[]) {
  const people = connections.getOrInsertComputed(connection, () => new Map())
  totals.people += records.length
  return records.map((record) => {
    const known = people.get(record.identityId)
    const stored = { ...known, ...record, separatedAt: dateAfter(known?.separatedAt ?? null, record.separatedAt) }
    people.set(record.identityId, stored)
    return { statusCode: known ? 200 : 201, data: { identityId: stored.identityId, separatedAt: stored.separatedAt } }
  })
}

/** The leaving date after a record of a batch: null clears it, and another date than the stored one is ignored. */
function dateAfter(stored: string | null, sent: string | null | undefined): string | null {
  if (sent === undefined) return stored
  return sent === null ? null : (stored ?? sent)
}

/** One person, after a change of these fields if there are any. */
function identity(connection: string, identityId: string, fields: Readonly<Record<string, unknown>> | null) {
  const people = connections.getOrInsertComputed(connection, () => new Map())
  const stored = { ...unknownFields, ...people.get(identityId), ...fields, identityId }
  if (fields !== null) {
    people.set(identityId, stored)
    totals.people++
    totals.answeredMs = Date.now()
  }
  return { id: 1, ...stored, createdAt: at, updatedAt: at }
}

function page(data: readonly unknown[]) {
  return { data, pagination: {} }
}

/** An identity sync that has just ended: there is nothing to compare yet. */
function syncedJustNow() {
  return {
    id: randomUUID(),
    type: 'USER_IDENTITY_PERSONNEL_SYNCED',
    category: 'PERSONNEL',
    source: 'SCHEDULED',
    description: 'The identity sync has ended.',
    status: null,
    createdAt: new Date().toISOString(),
    userId: null,
    connectionId: null,
    requestDescription: null,
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
