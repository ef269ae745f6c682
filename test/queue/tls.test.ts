import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { createServer } from 'node:tls'
import { expect, test } from 'vitest'
import { openQueue } from '../../src/queue/queue.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { redisUrl } from '../helpers/servers/provided.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { makeCertificates } from '../helpers/sources/hr-server.ts'

/** A Redis that speaks TLS, with a certificate of an authority of its own. */
async function startTlsRedis() {
  await using opening = new AsyncDisposableStack()
  const folder = opening.use(await temporaryFolder())
  const { server: identity, authorityFile } = await makeCertificates(folder.path)
  const { hostname, port } = new URL(await redisUrl())
  const server = createServer({ cert: identity.cert, key: identity.key }, (client) => {
    const redis = connect(Number(port || 6379), hostname)
    for (const socket of [client, redis]) {
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        redis.destroy()
      })
    }
    client.pipe(redis).pipe(client)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  opening.defer(async () => {
    server.close()
    await once(server, 'close')
  })
  const opened = opening.move()
  return {
    port: (server.address() as AddressInfo).port,
    authorityFile,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function openAt(url: string) {
  return openQueue({ backend: { kind: 'redis', url }, name: `tls-${process.pid}`, events: silentEvents() })
}

test('a Redis with TLS is used with the authority that the address names', async () => {
  await using redis = await startTlsRedis()

  await using queue = await openAt(`rediss://127.0.0.1:${redis.port}?ca=${redis.authorityFile}`)

  await expect(queue.check()).resolves.toBeUndefined()
})

test.each([
  [
    'an authority that this machine does not trust',
    '127.0.0.1',
    false,
    /comes from an authority that is not known here.*as ca in the address/,
  ],
  ['another name', 'localhost', true, /its certificate is for another name/],
])('a Redis with TLS is refused for %s', async (_, host, isNamed, message) => {
  await using redis = await startTlsRedis()

  const opened = openAt(`rediss://${host}:${redis.port}${isNamed ? `?ca=${redis.authorityFile}` : ''}`)

  await expect(opened).rejects.toMatchObject({ code: 'queue_unreachable', message: expect.stringMatching(message) })
})

test('a file of an authority that cannot be read is named', async () => {
  await expect(openAt('rediss://127.0.0.1:1?ca=/nowhere/ca.pem')).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('/nowhere/ca.pem, the ca of the address of the queue, cannot be read (ENOENT)'),
  })
})
