import { expect, test } from 'vitest'
import { nextLife } from '../../src/cli/commands/serve.ts'
import { listenForHangUp } from '../../src/cli/hang-ups.ts'
import type { Config } from '../../src/daemon/config/config.ts'

const request = { id: 'r1', file: '/backup', replace: true, by: 'ada', reason: 'lost' }

test('a hang-up that comes during a restore has the configuration read in the next life, and once', async () => {
  using hangUps = listenForHangUp(() => undefined)
  const stop = new AbortController()
  let rereads = 0
  const reread = async () => {
    rereads++
    return { folder: `/${rereads}` } as Config
  }
  const life = (asked: Promise<typeof request>) => nextLife({ asked, stop: stop.signal, hangUps, reread })
  const never = new Promise<typeof request>(() => {})

  const first = await life(Promise.resolve(request))
  hangUps.ask()
  const second = await life(never)
  const third = life(never)
  stop.abort()

  expect([first, second, await third, rereads]).toEqual([request, { config: { folder: '/1' } }, null, 1].flat())
})
