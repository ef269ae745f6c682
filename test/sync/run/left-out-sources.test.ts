import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findUndecidedConnections } from '../../../src/store/runs/held-runs.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import { archiveSources } from '../../../src/sync/plan/feeds.ts'
import { approveRun, previewPart, rejectRun, requestRun } from '../../../src/sync/sync.ts'
import { openLinked } from '../../helpers/linked-world.ts'
import { type Host, type HrPerson, openWorld, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const everybody = staff(100)
// The last people stay: an export without them looks as if its end were cut off.
const staying = everybody.slice(12)
const people = everybody.slice(0, 8).map(({ id }) => id)

/** A world in which people wait since the night of the 11th, and the exports that are decided, by their day. */
async function open() {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  const { db } = world.sync.store
  const night = async (day: number, listed: readonly HrPerson[] = staying) => {
    world.clock.now = new Date(`2026-11-${day}T03:00:00.000Z`)
    return await world.night(listed, { asOf: `2026-11-${day}T01:00:00.000Z` })
  }
  await night(10, everybody)
  const { id: runId } = await night(11)
  const { digest } = await previewPart(world.sync, { runId, selection: { people } })
  await approveRun(world.sync, { runId, digest, part: { people }, by: 'ana' })
  await world.drain()
  return {
    world,
    night,
    heldOf: async ({ heldPart }: Run) => await world.runOf(heldPart ?? ''),
    decided: async () => {
      const rows = await db.selectFrom('decided_sources').select('version').orderBy('version').execute()
      return rows.map(({ version }) => Number(version.slice('2026-11-'.length, '2026-11-10'.length)))
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

test('an export of which people wait is decided once a newer one was accepted, and the newest once they are approved', async () => {
  await using opened = await open()
  const { world, night, heldOf, decided } = opened

  await night(12)
  const whileHeld = await decided()
  const third = await night(13)
  const replaced = await decided()
  const { id: again } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
  await world.drain()
  const readAgain = await decided()
  const undecided = await findUndecidedConnections(world.sync.store.db, ['acme'])
  const held = await heldOf(await world.runOf(again))
  await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ben' })
  await world.drain()

  expect(whileHeld).toEqual([10])
  expect(replaced).toEqual([10, 12])
  expect((await heldOf(third)).state).toBe('superseded')
  expect(readAgain).toEqual([10, 12])
  expect(undecided).toEqual([])
  expect(await decided()).toEqual([10, 12, 13])
})

test('an export of which people wait is decided once they are rejected, and they wait for the next one', async () => {
  await using opened = await open()
  const { world, night, heldOf, decided } = opened
  const second = await heldOf(await night(12))

  await rejectRun(world.sync, { runId: second.id, by: 'ben' })
  const rejected = await decided()
  const third = await heldOf(await night(13))

  expect(rejected).toEqual([10, 12])
  expect(third).toMatchObject({ state: 'held', counts: { leave: 4 } })
})

test('an export of which people wait stays while a newer one is held as a whole', async () => {
  await using opened = await open()
  const { night, decided } = opened
  await night(12)

  const cut = await night(13, staying.slice(60))

  expect(cut.state).toBe('held')
  expect(await decided()).toEqual([10])
})

test('an export of which people of a linked connection wait stays, and those before it are archived', async () => {
  await using opened = await openLinked(host)
  const { world, archived } = opened
  const { db } = world.sync.store
  await world.night(everybody)
  const { id: runId, source } = await opened.lastOf('records')
  const before = { ...source, version: 'the night before' }
  const held = { id: randomUUID(), connection: 'records', feed: 'source', trigger: 'schedule', state: 'held' } as const
  await db
    .insertInto('runs')
    .values({ ...held, options: '{}', created_at: world.clock.now })
    .execute()
  await db.updateTable('runs').set({ held_part_run_id: held.id }).where('id', '=', runId).execute()
  await db.updateTable('decided_sources').set({ archived_at: null }).where('connection', '=', 'acme').execute()
  await db
    .insertInto('decided_sources')
    .values({
      ...{ connection: 'acme', version: before.version, source: JSON.stringify(before), outcome: 'accepted' },
      decided_at: world.clock.now,
    })
    .execute()
  archived.length = 0
  const owner = world.sync.connections.get('acme') ?? world.connection

  await archiveSources(world.sync, owner)
  const whileHeld = [...archived]
  await db.updateTable('runs').set({ state: 'rejected' }).where('id', '=', held.id).execute()
  await archiveSources(world.sync, owner)

  expect(whileHeld).toEqual([before.version])
  expect(archived).toEqual([before.version, source?.version])
})
