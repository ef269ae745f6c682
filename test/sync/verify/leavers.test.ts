import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { databaseOperator } from '../../../src/platform/operators/operator.ts'
import { listLeavers } from '../../../src/store/leavers/list.ts'
import { approveRun, verifyLeavers } from '../../../src/sync/sync.ts'
import { firstOf } from '../../helpers/tier.ts'
import { between, change, type Host, openWorld, staff, startHost, type World } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const mapping = Mapping.parse({
  fields: {
    identityId: 'Worker ID',
    email: { column: 'Email', onBlank: 'clear' },
    firstName: 'First Name',
    startedAt: { column: 'Start Date' },
    separatedAt: { column: 'Leaving Date' },
    isContractor: { column: 'Status', map: { '*': false } },
  },
})

async function open() {
  const { name, client } = await host.tenant()
  const world = await openWorld({ client, feed: { mapping } })
  const operator = databaseOperator(host.platform.database.db)
  return {
    world,
    sync: () => operator.syncIdentities({ body: { account: name } }),
    async setByHand(status: string): Promise<void> {
      await sql`
        update platform.personnel set employment_status = ${status}, status_updated_at = '2026-11-18T10:00:00Z'
        where account_id = (select id from platform.accounts where name = ${name})`.execute(host.platform.database.db)
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

const signal = new AbortController().signal
async function readAt(world: World, instant: string): Promise<void> {
  world.clock.now = new Date(instant)
  await verifyLeavers(world.sync, { connections: ['acme'], signal })
}

async function clock(world: World, identityId = 'E0003') {
  const [leaver] = await listLeavers(world.sync.store.db, { connections: ['acme'], identityId, now: world.clock.now })
  return leaver
}

const listNotEffective = (world: World) =>
  listLeavers(world.sync.store.db, { connections: ['acme'], notEffective: true, limit: 100, now: world.clock.now })

const people = staff(30)
const exportWithLeavers = (...ids: string[]) => change(people, ...ids.map((id) => ({ id, leavingDate: '2025-11-19' })))
// Days after the acknowledgement of 20 November.
const soon = '2026-11-20T03:30:00.000Z'
const dayLater = '2026-11-21T04:00:00.000Z'
const afterGrace = '2026-11-22T12:00:00.000Z'

describe('an acknowledged departure', () => {
  test('is effective once identity sync has made the person former, and is not verified again', async () => {
    await using opened = await open()
    const { world, sync } = opened
    await world.night(people)
    await world.night(exportWithLeavers('E0003'), { asOf: '2026-11-20T02:00:00.000Z' })

    await readAt(world, soon)
    const before = await clock(world)
    await sync()
    await readAt(world, dayLater)
    const after = await clock(world)
    let requests = 0
    between(world, (client) => ({
      getPersonnel: (...input) => {
        requests++
        return client.getPersonnel(...input)
      },
    }))
    await readAt(world, afterGrace)

    expect(before).toMatchObject({ state: 'acknowledged', visibleAt: null, finding: 'no_person', checkedAt: soon })
    expect(after).toMatchObject({
      state: 'effective',
      visibleAt: dayLater,
      foundStatus: 'FORMER_EMPLOYEE',
      finding: null,
    })
    expect(requests).toBe(0)
  })

  test('is not effective if the status was set by hand, and shows so after a day of grace', async () => {
    await using opened = await open()
    const { world, sync, setByHand } = opened
    await world.night(people)
    await sync()
    await setByHand('CURRENT_EMPLOYEE')
    await world.night(exportWithLeavers('E0003'), { asOf: '2026-11-20T02:00:00.000Z' })
    await sync()

    await readAt(world, dayLater)
    const withinGrace = await listNotEffective(world)
    await readAt(world, afterGrace)

    expect(withinGrace).toEqual([])
    expect(await listNotEffective(world)).toMatchObject([
      {
        identityId: 'E0003',
        state: 'not_effective',
        foundStatus: 'CURRENT_EMPLOYEE',
        finding: 'set_by_hand',
        findingDetail: 'on 2026-11-18',
      },
    ])
  })

  test.each([
    ['still_employed', 'no identity sync has run', null],
    ['out_of_scope', 'the person is out of scope', 'OUT_OF_SCOPE'],
    ['unmatched', 'no record is matched', 'UNKNOWN'],
  ])('is not effective: %s, if %s', async (finding, _why, status) => {
    await using opened = await open()
    const { world, sync } = opened
    await world.night(people)
    await sync()
    await world.night(exportWithLeavers('E0003'), { asOf: '2026-11-20T02:00:00.000Z' })
    if (status !== null)
      between(world, (client) => ({
        async getPersonnel(...input) {
          const answer = await client.getPersonnel(...input)
          return answer.status === 200 ? { ...answer, body: { ...answer.body, employmentStatus: status } } : answer
        },
      }))

    await readAt(world, afterGrace)

    expect(await listNotEffective(world)).toMatchObject([{ identityId: 'E0003', finding }])
  })

  test('is not effective if another, employed key has the e-mail', async () => {
    await using opened = await open()
    const { world, sync } = opened
    const twins = [
      ...people,
      { id: 'F1', email: 'E3@acme.example', first: 'Twin', start: '2021-01-04', status: 'Active' },
    ]
    await world.night(twins)
    await world.night(change(twins, { id: 'E0003', leavingDate: '2025-11-19' }), { asOf: '2026-11-20T02:00:00.000Z' })
    await sync()

    await readAt(world, afterGrace)

    expect(await clock(world)).toMatchObject({ state: 'not_effective', finding: 'other_key', findingDetail: 'acme/F1' })
  })

  test.each(
    firstOf(1, [
      ['not_permitted', 403],
      ['no_operation', 404],
      ['unreachable', 500],
    ]),
  )('is not checked (%s) where the platform answers %i, and the run goes on', async (finding, status) => {
    await using opened = await open()
    const { world, sync } = opened
    await world.night(people)
    await world.night(exportWithLeavers('E0003'), { asOf: '2026-11-20T02:00:00.000Z' })
    await sync()
    const error = { message: 'no', code: 1, name: null }
    const refuse = async () => ({ status, error, headers: {} })
    between(world, () => ({ getPersonnel: refuse, listPersonnel: refuse, searchPersonnel: refuse }) as never)
    world.clock.now = new Date(afterGrace)

    const run = await world.night(exportWithLeavers('E0003'), { asOf: '2026-11-22T02:00:00.000Z' })

    expect(run.state).toBe('unchanged')
    expect(await clock(world)).toMatchObject({ state: 'acknowledged', finding, visibleAt: null })
    expect(await listNotEffective(world)).toEqual([])
  })

  test('is not checked if HR states no e-mail', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world } = opened
    const nameless = change(people, { id: 'E0003', email: '' })
    await world.night(nameless)
    await world.night(change(nameless, { id: 'E0003', leavingDate: '2025-11-19' }), {
      asOf: '2026-11-20T02:00:00.000Z',
    })

    await readAt(world, afterGrace)

    expect(await clock(world)).toMatchObject({ state: 'acknowledged', finding: 'no_email' })
  })

  test.each([
    ['one search', {}, ['search']],
    ['the plain list if the search does not show them yet', { data: [], pagination: {} }, ['search', 'list']],
    ['the plain list if there is no search', null, ['search', 'list']],
  ])('is read from %s if there are many', async (_what, override, expected) => {
    await using opened = await open()
    const { world, sync } = opened
    const { id, digest } = await world.night(exportWithLeavers(...people.slice(0, 25).map((person) => person.id)))
    await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ops' })
    await world.drain()
    await sync()
    const requests: string[] = []
    between(world, (client) => ({
      getPersonnel: (...input) => {
        requests.push('one')
        return client.getPersonnel(...input)
      },
      listPersonnel: (...input) => {
        requests.push('list')
        return client.listPersonnel(...input)
      },
      async searchPersonnel(...input) {
        requests.push('search')
        expect(input[0].query).toMatchObject({ size: 500, 'hrisConnectionIds[]': [expect.any(Number)] })
        const answer = await client.searchPersonnel(...input)
        if (override === null)
          return { status: 404, error: { message: 'no', code: null, name: null }, headers: {} } as never
        return answer.status === 200 ? { ...answer, body: { ...answer.body, ...override } } : answer
      },
    }))

    world.clock.now = new Date(dayLater)
    await verifyLeavers(world.sync, { connections: ['acme'], signal })

    expect(requests).toEqual(expected)
    expect(await clock(world, 'E0025')).toMatchObject({ state: 'effective' })
  })

  test('is read once by two processes', { tags: ['full'] }, async () => {
    await using opened = await open()
    const { world, sync } = opened
    const gone = people.slice(0, 10).map(({ id }) => id)
    await world.night(exportWithLeavers(...gone))
    await sync()
    const requests: string[] = []
    between(world, (client) => ({
      getPersonnel: (...input) => {
        requests.push(JSON.stringify(input[0]))
        return client.getPersonnel(...input)
      },
    }))

    world.clock.now = new Date(dayLater)
    await Promise.all([1, 2].map(() => verifyLeavers(world.sync, { connections: ['acme'], signal })))

    expect(requests).toHaveLength(gone.length)
    expect(new Set(requests).size).toBe(gone.length)
    expect(await clock(world, 'E0010')).toMatchObject({ state: 'effective' })
  })

  test('is read in turn if more of them are not effective than are looked up at once', async () => {
    await using opened = await open()
    const { world, sync } = opened
    const keys = people.slice(0, 5).map(({ id }) => id)
    await world.night(people)
    await sync()
    await world.night(exportWithLeavers(...keys), { asOf: '2026-11-20T02:00:00.000Z' })
    const read: string[][] = []
    between(world, (client) => ({
      getPersonnel: (...input) => {
        read.at(-1)?.push(JSON.stringify(input[0]).match(/e(\d+)@/)?.[1] ?? '')
        return client.getPersonnel(...input)
      },
    }))

    for (const minute of ['00', '15', '30']) {
      read.push([])
      world.clock.now = new Date(`2026-11-21T04:${minute}:00.000Z`)
      await verifyLeavers(world.sync, { connections: ['acme'], maxLookUps: 2, signal })
    }

    // People who were never read come first.
    expect(read).toEqual([
      ['1', '2'],
      ['3', '4'],
      ['5', '1'],
    ])
    for (const key of keys) expect(await clock(world, key)).toMatchObject({ finding: 'still_employed' })
    expect((await clock(world, 'E0003'))?.checkedAt).toBe('2026-11-21T04:15:00.000Z')
  })

  test('is read less and less often, unless an operator requests a full verification', async () => {
    await using opened = await open()
    const { world } = opened
    await world.night(people)
    await world.night(exportWithLeavers('E0003'), { asOf: '2026-11-20T02:00:00.000Z' })
    let reads = 0
    between(world, (client) => ({
      getPersonnel: (...input) => {
        reads++
        return client.getPersonnel(...input)
      },
    }))

    for (let hour = 4; hour < 52; hour++) await readAt(world, new Date(Date.UTC(2026, 10, 20, hour)).toISOString())
    const inTwoDays = reads
    await world.night(exportWithLeavers('E0003'), { asOf: '2026-11-22T02:30:00.000Z', verify: true })

    expect(inTwoDays).toBeGreaterThan(3)
    expect(inTwoDays).toBeLessThan(10)
    expect(reads).toBe(inTwoDays + 1)
  })
})
