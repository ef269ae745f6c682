import { afterEach, expect, test, vi } from 'vitest'
import { type Checks, serveProbes } from '../../../src/daemon/control/probes.ts'
import { Failure } from '../../../src/errors.ts'
import { createApp } from '../../../src/http/server/app.ts'

afterEach(() => vi.useRealTimers())

async function serving(checks: Checks) {
  const app = await createApp()
  serveProbes(app, checks)
  return {
    async ready() {
      const { statusCode, body } = await app.inject('/readyz')
      return { statusCode, ...JSON.parse(body) }
    },
    [Symbol.asyncDispose]: () => app.close(),
  }
}

const fine = async (): Promise<void> => {}
const failing = (message: string, code?: string) => () =>
  Promise.reject(Object.assign(new Error(message), code && { code }))

test.each([
  ['a database that is away', failing('connect', 'ECONNREFUSED'), 'unreachable'],
  [
    'a database that takes no writes',
    failing('cannot execute INSERT in a read-only transaction', '25006'),
    'read-only',
  ],
  ['a database whose disk is full', failing('could not extend file', '53100'), 'full'],
  ['a Redis that is full', failing("OOM command not allowed when used memory > 'maxmemory'."), 'full'],
  ['a Redis that cannot write its file', failing('MISCONF Redis is configured to save RDB snapshots'), 'full'],
  ['a Redis that is a replica', failing("READONLY You can't write against a read only replica."), 'read-only'],
  ['what is none of these', failing('no idea'), 'unreachable'],
])('%s makes the daemon not ready, and the answer says so in a word', async (_what, check, expected) => {
  const wrapped = () =>
    check().catch((cause: unknown) => Promise.reject(new Failure('queue_unreachable', 'x', { cause })))
  await using plain = await serving({ store: check, queue: fine })
  await using inside = await serving({ store: fine, queue: wrapped })

  expect(await plain.ready()).toEqual({ statusCode: 503, status: 'not ready', store: expected, queue: 'ok' })
  expect(await inside.ready()).toEqual({ statusCode: 503, status: 'not ready', store: 'ok', queue: expected })
})

test('frequent callers cause at most one check a second', async () => {
  const look = vi.fn(fine)
  await using daemon = await serving({ store: look })

  for (let count = 0; count < 20; count++) await daemon.ready()

  expect(look.mock.calls.length).toBeLessThanOrEqual(2)
})

test('a check that never ends is not waited for', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await using daemon = await serving({ store: () => new Promise(() => {}) })

  const response = daemon.ready()
  await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThan(0))
  await vi.advanceTimersByTimeAsync(5000)

  expect(await response).toEqual({ statusCode: 503, status: 'not ready', store: 'unreachable' })
})
