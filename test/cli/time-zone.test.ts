import { afterAll, beforeAll, expect, test } from 'vitest'
import { rollcall } from '../helpers/cli.ts'
import { install } from '../helpers/installation.ts'
import { type Host, staff, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('a command writes times in the zone of the machine or in the one that is named, and JSON in UTC', async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  await at.writeExport(staff(3))
  await at.run('sync', '--by', 'Ada')
  const runs = async (...args: string[]) => (await at.run('runs', ...args)).stdout

  const inUtc = await runs()
  const inIndia = await runs('--time-zone', 'Asia/Kolkata')
  const onMachine = await rollcall(['runs', '--config', at.configFile], { TZ: 'America/New_York' })
  const json = await runs('--time-zone', 'Asia/Kolkata', '--json')
  const wrong = await at.run('runs', '--time-zone', 'Mars/Base')

  expect(inUtc).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/)
  expect(inIndia).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d \+05:30/)
  expect(inIndia).not.toContain('UTC')
  expect(onMachine.stdout).toMatch(/\d\d:\d\d -0[45]:00/)
  expect(json).toMatch(/"createdAt": *"[\d-]+T[\d:.]+Z"/)
  expect([wrong.exit, wrong.stderr]).toEqual([
    2,
    expect.stringContaining('It must be a time zone, such as Europe/Berlin or UTC.'),
  ])
})
