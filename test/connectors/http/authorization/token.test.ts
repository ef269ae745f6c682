import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { isUsable, tokenAuthorizer, usableUntilMs } from '../../../../src/connectors/http/authorization/token.ts'
import { openHttpClient } from '../../../../src/connectors/http/client/client.ts'
import type { HttpRequest } from '../../../../src/connectors/http/client/request.ts'
import { resolveHost } from '../../../../src/connectors/http/network/addresses.ts'
import { type Answer, httpSource, json, startHrServer } from '../../../helpers/sources/hr-server.ts'
import { testClock } from '../../../helpers/sources/test-clock.ts'

const now = new Date('2026-11-20T12:00:00Z')

function countingTokens() {
  const refusals: (string | null)[] = []
  const authorizer = tokenAuthorizer({
    obtain: async ({ refused }) => {
      refusals.push(refused)
      return { text: `token-${refusals.length}`, usableUntilMs: null }
    },
    toHeaders: (token) => ({ authorization: token }),
    now: () => now,
  })
  return { authorizer, refusals }
}

test.each([
  [3600, 3540],
  [100, 90],
  [10, 9],
])('a token that is valid for %i s is used for %i s', (lifetime, used) => {
  const token = { text: 'token', usableUntilMs: usableUntilMs(now, lifetime) }
  const after = (seconds: number) => new Date(now.getTime() + seconds * 1000)

  expect([isUsable(token, after(used - 1)), isUsable(token, after(used))]).toEqual([true, false])
})

test('requests side by side share the first token and the one that replaces it', async () => {
  const { authorizer, refusals } = countingTokens()
  const { signal } = new AbortController()

  const first = await Promise.all([1, 2, 3, 4].map(() => authorizer.headers(signal)))
  await Promise.all(first.map((refused) => authorizer.renew?.(refused, signal)))
  const [headers = {}] = first
  await authorizer.renew?.(headers, signal)

  expect(refusals).toEqual([null, 'token-1'])
  expect(await authorizer.headers(signal)).toEqual({ authorization: 'token-2' })
})

test('a token that cannot be obtained is requested again by the next request', async () => {
  let count = 0
  const authorizer = tokenAuthorizer({
    obtain: async () => {
      count += 1
      if (count === 1) throw new Error('no token')
      return { text: 'token', usableUntilMs: null }
    },
    toHeaders: (token) => ({ authorization: token }),
    now: () => now,
  })
  const { signal } = new AbortController()

  await expect(authorizer.headers(signal)).rejects.toThrow('no token')
  expect(await authorizer.headers(signal)).toEqual({ authorization: 'token' })
})

test('a client sends as many requests side by side as it may, and renews once for all of them', async () => {
  const { authorizer, refusals } = countingTokens()
  const waiting: (() => void)[] = []
  let most = 0
  await using server = await startHrServer((request, response) => {
    waiting.push(() => {
      if (request.headers.authorization === 'token-1') response.writeHead(401).end()
      else json([])(request, response)
    })
    most = Math.max(most, waiting.length)
    // All four are there at the same moment, first with the old token and then with the new one.
    if (waiting.length === 4) for (const answer of waiting.splice(0)) answer()
  })
  const context = { baseDir: '.', spoolDir: '.', secret: () => null }
  const { signal } = new AbortController()
  const options = { context, resolve: resolveHost, signal, authorizer }
  await using client = await openHttpClient(httpSource({ url: server.url }), options)

  const fetchOne = async (name: string) => {
    const url = new URL(`/${name}`, server.url)
    const { status, body } = await client.fetch({ url, label: name, accept: 'application/json' })
    await Array.fromAsync(body)
    return status
  }
  const statuses = await Promise.all(['a', 'b', 'c', 'd'].map(fetchOne))

  expect(statuses).toEqual([200, 200, 200, 200])
  expect(most).toBe(4)
  expect(refusals).toEqual([null, 'token-1'])
})

test('a client returns another status to a request that accepts it', async () => {
  await using server = await startHrServer((_request, answer) => answer.writeHead(204).end())
  const context = { baseDir: '.', spoolDir: '.', secret: () => null }
  const { signal } = new AbortController()
  const options = { context, resolve: resolveHost, signal, authorizer: { headers: async () => ({}) } }
  await using client = await openHttpClient(httpSource({ url: server.url }), options)
  const request = { url: new URL(server.url), label: 'people', accept: 'application/json' }

  const response = await client.fetch({ ...request, acceptedStatuses: [204] })

  expect(response.status).toBe(204)
  expect(await Array.fromAsync(response.body)).toEqual([])
  await expect(client.fetch(request)).rejects.toThrow('has nothing to give (status 204)')
})

const half: Answer = (_request, answer) => {
  answer.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
  answer.write('[1,', () => answer.destroy())
}
const halfGzip: Answer = (_request, answer) => {
  const packed = gzipSync(JSON.stringify(Array(100).fill('person')))
  answer.writeHead(200, { 'content-encoding': 'gzip' }).end(packed.subarray(0, packed.length - 10))
}

async function readCut(answers: Answer[], request: Partial<HttpRequest> = {}) {
  await using server = await startHrServer((...both) => (answers.shift() ?? json([1, 2]))(...both))
  const context = { baseDir: '.', spoolDir: '.', secret: () => null }
  const { signal } = new AbortController()
  const clock = { ...testClock(), now: () => now }
  const options = { context, resolve: resolveHost, signal, authorizer: { headers: async () => ({}) }, clock }
  await using client = await openHttpClient(httpSource({ url: server.url }), options)
  const text = await client
    .read({ url: new URL(server.url), label: 'people', accept: 'application/json', ...request }, async ({ body }) =>
      Buffer.concat(await Array.fromAsync(body)).toString(),
    )
    .catch((error: unknown) => String(error))
  return { text, requests: server.requests.length, waits: clock.waits }
}

test('a body that is cut is requested again', async () => {
  const { text, requests, waits } = await readCut([half, halfGzip, half])

  expect(text).toBe('[1,2]')
  expect([requests, waits]).toEqual([4, [1000, 2000, 4000]])
})

test('a body that is cut again and again is given up', async () => {
  const { text, requests } = await readCut(Array(5).fill(half))

  expect(text).toContain('people ended the connection too soon')
  expect(requests).toBe(4)
})

test('a body that is cut is not requested again if that does harm', async () => {
  const { text, requests } = await readCut([half], { isRepeatable: false })

  expect(text).toContain('people ended the connection too soon')
  expect(requests).toBe(1)
})

test('a body that cannot be used is not requested again', async () => {
  const { text, requests } = await readCut([
    (_request, answer) => answer.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip'),
  ])

  expect(text).toContain('packed its answer wrongly')
  expect(requests).toBe(1)
})
