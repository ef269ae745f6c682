import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { populationChange } from '../../../src/store/statement/movements.ts'
import { change, type Host, openWorld, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('a movement cites the run that sent it, not a held plan or another field of the same person', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  const people = staff(12)
  await world.night(people)
  const left = change(people, { id: 'E0002', leavingDate: '2026-11-19', status: 'Inactive' })
  const { id } = await world.night(left, { asOf: '2026-11-21T01:00:00.000Z' })
  await sql`update runs set created_at = created_at - interval '1 minute' where id = ${id}`.execute(db)
  // What came after the departure was sent, and before it took effect.
  for (const [state, kind, fields] of [
    ['held', 'leave', '{"separatedAt": ["a", "b"]}'],
    ['finished', 'update', '{"jobTitle": ["a", "b"]}'],
  ]) {
    const { rows } = await sql<{ id: string }>`
      insert into runs (id, connection, feed, trigger, options, state, created_at)
      values (gen_random_uuid(), 'acme', 'source', 'schedule', '{}', ${state}, ${world.clock.now}) returning id`.execute(
      db,
    )
    await sql`
      insert into changes (run_id, identity_id, kind, fields, inferred, carried, state, requests)
      values (${rows[0]?.id}, 'E0002', ${kind}, ${fields}, false, false, 'due', 0)`.execute(db)
  }

  const { movements } = await populationChange(db, {
    ...{ connection: 'acme', from: new Date('2026-01-01'), to: new Date('2027-01-01') },
  })

  const departure = movements.find(({ identityId, entered }) => identityId === 'E0002' && !entered)
  expect(departure).toMatchObject({ kind: 'leave', runId: id, status: '200' })
})

test('a movement cites neither an older movement nor another field if its own change is not stored', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  const { db } = world.sync.store
  const people = staff(12)
  const left = change(people, { id: 'E0002', leavingDate: '2026-11-19', status: 'Inactive' })
  let last = ''
  for (const [night, listed] of [people, left, people].entries()) {
    world.clock.now = new Date(`2026-11-${21 + night}T03:00:00.000Z`)
    const { id } = await world.night(listed, { asOf: `2026-11-${21 + night}T01:00:00.000Z` })
    last = id
  }
  const returnOf = async () => {
    const { movements } = await populationChange(db, {
      ...{ connection: 'acme', from: new Date('2026-01-01'), to: new Date('2027-01-01') },
    })
    return movements.findLast(({ identityId, entered }) => identityId === 'E0002' && entered)
  }

  expect(await returnOf()).toMatchObject({ kind: 'return', runId: last })
  await sql`
    update changes set kind = 'update', fields = '{"jobTitle": ["a", "b"]}' where run_id = ${last} and identity_id = 'E0002'`.execute(
    db,
  )

  expect(await returnOf()).toMatchObject({ kind: 'return', runId: null, status: null })
})
