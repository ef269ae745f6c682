import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { listStatedDepartures, stateDeparture } from '../../../src/sync/requests/stated-departures.ts'
import { withdrawDeparture } from '../../../src/sync/requests/withdrawn-departures.ts'
import { requestRun } from '../../../src/sync/sync.ts'
import { type Host, headers, openWorld, peopleOn, staff, startHost, type World, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const by = (name: string) => ({
  ...{ connection: 'acme', identityId: 'E0003', reason: `says ${name}`, by: name, principal: `token:${name}` },
})
const [ana, ben, eva] = [by('ana'), by('ben'), by('eva')]
const company = staff(12)

type Options = Pick<Parameters<typeof openWorld>[0], 'feed'> & { readonly connection?: Partial<World['connection']> }

async function open({ feed, connection }: Options = {}) {
  const { client } = await host.tenant()
  const world = await openWorld({ client, ...(feed && { feed }) })
  await world.night(company, { asOf: '2026-11-19T01:00:00.000Z' })
  Object.assign(world.connection, connection)
  world.clock.now = new Date('2026-11-20T03:00:00.000Z')
  const separatedOn = async () => {
    await world.drain()
    return (await peopleOn(client)).get('E0003')?.separatedAt?.slice(0, 10) ?? null
  }
  const stated = async () => (await listStatedDepartures(world.sync, 'acme'))[0]
  return { world, sync: world.sync, separatedOn, stated, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

const pair = { connection: { approvals: { expireHours: 72, twoPeople: true } } }

/** A departure that two people state, and that was sent. */
async function openStated() {
  const opened = await open(pair)
  await stateDeparture(opened.sync, ana)
  await stateDeparture(opened.sync, { ...ben, on: '2026-11-20' })
  expect(await opened.separatedOn()).toBe('2026-11-20')
  return opened
}

async function alerts({ sync, clock }: World): Promise<string[]> {
  const none = { overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map() }
  const settings = { ...none, connections: ['acme'], now: clock.now }
  return (await conditions(sync.store.db, settings)).map(({ kind, reason }) => `${kind}: ${reason}`)
}

async function entries({ sync }: World): Promise<unknown[]> {
  const rows = await sync.store.db.selectFrom('audit_pending').select('entry').execute()
  const all = rows.map(({ entry }) => JSON.parse(entry))
  return all.filter(({ act }) => act === 'departure.withdrawn').map(({ by: name, details }) => [name, details])
}

describe('with two people, a departure that applies', () => {
  test('is withdrawn by two people', async () => {
    await using opened = await openStated()
    const { world, sync, separatedOn } = opened

    const first = await withdrawDeparture(sync, ana)
    const waiting = [await separatedOn(), await alerts(world)]
    await expect(withdrawDeparture(sync, ana)).rejects.toThrow('"approvals.twoPeople" requires another person')
    const second = await withdrawDeparture(sync, eva)

    expect(first).toMatchObject({ leavingDate: '2026-11-20', applies: true, waits: true, runId: null })
    expect(waiting).toEqual(['2026-11-20', [expect.stringContaining('1 stated departure waits')]])
    expect(second).toMatchObject({ leavingDate: null, waits: false })
    expect([await separatedOn(), await alerts(world)]).toEqual([null, []])
    expect(await entries(world)).toEqual([
      ['ana', { reason: 'says ana', waits: true }],
      ['eva', { reason: 'says eva', withdrawnBy: 'ana' }],
    ])
  })

  test('stays when the second person comes too late, and asks nobody any more', async () => {
    await using opened = await openStated()
    const { world, sync, separatedOn, stated } = opened
    await withdrawDeparture(sync, ana)
    world.clock.now = new Date('2026-11-23T04:00:00.000Z')
    const late = [await stated(), await alerts(world)]
    const { waits } = await withdrawDeparture(sync, eva)

    expect(late).toMatchObject([{ proposal: null }, []])
    expect([waits, await separatedOn()]).toEqual([true, '2026-11-20'])
  })

  test('keeps its day while one person states another, and gets it from the second', { tags: ['full'] }, async () => {
    await using opened = await openStated()
    const { sync, separatedOn, stated } = opened
    const other = { on: '2026-11-18' }

    const first = await stateDeparture(sync, { ...ana, ...other })
    const waiting = [await separatedOn(), await stated()]
    await expect(stateDeparture(sync, { ...ana, ...other })).rejects.toThrow('requires another person')
    await expect(stateDeparture(sync, eva)).rejects.toThrow(
      'the last day of E0003 is 2026-11-18, as ana states: name that day',
    )
    const second = await stateDeparture(sync, { ...eva, ...other })

    expect(first).toMatchObject({ leavingDate: '2026-11-18', applies: false, waits: true, runId: null })
    expect(waiting).toMatchObject(['2026-11-20', { proposal: { by: 'ana', leavingDate: '2026-11-18' } }])
    expect(second).toMatchObject({ leavingDate: '2026-11-18', applies: true, waits: false })
    expect([await separatedOn(), await stated()]).toMatchObject([
      '2026-11-18',
      { by: 'ana', approvedBy: 'eva', proposal: null },
    ])
  })

  test('is kept by whoever states its day again', { tags: ['full'] }, async () => {
    await using opened = await openStated()
    const { sync, separatedOn, stated } = opened
    await withdrawDeparture(sync, ana)
    await stateDeparture(sync, { ...eva, on: '2026-11-20' })
    const { waits } = await withdrawDeparture(sync, ben)

    expect([waits, await separatedOn(), await stated()]).toMatchObject([
      true,
      '2026-11-20',
      { proposal: { by: 'ben' } },
    ])
  })

  test('records a proposal that another one replaces, and reports only what applies', { tags: ['full'] }, async () => {
    await using opened = await openStated()
    const { world, sync } = opened
    world.events.length = 0
    await stateDeparture(sync, { ...ana, on: '2026-11-18' })
    await withdrawDeparture(sync, ben)
    await stateDeparture(sync, { ...eva, on: '2026-11-20' })
    await withdrawDeparture(sync, ben)
    await withdrawDeparture(sync, ana)

    expect(await entries(world)).toEqual([
      ['ben', { reason: 'says ben', waits: true, drops: '2026-11-18, by ana' }],
      ['ben', { reason: 'says ben', waits: true }],
      ['ana', { reason: 'says ana', withdrawnBy: 'ben' }],
    ])
    const reported = world.events.filter((event) => 'statement' in event)
    expect(reported).toMatchObject([{ statement: 'withdrawn', by: 'ana' }])
  })

  test('is not corrected as an emergency', async () => {
    await using opened = await openStated()

    const correction = stateDeparture(opened.sync, { ...eva, on: '2026-11-18', emergency: true })

    await expect(correction).rejects.toThrow('leave --emergency out')
  })
})

test('an alert counts each person once, and a change of a departure from when it was proposed', {
  tags: ['full'],
}, async () => {
  await using opened = await openStated()
  const { world, sync } = opened
  const { db } = sync.store
  const none = { overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map(), connections: ['acme'] }
  const current = async (connectionsWithoutTwoPeople: string[] = []) => {
    const all = await conditions(db, { ...none, connectionsWithoutTwoPeople, now: world.clock.now })
    return all.find(({ kind }) => kind === 'stated_departures')
  }
  world.clock.now = new Date('2026-11-21T03:00:00.000Z')
  await stateDeparture(sync, { ...ana, on: '2026-11-18' })
  const proposed = await current()
  world.setExport(company, '2026-11-23T01:00:00.000Z')
  await requestRun(sync, { connection: 'acme', trigger: 'schedule' })
  await world.drain()
  world.clock.now = new Date('2026-11-23T02:00:00.000Z')
  await withdrawDeparture(sync, ana)
  const contradicted = await current()

  expect(proposed).toMatchObject({ people: 1, since: new Date('2026-11-21T03:00:00.000Z') })
  expect(contradicted).toMatchObject({ people: 1, leavers: 1, since: new Date('2026-11-20T03:00:00.000Z') })
  expect(contradicted?.code).toBe('1 0 1 0 2026-11-23T02:00:00.000Z')
  expect(contradicted?.reason).toMatch(/1 stated departure waits.*; HR still states 1 person/)
  expect((await current(['acme']))?.reason).toMatch(/^HR still states 1 person/)
})

describe('a second person approves only the day that they have seen', () => {
  const seen = { on: '2026-11-20', approves: true }

  test('of a departure that waits', async () => {
    await using opened = await open(pair)
    const { sync, stated } = opened
    await stateDeparture(sync, ana)
    await expect(stateDeparture(sync, ben)).rejects.toThrow('name that day to state it too (--on 2026-11-20)')
    await withdrawDeparture(sync, ana)
    const gone = stateDeparture(sync, { ...ben, ...seen })
    await expect(gone).rejects.toThrow('no day of E0003 waits for a second person: that changed since you saw it')
    await stateDeparture(sync, { ...ana, on: '2026-12-20' })
    const other = stateDeparture(sync, { ...ben, ...seen })
    await expect(other).rejects.toThrow(
      'the last day of E0003 is 2026-12-20, as ana states: that changed since you saw it',
    )
    await expect(withdrawDeparture(sync, { ...ben, on: '2026-11-20' })).rejects.toThrow('look at it again')

    expect(await stated()).toMatchObject({ leavingDate: '2026-12-20', applies: false })
    expect(await stateDeparture(sync, { ...ben, ...seen, on: '2026-12-20' })).toMatchObject({ applies: true })
  })

  test('of a correction', { tags: ['full'] }, async () => {
    await using opened = await openStated()
    const { sync, stated } = opened
    await stateDeparture(sync, { ...ana, on: '2026-11-18' })
    await stateDeparture(sync, { ...ana, on: '2026-12-20' })
    const other = stateDeparture(sync, { ...ben, on: '2026-11-18', approves: true })

    await expect(other).rejects.toThrow('the last day of E0003 is 2026-12-20, as ana states')
    expect(await stated()).toMatchObject({ leavingDate: '2026-11-20', proposal: { leavingDate: '2026-12-20' } })
  })
})

describe('an emergency that one person stated alone', () => {
  async function openEmergency() {
    const opened = await open(pair)
    await stateDeparture(opened.sync, { ...ana, emergency: true })
    expect(await opened.separatedOn()).toBe('2026-11-20')
    return opened
  }

  test('is not withdrawn by the same person before anybody hears of it', async () => {
    await using opened = await openEmergency()
    const { world, sync, separatedOn } = opened
    const { waits } = await withdrawDeparture(sync, ana)

    expect([waits, await separatedOn()]).toEqual([true, '2026-11-20'])
    expect(await alerts(world)).toContainEqual(expect.stringMatching(/^emergency: one person alone stated/))
  })

  test('is withdrawn by any other person', { tags: ['full'] }, async () => {
    await using opened = await openEmergency()
    const { sync, separatedOn } = opened
    const { waits } = await withdrawDeparture(sync, ben)

    expect([waits, await separatedOn()]).toEqual([false, null])
  })

  test('is confirmed by another person who states its day, whatever the first one proposes since', {
    tags: ['full'],
  }, async () => {
    await using opened = await openEmergency()
    const { world, sync, separatedOn, stated } = opened
    await withdrawDeparture(sync, ana)
    await stateDeparture(sync, { ...ben, on: '2026-11-20' })

    expect(await stated()).toMatchObject({ approvedBy: 'ben', proposal: null })
    expect([await separatedOn(), await alerts(world)]).toEqual(['2026-11-20', []])
  })
})

test('one person withdraws what waits for a second person, as nothing was sent', async () => {
  await using opened = await open(pair)
  await stateDeparture(opened.sync, ana)

  expect(await withdrawDeparture(opened.sync, ben)).toMatchObject({ leavingDate: null, waits: false })
})

describe('of a source that only drops leavers', () => {
  const fields = { identityId: 'Worker ID', email: 'Email', firstName: 'First Name', startedAt: 'Start Date' }
  const onlyNames = { feed: { mapping: Mapping.parse({ fields }) } }

  async function night(world: World, day: string, people = company) {
    world.clock.now = new Date(`${day}T03:00:00.000Z`)
    return await world.night(people, { asOf: `${day}T01:00:00.000Z` })
  }

  test('an absence in the next export confirms the departure, and HR brings the person back afterwards', async () => {
    await using opened = await open(onlyNames)
    const { world, sync, separatedOn, stated } = opened
    await stateDeparture(sync, ana)
    await night(world, '2026-11-21')
    const contradicted = [await separatedOn(), await stated()]
    await night(world, '2026-11-22', without(company, 'E0003'))
    const confirmed = [await separatedOn(), await stated()]
    await night(world, '2026-11-23')

    expect(headers).toContain('Status')
    expect(contradicted).toMatchObject(['2026-11-20', { by: 'ana' }])
    expect(confirmed).toEqual(['2026-11-20', undefined])
    expect(await separatedOn()).toBeNull()
  })

  test('an absence within the grace or before the day confirms nothing', { tags: ['full'] }, async () => {
    await using opened = await open({ feed: { ...onlyNames.feed, graceRuns: 2 } })
    const { world, sync, separatedOn, stated } = opened
    await stateDeparture(sync, { ...ana, on: '2026-11-23' })
    await night(world, '2026-11-21', without(company, 'E0003'))
    await night(world, '2026-11-22', without(company, 'E0003'))
    const before = await stated()
    await night(world, '2026-11-23', without(company, 'E0003'))

    expect(before).toMatchObject({ leavingDate: '2026-11-23', isInferredByHr: false })
    expect([await separatedOn(), await stated()]).toEqual(['2026-11-22', undefined])
  })
})
