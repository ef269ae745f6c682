import { request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../../src/http/server/app.ts'
import { guardHosts } from '../../../src/http/server/hosts.ts'

type App = Awaited<ReturnType<typeof createApp>>
let app: App
let port: number
beforeAll(async () => {
  app = await createApp()
  guardHosts(app, { names: ['rollcall.lan'], publicUrl: new URL('https://rollcall.acme.example') })
  app.all('/guarded', async () => 'served')
  app.all('/open', { config: { anyHost: true } }, async () => 'served')
  await app.listen({ host: '127.0.0.1', port: 0 })
  port = (app.server.address() as AddressInfo).port
})
afterAll(() => app.close())

/** fetch would not send these headers. */
async function ask(
  headers: Record<string, string>,
  { method = 'GET', path = '/guarded' }: { method?: string; path?: string } = {},
): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const asking = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
    answer.resume()
    resolve(answer.statusCode)
  })
  asking.on('error', reject).end()
  return await promise
}

/** The status of what is sent as it is written. */
async function statusOf(head: readonly string[]): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  socket.end(`${[...head, 'connection: close', '', ''].join('\r\n')}`)
  return Number(/^HTTP\/1\.1 (\d+)/.exec(await text(socket))?.[1])
}

describe('a request that names two hosts', () => {
  test.each([
    { head: ['GET /open HTTP/1.1', 'host: localhost', 'host: evil.example'] },
    { head: ['GET /open HTTP/1.1', 'Host: localhost', 'HOST: localhost'] },
    { head: ['GET /guarded HTTP/1.1', 'host: localhost', 'host: evil.example'] },
    { head: ['GET http://evil.example/open HTTP/1.1', 'host: localhost'] },
    { head: ['GET http://evil.example/guarded HTTP/1.1', 'host: localhost'] },
    { head: ['GET http://localhost:1/open HTTP/1.1', 'host: localhost'] },
    { head: ['GET localhost HTTP/1.1', 'host: localhost'] },
  ])('is a bad one: $head', async ({ head }) => {
    expect(await statusOf(head)).toBe(400)
  })

  test('is served if both are equal', async () => {
    expect(await statusOf(['GET /open HTTP/1.1', 'host: localhost'])).toBe(200)
    expect(await statusOf(['GET http://localhost/open HTTP/1.1', 'host: localhost'])).toBe(200)
  })
})

describe('a request', () => {
  test.each([
    'localhost',
    'LOCALHOST:9000',
    '127.0.0.1:8686',
    '127.1.2.3',
    '[::1]:8686',
    'rollcall.lan:8686',
    'rollcall.acme.example',
  ])('to %s is served', async (host) => {
    expect(await ask({ host })).toBe(200)
  })

  // What a page sends that has its own name lead to this machine (DNS rebinding): its own name, as the browser knows no other.
  test.each([
    'evil.example',
    'evil.example:8686',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'rollcall.lan.evil.example',
    '0.0.0.0',
    '192.0.2.1',
    'localhost@evil.example',
    'evil.example#localhost',
  ])('to "%s" is refused, whatever it requests', async (host) => {
    expect(await ask({ host })).toBe(421)
    expect(await ask({ host }, { path: '/nowhere' })).toBe(421)
  })

  test('that monitors the server, or is signed, may use any name and come from anywhere', async () => {
    const headers = { host: 'evil.example', origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }

    expect(await ask(headers, { method: 'POST', path: '/open' })).toBe(200)
  })

  test.each([
    ['by its Origin', { origin: 'https://evil.example' }],
    ['on another port', { origin: 'http://localhost:3000' }],
    ['without a name', { origin: 'null' }],
    ['that the browser knows to be another', { 'sec-fetch-site': 'cross-site' }],
    ['beside ours', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:8686' }],
  ])('of a page of another site %s changes nothing', async (_what, headers) => {
    const host = 'localhost:8686'

    expect(await ask({ host, ...headers }, { method: 'POST' })).toBe(403)
    expect(await ask({ host, ...headers }, { method: 'DELETE' })).toBe(403)
    expect(await ask({ host, ...headers })).toBe(200)
  })

  test.each([
    ['of no page', {}],
    ['of a page of ours', { origin: 'http://localhost:8686', 'sec-fetch-site': 'same-origin' }],
    ['of a page of ours behind a proxy', { origin: 'https://rollcall.acme.example' }],
    ['that a person typed', { 'sec-fetch-site': 'none' }],
  ])('%s may change something', async (_what, headers) => {
    expect(await ask({ host: 'localhost:8686', ...headers }, { method: 'POST' })).toBe(200)
  })
})
