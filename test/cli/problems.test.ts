import { afterAll, beforeAll, expect, test } from 'vitest'
import { install } from '../helpers/installation.ts'
import { change, type Host, staff, startHost, without } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('problems list leavers first, with why they wait', async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  await at.hrSays(staff(5))
  await at.run('sync')
  await at.setKey('wrong')
  await at.hrSays(change(without(staff(5), 'E0004'), { id: 'E0002', title: 'Lead' }))
  await at.run('sync')

  const { exit, document } = await at.json<{ problems: object[] }>('problems')

  expect(exit).toBe(0)
  expect(document.problems).toMatchObject([
    { identityId: 'E0004', kind: 'leave', leaver: true, state: 'undelivered', code: 'key_refused' },
    { identityId: 'E0002', kind: 'update', leaver: false, state: 'undelivered', code: 'key_refused' },
  ])
})
