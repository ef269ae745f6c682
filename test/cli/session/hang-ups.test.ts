import { expect, test } from 'vitest'
import { acceptOnce, endWithin, nextLife, stopDaemon } from '../../../src/cli/commands/serve.ts'
import { listenForHangUp } from '../../../src/cli/session/hang-ups.ts'
import type { Config } from '../../../src/daemon/config/config.ts'
import { refusalReason } from '../../../src/daemon/config/reload.ts'
import { Failure } from '../../../src/errors.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'

const request = { id: 'r1', file: '/backup', replace: true, by: 'ada', reason: 'lost' }

test('a hang-up during a restore makes the restarted daemon read the configuration, once', async () => {
  using hangUps = listenForHangUp(() => undefined)
  const stop = new AbortController()
  let rereads = 0
  const reread = async () => {
    rereads++
    return { folder: `/${rereads}` } as Config
  }
  const life = (requested: Promise<typeof request>) => nextLife({ requested, stop: stop.signal, hangUps, reread })
  const never = new Promise<typeof request>(() => {})

  const first = await life(Promise.resolve(request))
  hangUps.request()
  const second = await life(never)
  const third = life(never)
  stop.abort()

  expect([first, second, await third, rereads]).toEqual([request, { config: { folder: '/1' } }, null, 1].flat())
})

test('a second restore before the restart is refused, and the first is done', async () => {
  const { requested, ask } = acceptOnce<string>()
  ask('first')

  expect(() => ask('second')).toThrow('a restore was just requested')
  expect(await requested).toBe('first')
})

test('an unexpected error refuses a reload, and the daemon keeps running', () => {
  expect(refusalReason(new TypeError('x of undefined'))).toBe('an unexpected error; the log has it')
  expect(refusalReason(new Failure('config_invalid', 'database cannot change'))).toBe('database cannot change')
})

test('a stopping daemon answers requests until its work has ended', async () => {
  const steps: string[] = []
  const daemon = {
    stopWork: async () => void steps.push('its work rests'),
    [Symbol.asyncDispose]: async () => void steps.push('its servers close'),
  }
  const events = silentEvents(({ event }) => steps.push(event))

  const exit = await stopDaemon(daemon, { events, reason: 'SIGTERM' })

  expect([exit, ...steps]).toEqual([0, 'daemon.stopping', 'its work rests', 'its servers close', 'daemon.stopped'])
})

test('a stop cuts off what does not end, whatever the daemon does when the signal comes', async () => {
  const stop = new AbortController()
  const cut = Promise.withResolvers<string>()
  endWithin(stop.signal, 1, () => cut.resolve('cut off'))

  stop.abort()

  expect(await cut.promise).toBe('cut off')
})
