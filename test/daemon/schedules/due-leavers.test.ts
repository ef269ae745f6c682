import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../../src/daemon/config/config.ts'
import { startDaemon } from '../../../src/daemon/start.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { openWorkplace } from '../../helpers/workplace.ts'
import { type Host, peopleOn, startHost } from '../../helpers/world.ts'

const dayMs = 24 * 60 * 60 * 1000

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('a daemon that starts sends the leaving dates whose day came while it was down, though there is no export', async () => {
  const { client, key } = await host.tenant()
  await using work = await openWorkplace({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  const tomorrow = new Date(Date.now() + dayMs).toISOString().slice(0, 10)
  const header = 'Employee ID,Email,First Name,Termination Date'
  await work.drop('people.csv', `${header}\n1,ana@acme.example,Ana,${tomorrow}\n2,ben@acme.example,Ben,\n`)
  const first = await work.run('sync')
  const before = (await peopleOn(client)).get('1')?.separatedAt
  await work.configure({ path: 'nothing/*.csv' })
  const config = await loadConfig(work.configFile, process.env)

  await using _daemon = await startDaemon(config, {
    events: silentEvents(() => {}),
    now: () => new Date(Date.now() + 2 * dayMs),
  })

  expect([first.exit, before]).toEqual([0, null])
  await expect
    .poll(async () => (await peopleOn(client)).get('1')?.separatedAt, { timeout: 20_000 })
    .toBe(`${tomorrow}T00:00:00.000Z`)
})
