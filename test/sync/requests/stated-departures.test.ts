import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openAlerts, recordConditions } from '../../../src/store/alerts/alerts.ts'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { listLeavers } from '../../../src/store/leavers/list.ts'
import { forgetPerson } from '../../../src/store/retention/forget.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import { populationChange } from '../../../src/store/statement/movements.ts'
import { holdBack } from '../../../src/sync/requests/hold-backs.ts'
import { answerKeys } from '../../../src/sync/requests/key-answers.ts'
import { listStatedDepartures, stateDeparture } from '../../../src/sync/requests/stated-departures.ts'
import { withdrawDeparture } from '../../../src/sync/requests/withdrawn-departures.ts'
import { approveRun, requestDueRuns, requestRun, retractPerson } from '../../../src/sync/sync.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, type World, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const ana = { connection: 'acme', reason: 'dismissed today', by: 'ana', principal: 'token:ana' }
const ben = { ...ana, by: 'ben', principal: 'token:ben' }
const company = staff(12)
const twoPeople = { approvals: { expireHours: 72, twoPeople: true } }

async function open(later: Partial<World['connection']> = {}) {
  const { client } = await host.tenant()
  const world = await openWorld({ client })
  await world.night(company, { asOf: '2026-11-19T01:00:00.000Z' })
  Object.assign(world.connection, later)
  const dayOf = async (id: string) => (await peopleOn(client)).get(id)?.separatedAt?.slice(0, 10) ?? null
  const night = async (day: string, people = company) => {
    world.clock.now = new Date(`${day}T03:00:00.000Z`)
    return await world.night(people, { asOf: `${day}T01:00:00.000Z` })
  }
  return { world, dayOf, night, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

async function alerts(world: World, contradictedNights?: number) {
  const none = { overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map() }
  const settings = { ...none, connections: ['acme'], now: world.clock.now, contradictedNights }
  return (await conditions(world.sync.store.db, settings)).map(({ kind, reason }) => `${kind}: ${reason}`)
}

async function acts(world: World): Promise<string[]> {
  const rows = await world.sync.store.db.selectFrom('audit_pending').select('entry').execute()
  const entries = rows.map(({ entry }) => JSON.parse(entry))
  return entries.filter(({ act }) => act.startsWith('departure.')).map(({ act, by }) => `${act} by ${by}`)
}

async function failRun({ sync, clock }: World, id: string): Promise<void> {
  await sync.store.db
    .updateTable('runs')
    .set({ state: 'failed', failure: 'the platform is away', finished_at: clock.now })
    .where('id', '=', id)
    .execute()
}

test('a departure is sent at once, stays while HR states employment, and ends with the date of HR', async () => {
  await using opened = await open()
  const { world, dayOf, night } = opened

  const { runId, leavingDate } = await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  await world.drain()
  const { feed, state, counts } = await world.runOf(runId ?? '')
  const [listed] = await listStatedDepartures(world.sync, 'acme')
  const atOnce = await dayOf('E0003')
  const [leaver] = await listLeavers(world.sync.store.db, {
    connections: ['acme'],
    identityId: 'E0003',
    now: world.clock.now,
  })
  const contradicting = [(await night('2026-11-21')).state, (await night('2026-11-22')).state]
  const twoNights = await alerts(world)
  await night('2026-11-23')
  const threeNights = await alerts(world)
  const stays = await dayOf('E0003')
  await night('2026-11-24', change(company, { id: 'E0003', leavingDate: '2026-11-19' }))

  expect([feed, state, counts]).toMatchObject(['roster', 'finished', { leave: 1 }])
  expect([leavingDate, atOnce, stays]).toEqual(['2026-11-20', '2026-11-20', '2026-11-20'])
  expect(listed).toMatchObject({ identityId: 'E0003', by: 'ana', applies: true, approvedBy: null })
  expect(leaver).toMatchObject({ statedBy: 'ana', effectiveOn: '2026-11-20', statedAt: '2026-11-20T03:01:00.000Z' })
  expect(contradicting).toEqual(['unchanged', 'unchanged'])
  expect(twoNights).toEqual([])
  expect(threeNights).toEqual([expect.stringMatching(/^stated_departures: HR still states 1 person as employed/)])
  expect(await dayOf('E0003')).toBe('2026-11-19')
  expect([await listStatedDepartures(world.sync, 'acme'), await alerts(world)]).toEqual([[], []])
  expect(await acts(world)).toEqual(['departure.stated by ana', 'departure.confirmed by rollcall'])
})

test('a status of HR confirms the departure, and keeps its day', async () => {
  await using opened = await open()
  const { world, dayOf, night } = opened
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  await night('2026-11-22', change(company, { id: 'E0003', status: 'Inactive' }))
  const confirmed = [await dayOf('E0003'), await listStatedDepartures(world.sync, 'acme')]
  await night('2026-11-23')

  expect(confirmed).toEqual(['2026-11-20', []])
  expect(await dayOf('E0003')).toBeNull()
})

test('a status of HR before the day does not end the statement', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, dayOf, night } = opened
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003', on: '2026-11-24' })
  await night('2026-11-22', change(company, { id: 'E0003', status: 'Inactive' }))
  await night('2026-11-23')
  const before = await dayOf('E0003')
  world.clock.now = new Date('2026-11-24T00:01:00.000Z')
  await requestDueRuns(world.sync)
  await world.drain()

  expect([before, await dayOf('E0003')]).toEqual([null, '2026-11-24'])
})

test('hired again by HR, a person comes back, and the statement ends', async () => {
  await using opened = await open()
  const { world, dayOf, night } = opened
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  await night('2026-12-15', change(company, { id: 'E0003', leavingDate: '2026-11-20', start: '2026-12-15' }))

  expect(await dayOf('E0003')).toBeNull()
  expect(await listStatedDepartures(world.sync, 'acme')).toEqual([])
  expect(await acts(world)).toEqual(['departure.stated by ana', 'departure.confirmed by rollcall'])
})

test('after HR has confirmed the departure, HR brings the person back', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, dayOf, night } = opened
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  await night('2026-11-21', change(company, { id: 'E0003', leavingDate: '2026-11-20' }))
  await night('2026-11-22')

  expect(await dayOf('E0003')).toBeNull()
})

test('a later day of HR is no contradiction, and applies once it has come', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, dayOf, night } = opened
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  const later = change(company, { id: 'E0003', leavingDate: '2026-11-25' })
  for (const day of ['2026-11-21', '2026-11-22', '2026-11-23', '2026-11-24']) await night(day, later)
  const before = [await dayOf('E0003'), await alerts(world)]
  const [listed] = await listStatedDepartures(world.sync, 'acme')
  await night('2026-11-25', later)

  expect(before).toEqual(['2026-11-20', []])
  expect(listed).toMatchObject({ leavingDateOfHr: '2026-11-25' })
  expect(await dayOf('E0003')).toBe('2026-11-25')
  expect(await listStatedDepartures(world.sync, 'acme')).toEqual([])
})

test('a day of HR that is far ahead is a contradiction', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, night } = opened
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  const fixedTerm = change(company, { id: 'E0003', leavingDate: '2027-06-30' })
  await night('2026-11-22', fixedTerm)
  const twoNights = await alerts(world)
  await night('2026-11-23', fixedTerm)

  expect(twoNights).toEqual([])
  expect(await alerts(world)).toEqual([expect.stringMatching(/^stated_departures: HR still states 1 person/)])
})

test('a person whom HR drops, and then states as employed again, stays separated', async () => {
  await using opened = await open()
  const { world, dayOf, night } = opened
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  await night('2026-11-21', without(company, 'E0003'))
  await night('2026-11-22')

  expect(await dayOf('E0003')).toBe('2026-11-20')
  expect(await listStatedDepartures(world.sync, 'acme')).toHaveLength(1)
})

test('a day ahead waits without an export', async () => {
  await using opened = await open()
  const { world, dayOf, night } = opened
  const { runId } = await stateDeparture(world.sync, { ...ana, identityId: 'E0003', on: '2026-11-22' })
  await night('2026-11-21')
  const before = await dayOf('E0003')
  world.clock.now = new Date('2026-11-22T00:01:00.000Z')
  await requestDueRuns(world.sync)
  await world.drain()
  const onTheDay = await dayOf('E0003')
  await requestDueRuns(world.sync)

  expect([runId, before, onTheDay]).toEqual([null, null, '2026-11-22'])
  expect(world.jobs).toEqual([])
})

test('the departure that HR had announced is timed from the statement of the operator', {
  tags: ['full'],
}, async () => {
  await using opened = await open()
  const { world, night } = opened
  const announced = change(company, { id: 'E0003', leavingDate: '2026-12-31' })
  await night('2026-11-20', announced)
  world.clock.now = new Date('2026-11-22T14:00:00.000Z')
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003', on: '2026-11-15' })
  await world.drain()
  await night('2026-11-23', announced)
  const { db } = world.sync.store
  const period = { from: new Date('2026-11-01'), to: new Date('2026-12-01') }
  const [leaver] = await listLeavers(db, { connections: ['acme'], identityId: 'E0003', now: world.clock.now })
  const { movements } = await populationChange(db, { connection: 'acme', ...period })
  const times = { statedBy: 'ana', statedAt: '2026-11-22T14:00:00.000Z', firstSeenAt: '2026-11-22T14:00:00.000Z' }

  expect(leaver).toMatchObject({ effectiveOn: '2026-11-15', ...times })
  expect(movements.find(({ entered }) => !entered)).toMatchObject({ identityId: 'E0003', evidence: 'stated by ana' })
})

describe('a departure that is due and was not sent', () => {
  test('is tried again, though a roster run succeeded earlier on that day', async () => {
    await using opened = await open()
    const { world, dayOf, night } = opened
    await night('2026-11-20', change(company, { id: 'E0002', leavingDate: '2026-11-21' }))
    world.clock.now = new Date('2026-11-21T00:05:00.000Z')
    await requestDueRuns(world.sync)
    await world.drain()
    world.clock.now = new Date('2026-11-21T14:00:00.000Z')
    const { runId } = await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
    world.jobs.length = 0
    await failRun(world, runId ?? '')
    world.clock.now = new Date('2026-11-21T14:06:00.000Z')
    await requestDueRuns(world.sync)
    await world.drain()

    expect([await dayOf('E0002'), await dayOf('E0003')]).toEqual(['2026-11-21', '2026-11-21'])
  })

  test.each([
    ['alerts after an hour', false],
    ['alerts after an hour, though the departure was sent with another day', true],
  ])('%s', async (_, isSentBefore) => {
    await using opened = await open()
    const { world } = opened
    if (isSentBefore) {
      await stateDeparture(world.sync, { ...ana, identityId: 'E0003', on: '2026-11-18' })
      await world.drain()
    }
    const { runId } = await stateDeparture(world.sync, { ...ana, identityId: 'E0003', on: '2026-11-20' })
    world.jobs.length = 0
    await failRun(world, runId ?? '')
    world.clock.now = new Date('2026-11-20T04:00:00.000Z')
    const before = await alerts(world)
    world.clock.now = new Date('2026-11-20T04:01:00.000Z')

    expect(before.filter((alert) => alert.startsWith('stated_'))).toEqual([])
    expect(await alerts(world)).toContainEqual(expect.stringMatching(/^stated_departures: 1 stated departure is due/))
  })
})

test('another day corrects the departure; until a day ahead, the person is back', async () => {
  await using opened = await open()
  const { world, dayOf } = opened
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  await world.drain()
  const { runId } = await stateDeparture(world.sync, { ...ben, identityId: 'E0003', on: '2026-11-18' })
  await world.drain()
  const corrected = await dayOf('E0003')
  const ahead = await stateDeparture(world.sync, { ...ben, identityId: 'E0003', on: '2026-11-25' })
  await world.drain()

  expect((await world.runOf(runId ?? '')).counts).toMatchObject({ correct: 1 })
  expect(corrected).toBe('2026-11-18')
  expect([ahead.applies, await dayOf('E0003')]).toEqual([true, null])
})

test('a person is forgotten only once HR has written the departure', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world, dayOf, night } = opened
  const forget = () =>
    forgetPerson(world.sync.store.db, {
      ...{ connection: 'acme', identityId: 'E0003', reason: 'asked for', by: 'ana', today: '2026-11-22' },
      now: world.clock.now,
    })
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  await night('2026-11-21')
  await expect(forget()).rejects.toThrow('have HR write it first')
  const written = change(company, { id: 'E0003', leavingDate: '2026-11-20' })
  await night('2026-11-22', written)
  await forget()
  await night('2026-11-23', written)

  expect(await dayOf('E0003')).toBe('2026-11-20')
})

test('withdrawn, what HR says applies again without an export', async () => {
  await using opened = await open()
  const { world, dayOf } = opened
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
  await world.drain()
  const { runId } = await withdrawDeparture(world.sync, { ...ana, identityId: 'E0003', reason: 'the wrong person' })
  await world.drain()

  expect((await world.runOf(runId ?? '')).counts).toMatchObject({ return: 1 })
  expect(await dayOf('E0003')).toBeNull()
  expect(await acts(world)).toEqual(['departure.stated by ana', 'departure.withdrawn by ana'])
  await expect(withdrawDeparture(world.sync, { ...ana, identityId: 'E0003' })).rejects.toThrow('is stated')
})

test('a key that HR has replaced names the person under the first key', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { sync } = opened.world
  await answerKeys(sync, { connection: 'acme', former: 'E0003', identityId: 'N0003', same: true, by: 'ana' })
  const stated = await stateDeparture(sync, { ...ana, identityId: 'N0003' })
  const withdrawn = await withdrawDeparture(sync, { ...ana, identityId: 'N0003' })

  expect([stated.identityId, withdrawn.identityId]).toEqual(['E0003', 'E0003'])
})

test('a held plan that mentions the person is made again and states the departure', async () => {
  await using opened = await open()
  const { world, dayOf, night } = opened
  const many = company.slice(0, 6).map(({ id }) => ({ id, title: 'Lead', status: 'Inactive' }))
  const held = await night('2026-11-21', change(company, ...many))
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003', on: '2026-11-19' })
  await world.drain()
  const { moved } = await world.runOf(held.id)
  await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ana' })
  await world.drain()

  expect([held.state, moved]).toEqual(['held', expect.stringContaining('1 person of it')])
  expect(await dayOf('E0003')).toBe('2026-11-19')
})

describe('with two people', () => {
  test('nothing is sent before a second person states the same', async () => {
    await using opened = await open(twoPeople)
    const { world, dayOf } = opened
    const first = await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
    await requestDueRuns(world.sync)
    await world.drain()
    const alone = [await dayOf('E0003'), await alerts(world)]
    const statement = { ...ana, identityId: 'E0003' }
    await expect(stateDeparture(world.sync, statement)).rejects.toThrow('requires another person')
    await expect(stateDeparture(world.sync, { ...statement, by: 'Ana B' })).rejects.toThrow('is the same person')
    const second = { ...ben, identityId: 'E0003', on: '2026-11-20' }
    await expect(stateDeparture(world.sync, { ...second, on: '2026-11-19' })).rejects.toThrow(
      'on 2026-11-20 is stated already by ana',
    )
    const { applies } = await stateDeparture(world.sync, second)
    await world.drain()

    expect(first).toMatchObject({ applies: false, runId: null })
    expect(alone).toEqual([
      null,
      [expect.stringMatching(/^stated_departures: 1 stated departure waits to be stated by a second person/)],
    ])
    expect([applies, await dayOf('E0003'), await alerts(world)]).toEqual([true, '2026-11-20', []])
    expect(await acts(world)).toEqual(['departure.stated by ana', 'departure.approved by ben'])
  })

  test('one person is enough once the rule ends', { tags: ['full'] }, async () => {
    await using opened = await open(twoPeople)
    const { world } = opened
    await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
    Object.assign(world.connection, { approvals: { expireHours: 72, twoPeople: false } })

    expect(await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })).toMatchObject({ applies: true })
  })

  test('the first statement expires', { tags: ['full'] }, async () => {
    await using opened = await open(twoPeople)
    const { world } = opened
    await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
    world.clock.now = new Date('2026-11-23T04:00:00.000Z')
    const [expired] = await listStatedDepartures(world.sync, 'acme')

    expect(expired).toMatchObject({ applies: false, isExpired: true })
    expect(await alerts(world)).toEqual([expect.stringContaining('or again if it expired')])
    expect(await stateDeparture(world.sync, { ...ben, identityId: 'E0003' })).toMatchObject({
      applies: false,
      leavingDate: '2026-11-20',
    })
  })

  test('an emergency is sent at once, and alerts until a second person has stated it too', async () => {
    await using opened = await open(twoPeople)
    const { world, dayOf } = opened
    await stateDeparture(world.sync, { ...ana, identityId: 'E0003' })
    await stateDeparture(world.sync, { ...ana, identityId: 'E0003', emergency: true })
    await world.drain()
    const alone = [await dayOf('E0003'), await alerts(world)]
    await expect(stateDeparture(world.sync, { ...ana, identityId: 'E0003', emergency: true })).rejects.toThrow(
      'requires another person',
    )
    await stateDeparture(world.sync, { ...ben, identityId: 'E0003', on: '2026-11-20' })

    expect(alone).toEqual([
      '2026-11-20',
      [expect.stringMatching(/^emergency: one person alone stated 1 departure as an emergency/)],
    ])
    expect(await alerts(world)).toEqual([])
    await expect(stateDeparture(world.sync, { ...ben, identityId: 'E0003' })).rejects.toThrow('withdraw that first')
  })
})

test('one person does not approve the plan of an emergency that they stated alone', async () => {
  await using opened = await open({ ...twoPeople, pinned: new Set(['E0003']) })
  const { world, dayOf } = opened
  await stateDeparture(world.sync, { ...ana, identityId: 'E0003', emergency: true })
  await world.drain()
  // The plan that ana asked for expires. Nobody asked for the next one.
  world.clock.now = new Date('2026-11-23T04:00:00.000Z')
  await requestDueRuns(world.sync)
  await world.drain()
  const [run] = await listRuns(world.sync.store.db, { limit: 1 })
  const decision = { runId: run?.id ?? '', digest: run?.digest ?? '' }
  await expect(approveRun(world.sync, { ...decision, ...ana })).rejects.toThrow(
    /^a departure of run .* is an emergency that ana alone stated/,
  )
  const alone = await dayOf('E0003')
  await approveRun(world.sync, { ...decision, ...ben })
  await world.drain()

  expect(run?.state).toBe('held')
  expect([alone, await dayOf('E0003')]).toEqual([null, '2026-11-20'])
})

test('every channel gets an emergency, whatever its connections and kinds', async () => {
  await using opened = await open(twoPeople)
  const { sync, clock } = opened.world
  await stateDeparture(sync, { ...ana, identityId: 'E0003', emergency: true })
  await stateDeparture(sync, { ...ana, identityId: 'E0004' })
  const channels = [{ name: 'elsewhere', connections: ['other'], kinds: ['stale' as const] }]
  const settings = { overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map(), now: clock.now }
  await recordConditions(sync.store.db, await conditions(sync.store.db, { ...settings, connections: ['acme'] }), {
    channels,
    now: clock.now,
  })
  const raised = await openAlerts(sync.store.db)

  expect(raised.map(({ kind, notified }) => [kind, notified.length])).toEqual([
    ['emergency', 1],
    ['stated_departures', 0],
  ])
})

test('the alert of an emergency is timed by the emergencies alone', { tags: ['full'] }, async () => {
  await using opened = await open(twoPeople)
  const { sync, clock } = opened.world
  const at = (minute: string) => {
    clock.now = new Date(`2026-11-20T04:${minute}:00.000Z`)
  }
  at('00')
  await stateDeparture(sync, { ...ana, identityId: 'E0002' })
  at('10')
  await stateDeparture(sync, { ...ana, identityId: 'E0003', emergency: true })
  at('20')
  await stateDeparture(sync, { ...ana, identityId: 'E0004' })
  const settings = { overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map(), now: clock.now }
  const current = await conditions(sync.store.db, { ...settings, connections: ['acme'] })

  expect(current.map(({ kind, since, code }) => [kind, since.toISOString(), code?.slice(-24)])).toEqual([
    ['emergency', '2026-11-20T04:10:00.000Z', '2026-11-20T04:10:00.000Z'],
    ['stated_departures', '2026-11-20T04:00:00.000Z', '2026-11-20T04:20:00.000Z'],
  ])
})

test('an emergency is refused where nobody has to wait', async () => {
  await using opened = await open()
  const emergency = { ...ana, identityId: 'E0003', emergency: true }

  await expect(stateDeparture(opened.world.sync, emergency)).rejects.toThrow('state no emergency')
})

describe('is refused', () => {
  let opened: Awaited<ReturnType<typeof open>>
  beforeAll(async () => {
    opened = await open()
    const { world, night } = opened
    await night('2026-11-20', change(company, { id: 'E0002', status: 'Inactive', leavingDate: '2026-11-18' }))
    const { id, digest } = await retractPerson(world.sync, { ...ana, identityId: 'E0012' })
    await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ana' })
    await world.drain()
    await stateDeparture(world.sync, { ...ana, identityId: 'E0001' })
    await holdBack(world.sync, { ...ana, identityId: 'E0004', until: '2026-12-01' })
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  test.each([
    { name: 'a person whom no one knows', identityId: 'X1', sentence: 'HR has stated no person X1' },
    { name: 'a person who has left', identityId: 'E0002', sentence: 'has left on 2026-11-18 already' },
    { name: 'a person who was retracted', identityId: 'E0012', sentence: 'E0012 was retracted' },
    { name: 'a person who is held back', identityId: 'E0004', sentence: 'are held back until 2026-12-01' },
    { name: 'a person twice', identityId: 'E0001', sentence: 'the departure of E0001 on' },
    { name: 'a day before the hire', identityId: 'E0003', on: '2020-01-05', sentence: 'more than a year' },
    { name: 'a day that does not exist', identityId: 'E0003', on: '2026-11-31', sentence: 'is not a day' },
    { name: 'a day written otherwise', identityId: 'E0003', on: '1.12.2026', sentence: 'is not a day' },
    { name: 'a day in years', identityId: 'E0003', on: '2028-01-01', sentence: 'more than a year' },
    { name: 'a connection that no one knows', identityId: 'E0003', connection: 'other', sentence: 'other' },
  ])('$name', async ({ name: _, sentence, ...statement }) => {
    await expect(stateDeparture(opened.world.sync, { ...ana, ...statement })).rejects.toThrow(sentence)
  })

  test('a day before the first day of the person', async () => {
    await using own = await open()
    const start = { id: 'E0003', start: '2026-12-15' }
    await own.night('2026-11-20', change(company, start))

    await expect(stateDeparture(own.world.sync, { ...ana, identityId: 'E0003' })).rejects.toThrow(
      'starts on 2026-12-15, after 2026-11-20',
    )
  })

  test('to be held back as well', async () => {
    const back = holdBack(opened.world.sync, { ...ana, identityId: 'E0001', until: '2026-12-01' })

    await expect(back).rejects.toThrow('withdraw it first')
  })

  test('while a plan is being made, which would not include it', async () => {
    const { sync, jobs } = opened.world
    const { id } = await requestRun(sync, { connection: 'acme', trigger: 'operator' })
    jobs.length = 0
    await sync.store.db.updateTable('runs').set({ state: 'reading' }).where('id', '=', id).execute()

    await expect(stateDeparture(sync, { ...ana, identityId: 'E0005' })).rejects.toThrow(`run ${id} of "acme" is being`)
    const withdrawal = withdrawDeparture(sync, { ...ana, identityId: 'E0001' })
    await expect(withdrawal).rejects.toThrow(`run ${id} of "acme" is being`)
  })
})
