import { afterAll, beforeAll, expect, test } from 'vitest'
import { localControl } from '../../../src/cli/session/command-context.ts'
import { type Caller, machineCaller } from '../../../src/contract/control/access.ts'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { lateLeavers } from '../../../src/store/leavers/late.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import { approveRun, previewPart, rejectRun } from '../../../src/sync/sync.ts'
import { quietAlerts } from '../../helpers/alert-settings.ts'
import { type Host, type HrPerson, openWorld, staff, startHost, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const everybody = staff(100)
// The last people stay: an export without them looks as if its end were cut off.
const staying = everybody.slice(12)
const doubted = everybody.slice(8, 12).map(({ id }) => id)
const approved = everybody.slice(0, 8).map(({ id }) => id)

/** A world in which a part of the plan of 11 November was approved at 06:00 without four leavers. */
async function open(connection: Parameters<typeof openWorld>[0]['connection'] = {}) {
  const { client } = await host.tenant()
  const world = await openWorld({ client, connection })
  const about = { version: '1.2.3', daemon: null, configuration: '', database: '', queue: '', platform: '' }
  const { signal } = new AbortController()
  const audit = {
    trouble: () => null,
    seal: () => Promise.reject(new Error('no key here')),
    verify: () => Promise.reject(new Error('no key here')),
    replaceKey: () => Promise.reject(new Error('no key here')),
  }
  const monitored = { connections: ['acme'], sources: [], maxLeaverHours: new Map<string, number>() }
  const around = { schedules: [], alerts: quietAlerts, monitored, audit, about, signal }
  const controlOf = (caller: Caller) => localControl({ sync: world.sync, caller, ...around })
  const night = async (day: number, people: readonly HrPerson[] = staying) => {
    world.clock.now = new Date(`2026-11-${day}T03:00:00.000Z`)
    return await world.night(people, { asOf: `2026-11-${day}T01:00:00.000Z` })
  }
  await night(10, everybody)
  const held = await night(11)
  world.clock.now = new Date('2026-11-11T06:00:00.000Z')
  const { digest } = await previewPart(world.sync, { runId: held.id, selection: { people: approved } })
  await approveRun(world.sync, { runId: held.id, digest, part: { people: approved }, by: 'ana' })
  await world.drain()
  const control = controlOf(machineCaller('ben'))
  return {
    world,
    control,
    controlOf,
    night,
    held,
    waiting: async () => (await control.listLeftOut({ query: {} })).data,
    alertedSince: async () => {
      const limits = { overdueMinutes: 15, pausedHours: 24, freshness: [], maxLeaverHours: new Map() }
      const alerts = await conditions(world.sync.store.db, { connections: ['acme'], ...limits, now: world.clock.now })
      return alerts.filter(({ kind }) => kind === 'held').map((alert) => alert.since.toISOString())
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

const since = '2026-11-11T06:00:00.000Z'
const by = { by: 'ana', at: since }
const heldPart = ({ heldPart: runId }: Run) => ({ runId, isExpired: false })

test('people who are left out of a part are named with since when they wait and what decides, night after night', async () => {
  await using opened = await open()
  const { world, control, night, held, waiting, alertedSince } = opened
  const person = { connection: 'acme', identityId: 'E0009' }

  const first = await waiting()
  const second = await night(12)
  const next = await waiting()
  const alert = await alertedSince()
  const { data: named } = await control.listLeftOut({ query: { connection: 'acme', values: true, limit: 1 } })
  const shown = await control.getPerson({ params: person, query: {} })
  const status = await control.status({})
  world.clock.now = new Date('2026-11-16T03:00:00.000Z')
  const expired = await waiting()

  const about = { connection: 'acme', departs: true, since, runId: held.id, approved: by }
  const list = (ageSeconds: number, of: object) =>
    doubted.map((identityId) => ({ ...about, identityId, ageSeconds, held: of }))
  expect(first).toEqual(list(0, { runId: held.id, isExpired: false }))
  expect(next).toEqual(list(21 * 3600 + 60, heldPart(second)))
  expect(alert).toEqual([since])
  expect(named).toMatchObject([{ identityId: 'E0009', name: 'Person 9' }])
  expect(shown.leftOut).toEqual({ departs: true, since, runId: held.id, approved: by, held: heldPart(second) })
  expect(status.totals.leftOut).toBe(4)
  expect(status.connections[0]?.leftOut).toEqual({ people: 4, since })
  expect(expired.map((one) => one.held)).toEqual(doubted.map(() => ({ ...heldPart(second), isExpired: true })))
})

test('people wait without a run to decide about after it was rejected, and the connection is not in sync', async () => {
  await using opened = await open()
  const { world, control, night, waiting } = opened
  const second = await night(12)
  await rejectRun(world.sync, { runId: second.heldPart ?? '', by: 'ana' })
  const rejected = await waiting()

  const back = everybody.filter(({ id }) => ['E0009', 'E0010'].includes(id))
  const unreadable = doubted.slice(2).map((id) => ({ id, leavingDate: '31/02/2025', status: '' }))
  await night(13, [...back, ...unreadable, ...staying])
  const after = await waiting()
  const status = await control.status({})

  expect(rejected.map((one) => one.held)).toEqual([null, null, null, null])
  expect(after).toMatchObject(doubted.slice(2).map((identityId) => ({ identityId, since, held: null })))
  expect(status.connections[0]).toMatchObject({ state: 'problems', leftOut: { people: 2, since } })
})

test('a departure that waits is held, and late, although no held run has it', async () => {
  await using opened = await open()
  const { world, control, night } = opened
  const { db } = world.sync.store
  const unreadable = doubted.map((id) => ({ id, leavingDate: '31/02/2025', status: '' }))
  await night(12)

  await night(13, [...unreadable, ...staying])
  const { leavers } = await control.getPerson({ params: { connection: 'acme', identityId: 'E0009' }, query: {} })
  const late = await lateLeavers(db, { bounds: new Map([['acme', 1]]), now: world.clock.now })

  expect(leavers).toMatchObject([{ state: 'held' }])
  expect(late).toMatchObject([{ name: 'acme', people: 4 }])
})

test('viewers see the keys of people who wait, page by page, and no name', async () => {
  await using opened = await open()
  const viewer = opened.controlOf({ name: 'vera', role: 'viewer', via: 'token', principal: 'token:vera' })
  const pages: string[][] = []
  let after: string | undefined

  do {
    const { data, next }: Awaited<ReturnType<typeof viewer.listLeftOut>> = await viewer.listLeftOut({
      query: { limit: 3, ...(after && { after }) },
    })
    pages.push(data.map(({ identityId }) => identityId))
    after = next ?? undefined
  } while (after)
  const answer = viewer.listLeftOut({ query: { values: true } })

  expect(pages).toEqual([doubted.slice(0, 3), doubted.slice(3)])
  await expect(answer).rejects.toMatchObject({ code: 'forbidden' })
  await expect(viewer.listLeftOut({ query: { connection: 'other' } })).rejects.toMatchObject({ code: 'not_found' })
})

test('the plan of the next night says that only people who were left out would be held, unless another guard holds all', async () => {
  await using opened = await open()
  const { world, control, held } = opened
  const params = { connection: 'acme' }
  world.clock.now = new Date('2026-11-12T03:00:00.000Z')

  world.setExport(without(staying, 'E0020'), '2026-11-12T01:00:00.000Z')
  const one = await control.planConnection({ params, query: {} })
  world.setExport(staying.slice(60), '2026-11-12T01:00:00.000Z')
  const cut = await control.planConnection({ params, query: {} })
  world.setExport(everybody.slice(8), '2026-11-12T01:00:00.000Z')
  const nobody = await control.planConnection({ params, query: {} })

  expect(one.leftOut).toEqual({ people: 4, runIds: [held.id] })
  expect(one.guards.filter(({ ok }) => !ok)).toMatchObject([{ name: 'leftUnapproved', actual: 4 }])
  expect(cut.leftOut).toBeUndefined()
  expect(cut.guards.some(({ ok, name }) => !ok && name === 'leavers')).toBe(true)
  expect(nobody.leftOut).toBeUndefined()
})

test('a pinned person who was left out is held alone too, and another pinned person holds all', async () => {
  const pinned = new Set(['E0009'])
  await using opened = await open({ pinned })
  const { world, control } = opened
  const params = { connection: 'acme' }
  world.clock.now = new Date('2026-11-12T03:00:00.000Z')

  world.setExport(without(staying, 'E0020'), '2026-11-12T01:00:00.000Z')
  const one = await control.planConnection({ params, query: {} })
  pinned.add('E0020')
  const other = await control.planConnection({ params, query: {} })

  expect(one.leftOut).toMatchObject({ people: 4 })
  expect(other.leftOut).toBeUndefined()
})
