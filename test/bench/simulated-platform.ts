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
const totals = { requests: 0, refused: 0, people: 0, unknown: [] as string[] }
const at = '2026-01-01T00:00:00.000Z'
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
  if (waitMs > 0) {
    totals.refused++
    request.resume()
    response.setHeader('retry-after', Math.ceil(waitMs / 1000))
    return send(response, 429, { statusCode: 429, message: 'too many requests' })
  }
  const [, id = '', isBatch] = /^\/public\/v2\/custom-connections\/(\d+)(\/hris-user-identities)?$/.exec(url) ?? []
  if (method === 'POST' && isBatch) {
    const records = Batch.parse(await json(request))
    await pause(latencyMs)
    return send(response, 207, upsert(id, records))
  }
  await pause(latencyMs)
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
    const stored = { ...known, ...record, separatedAt: record.separatedAt ?? known?.separatedAt ?? null }
    people.set(record.identityId, stored)
    return { statusCode: known ? 200 : 201, data: { identityId: stored.identityId, separatedAt: stored.separatedAt } }
  })
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
