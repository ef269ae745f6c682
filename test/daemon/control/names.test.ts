import { afterAll, beforeAll, expect, test } from 'vitest'
import { withNames } from '../../../src/daemon/control/names.ts'
import { forgetPerson } from '../../../src/store/retention/forget.ts'
import { openRecordWorld, recordNight, workers, workspaceOf } from '../../helpers/custom-records.ts'
import { change, type Host, openWorld, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const listed = (...keys: readonly (string | null)[]) =>
  keys.map((identityId) => ({ connection: 'acme', identityId, line: 7 }))

test('a person who is forgotten, nobody knows, or has no readable key has no name', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await world.night(change(staff(4), { id: 'E0002', leavingDate: '2026-11-18' }))
  const forgetting = { connection: 'acme', identityId: 'E0002', reason: 'asked for', by: 'Ada', today: '2026-11-20' }
  await forgetPerson(world.sync.store.db, { ...forgetting, now: world.clock.now })

  const named = await withNames(world, listed('E0003', 'E0002', 'E9999', null, 'E0001'), { values: true })

  expect(named.map(({ name }) => name)).toEqual(['Person 3', null, null, null, 'Person 1'])
  expect(named[0]).toEqual({ connection: 'acme', identityId: 'E0003', line: 7, name: 'Person 3' })
})

test('a record has the name under which the platform shows it', async () => {
  const { client, name } = await host.tenant()
  await using world = await openRecordWorld(client, { workspaceId: await workspaceOf(host, name) })
  await recordNight(world, workers(2))

  const named = await withNames(world, listed('E0002'), { values: true })

  expect(named).toMatchObject([{ name: 'Person 2' }])
})
