import { afterAll, beforeAll, expect, test } from 'vitest'
import { change, type Host, openWorld, staff, startHost, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

async function openOwn(options: Partial<Parameters<typeof openWorld>[0]> = {}) {
  const { client } = await host.tenant()
  return { client, world: await openWorld({ client, ...options }) }
}

test('everybody whom HR states is in one part, and so is everybody on the platform', async () => {
  const { world } = await openOwn()
  await using _ = world

  const run = await world.night(staff(40))
  const { content } = await world.sync.store.db
    .selectFrom('statements')
    .select('content')
    .where('run_id', '=', run.id)
    .executeTakeFirstOrThrow()
  console.log(run.state, run.reason, JSON.stringify(content, null, 1))
  expect(content.addsUp).toBe(true)
  expect(content.stated.parts.employed).toBe(40)
  const next = await world.night(
    without(change(staff(40), { id: 'E0003', leavingDate: '2026-11-19', status: 'Inactive' }), 'E0005'),
    { asOf: '2026-11-21T01:00:00.000Z' },
  )
  const second = await world.sync.store.db
    .selectFrom('statements')
    .select('content')
    .where('run_id', '=', next.id)
    .executeTakeFirstOrThrow()
  console.log(next.state, next.reason, JSON.stringify(second.content, null, 1))
})
