import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { type RawBodiesOptions, type RawBody, takeRawBodies } from '../../../src/daemon/webhooks/raw-bodies.ts'
import { createApp } from '../../../src/http/server/app.ts'

const bodyLimit = 1000

/** A server that echoes bodies; under /held it keeps them until the test releases them. */
async function serveBodies(options: Partial<RawBodiesOptions> = {}) {
  const app = await createApp()
  const arrived = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  await app.register(async (scope) => {
    takeRawBodies(scope, { arrivalMs: 5000, budgetBytes: 1_000_000, ...options })
    scope.post<{ Body: RawBody }>('/bodies', { bodyLimit }, async (request, reply) => {
      using body = request.body
      return reply.type('application/octet-stream').send(Buffer.from(body.bytes))
    })
    scope.post<{ Body: RawBody }>('/held', { bodyLimit }, async (request) => {
      using body = request.body
      arrived.resolve()
      await released.promise
      return { length: body.bytes.length }
    })
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    url,
    arrived: arrived.promise,
    release: released.resolve,
    send: (path: string, body: Uint8Array<ArrayBuffer> | string) => fetch(`${url}${path}`, { method: 'POST', body }),
    [Symbol.asyncDispose]: () => app.close(),
  }
}

test('bytes arrive as they are', async () => {
  await using server = await serveBodies()
  const bytes = Uint8Array.from({ length: 512 }, (_, index) => index % 256)

  const answer = await server.send('/bodies', bytes)

  expect(new Uint8Array(await answer.arrayBuffer())).toEqual(bytes)
})

test('a body that is not released yet uses up the limit of the next one', async () => {
  await using server = await serveBodies({ budgetBytes: 1500 })
  const first = server.send('/held', 'x'.repeat(1000))
  await server.arrived

  const tooMuch = await server.send('/bodies', 'x'.repeat(501))
  const justFits = await server.send('/bodies', 'x'.repeat(500))
  server.release()
  await first
  const afterwards = await server.send('/bodies', 'x'.repeat(1000))

  expect([tooMuch.status, justFits.status, afterwards.status]).toEqual([503, 200, 200])
  expect(tooMuch.headers.get('retry-after')).toBe('5')
})

test('a request that was refused, too slow or broken off uses up no limit afterwards', async () => {
  await using server = await serveBodies({ budgetBytes: 1500, arrivalMs: 200 })
  const { hostname, port } = new URL(server.url)

  for (let turn = 0; turn < 5; turn += 1) {
    const slow = connect(Number(port), hostname)
    slow.write(`POST /bodies HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n${'x'.repeat(800)}`)
    const response = Buffer.concat(await Array.fromAsync(slow)).toString()
    const broken = connect(Number(port), hostname)
    broken.end(`POST /bodies HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n${'x'.repeat(800)}`)
    await once(broken.resume(), 'close')
    const chunked = await server.send('/bodies', 'x'.repeat(bodyLimit + 1))

    expect(response).toMatch(/^HTTP\/1\.1 408 /)
    expect(chunked.status).toBe(413)
  }
  const held = server.send('/held', 'x'.repeat(1000))
  await server.arrived
  const rest = await server.send('/bodies', 'x'.repeat(500))
  server.release()

  expect(rest.status).toBe(200)
  expect(await (await held).json()).toEqual({ length: 1000 })
})
