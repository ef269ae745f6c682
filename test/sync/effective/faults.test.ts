import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { personnel } from '../../../src/contract/platform/personnel.ts'
import { createClient } from '../../../src/http/client/client.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { databaseOperator } from '../../../src/platform/operators/operator.ts'
import {
  claimComparison,
  endComparison,
  findComparison,
  listCoverage,
} from '../../../src/store/effective/comparisons.ts'
import { alertedFindings, listFindings, storeFindings } from '../../../src/store/effective/findings.ts'
import type { PlatformClient } from '../../../src/sync/context/context.ts'
import { compareEffective, fixEffective } from '../../../src/sync/sync.ts'
import { firstOf } from '../../helpers/tier.ts'
import { between, change, type Host, type HrPerson, openWorld, staff, startHost } from '../../helpers/world.ts'

let passedMs = 0
const later = (ms = 6000) => {
  passedMs += ms
}
const platformNow = () => new Date(Date.now() + passedMs)
let host: Host
beforeAll(async () => {
  host = await startHost(undefined, { now: platformNow })
})
afterAll(() => host[Symbol.asyncDispose]())

const signal = new AbortController().signal
const fields = {
  identityId: 'Worker ID',
  email: { column: 'Email', onBlank: 'clear' },
  firstName: 'First Name',
  jobTitle: 'Job Title',
  startedAt: { column: 'Start Date' },
  separatedAt: { column: 'Leaving Date' },
  isContractor: { column: 'Status', map: { '*': false } },
}
const { firstName: _firstName, ...withoutName } = fields
const people = staff(13)
const e3 = 'e3@acme.example'

async function open(company: readonly HrPerson[] = people, mapped: object = fields) {
  const { name, key, client } = await host.tenant()
  const world = await openWorld({ client, feed: { mapping: Mapping.parse({ fields: mapped }) } })
  const { db } = host.platform.database
  const { db: storeDb } = world.sync.store
  const operator = databaseOperator(db, platformNow)
  const editor = createClient(personnel, { baseUrl: host.platform.baseUrl, bearer: key })
  await world.night([...company])
  later()
  await operator.syncIdentities({ body: { account: name } })
  const findings = () => listFindings(storeDb, { connections: ['acme'], limit: 1000 })
  return {
    ...{ world, client, db, storeDb, findings },
    ofAccount: sql`account_id = (select id from platform.accounts where name = ${name})`,
    sync: () => {
      later()
      return operator.syncIdentities({ body: { account: name } })
    },
    compare: async (options = {}) => {
      later()
      world.clock.now = platformNow()
      return await compareEffective(world.sync, { always: true, signal, ...options })
    },
    edit: async (email: string, body: Parameters<typeof editor.updatePersonnel>[0]['body']) => {
      later()
      const answer = await editor.updatePersonnel({ params: { personnelId: `email:${email}` }, body })
      expect(answer.status).toBe(200)
    },
    causes: async () => (await findings()).map(({ subject, cause }) => `${subject} ${cause}`),
    coverage: async () => (await listCoverage(storeDb))[0],
    async connectionId() {
      const answer = await client.listCustomConnections({ query: {} })
      return (answer.status === 200 && answer.body.data.find(({ clientAlias }) => clientAlias === 'Acme HRIS')?.id) || 0
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}
type Opened = Awaited<ReturnType<typeof open>>

async function addPerson({ db, ofAccount }: Opened, { email, first }: { email: string; first: string }) {
  await sql`
    with added as (
      insert into platform.users (account_id, email, first_name, origin, created_at, updated_at)
      select account_id, ${email}, ${first}, 'operator', now(), now() from platform.users where ${ofAccount} limit 1
      returning id, account_id
    )
    insert into platform.personnel (account_id, user_id, employment_status, status_updated_at, created_at, updated_at)
    select account_id, id, 'CURRENT_EMPLOYEE', now(), now(), now() from added`.execute(db)
}

const broken = { status: 500, headers: {}, error: { statusCode: 500, message: 'broken', code: 1 } } as never
const refused = { status: 403, headers: {}, error: { statusCode: 403, message: 'no', code: 1 } } as never

test('people with changes to send are neither compared nor taken for strangers', async () => {
  await using opened = await open()
  between(opened.world, () => ({ upsertHrisUserIdentities: async () => broken }))
  later()
  await opened.world.night(people.map((person) => ({ ...person, title: 'Manager' })))

  await opened.compare()

  expect(await opened.causes()).toEqual([])
  expect(await opened.coverage()).toMatchObject({ people: 0, effective: 0 })
})

test('two more people with one name are one finding, without a reset, and lower no coverage', {
  tags: ['full'],
}, async () => {
  await using opened = await open()
  await addPerson(opened, { email: 'double1@acme.example', first: 'Person 3' })
  await addPerson(opened, { email: 'double2@acme.example', first: 'Person 3' })
  await addPerson(opened, { email: 'ghost@acme.example', first: 'Nobody' })

  await opened.compare()

  const findings = await opened.findings()
  expect(findings).toMatchObject([
    { subject: 'E0003', cause: 'duplicate_person', canReset: false, evidence: { otherPeople: { length: 2 } } },
    { cause: 'stated_by_nobody', canReset: false },
  ])
  expect(await opened.coverage()).toMatchObject({ people: 13, effective: 13 })
  const keys = ['E0003']
  await expect(fixEffective(opened.world.sync, { keys, reason: 'x', by: 'ana', signal })).rejects.toThrow(
    'does not help',
  )
})

test('findings with one primary key do not end a comparison', { tags: ['full'] }, async () => {
  await using opened = await open()
  const finding = { connection: 'acme', identityId: 'E1', personId: 1, canReset: false, cause: 'not_matched' } as const
  const findings = [
    { ...finding, evidence: {} },
    { ...finding, evidence: {} },
  ]

  await storeFindings(opened.storeDb, findings, { comparison: 1, at: new Date() })

  expect(await opened.causes()).toEqual(['E1 not_matched'])
})

test('people without an e-mail whom nothing tells apart are not reported', { tags: ['full'] }, async () => {
  const twin = { first: 'Twin', title: 'Engineer', start: '2019-01-07', status: 'Active' }
  const nameless = { id: 'N1', title: 'Engineer', start: '2018-01-07', status: 'Active' }
  await using opened = await open([
    ...people,
    { ...twin, id: 'T1', email: 't1@acme.example' },
    { ...twin, id: 'T2', email: 't2@acme.example' },
    { ...nameless, email: 'n1@acme.example' },
  ])
  await opened.world.night([...people, { ...twin, id: 'T1' }, { ...twin, id: 'T2' }, nameless])
  await opened.sync()

  await opened.compare()

  expect(await opened.causes()).toEqual([])
})

test('a person whom the platform matches under an older address is not reported, also without names', async () => {
  await using opened = await open(people, withoutName)
  const { db, ofAccount } = opened
  await sql`update platform.users set email = 'old.e4@acme.example' where email = 'e4@acme.example' and ${ofAccount}`.execute(
    db,
  )

  await opened.compare()

  expect(await opened.causes()).toEqual([])
})

test('if events cannot be read, what changed in the last two days waits for the identity sync', async () => {
  await using opened = await open()
  later()
  const joiner = { id: 'NEW', email: 'new@acme.example', first: 'New', start: '2026-01-05', status: 'Active' }
  await opened.world.night([...change(people, { id: 'E0005', leavingDate: '2025-11-19' }), joiner])
  between(opened.world, () => ({ listEvents: async () => refused }))

  await opened.compare()

  expect(await opened.causes()).toEqual(['E0005 not_synced', 'NEW not_synced'])
})

test('one failing answer about events ends the comparison and keeps what was found', { tags: ['full'] }, async () => {
  await using opened = await open()
  await opened.edit(e3, { employmentStatus: 'CURRENT_CONTRACTOR' })
  await opened.compare()
  between(opened.world, () => ({ listEvents: async () => broken }))

  const result = await opened.compare()

  expect(result?.failure).toBe('server_error')
  expect(await opened.causes()).toEqual(['E0003 set_by_hand'])
})

test('somebody who has left may be former on purpose, and a right status lowers no coverage and raises no alert', async () => {
  await using opened = await open(change(people, { id: 'E0003', leavingDate: '2025-11-19' }))
  await opened.edit(e3, { employmentStatus: 'SPECIAL_FORMER_EMPLOYEE' })
  await opened.edit('e4@acme.example', { employmentStatus: 'CURRENT_EMPLOYEE' })

  await opened.compare()

  expect(await opened.causes()).toEqual(['E0004 sync_paused'])
  expect(await opened.coverage()).toMatchObject({ people: 13, effective: 13 })
  const alerted = { connections: ['acme'], above: 0, now: opened.world.clock.now }
  expect(await alertedFindings(opened.storeDb, alerted)).toEqual([])
})

test('who was not looked up has no guessed cause, and is looked up before the others next time', async () => {
  await using opened = await open()
  for (const id of [1, 2])
    await opened.edit(`e${id}@acme.example`, { employmentStatus: 'OUT_OF_SCOPE', notHumanReason: 'a robot' })
  const connectionId = await opened.connectionId()
  for (const id of ['E0003', 'E0004'])
    await opened.client.deleteHrisUserIdentity({ params: { connectionId, userIdentityId: `identity-id:${id}` } })
  await opened.sync()
  const robots = ['E0001 out_of_scope', 'E0002 out_of_scope']

  await opened.compare({ maxLookUps: 1 })
  const first = await opened.causes()
  await opened.compare({ maxLookUps: 1 })

  expect(
    first
      .filter((each) => !robots.includes(each))
      .map((each) => each.slice(6))
      .toSorted(),
  ).toEqual(['not_looked_up', 'record_missing'])
  expect(await opened.causes()).toEqual([...robots, 'E0003 record_missing', 'E0004 record_missing'])
})

test('standing findings are looked up in turn', { tags: ['full'] }, async () => {
  await using opened = await open()
  for (const id of [3, 4]) await opened.edit(`e${id}@acme.example`, { employmentStatus: 'CURRENT_CONTRACTOR' })
  await opened.compare()
  const lookedUp = new Set<string>()
  between(opened.world, (client) => ({
    getHrisUserIdentity: async (...input) => {
      lookedUp.add(String(input[0].params.userIdentityId))
      return await client.getHrisUserIdentity(...input)
    },
  }))

  for (let times = 0; times < 8; times++) await opened.compare({ maxLookUps: 1 })

  expect([...lookedUp].toSorted()).toEqual(['identity-id:E0003', 'identity-id:E0004'])
})

test('of two ended records with one start, the platform may take either', { tags: ['full'] }, async () => {
  const both = { email: 'z@acme.example', first: 'Zed', title: 'Engineer', start: '2019-01-07', status: 'Active' }
  const [z1, a1] = [
    { ...both, id: 'Z1', leavingDate: '2020-03-02' },
    { ...both, id: 'A1', leavingDate: '2021-03-01' },
  ]
  await using opened = await open([...people, z1])
  await opened.world.night([...people, z1, a1])
  await opened.sync()

  await opened.compare()

  expect(await opened.causes()).toEqual([])
})

test('a date that differs because the record was changed is not called an edit by hand', {
  tags: ['full'],
}, async () => {
  await using opened = await open()
  later()
  const record = {
    identityId: 'E0003',
    email: e3,
    firstName: 'Person 3',
    startedAt: '2018-05-01T00:00:00.000Z',
    isContractor: false,
  }
  await opened.client.upsertHrisUserIdentities({
    params: { connectionId: await opened.connectionId() },
    body: [record],
  })
  await opened.sync()

  await opened.compare()

  expect(await opened.findings()).toMatchObject([
    {
      subject: 'E0003',
      cause: 'overwritten',
      canReset: false,
      evidence: { note: 'record_differs', dates: [{ field: 'startedAt', shown: '2018-05-01T00:00:00.000Z' }] },
    },
  ])
})

test('a comparison that another process has overtaken is dropped', async () => {
  await using opened = await open()
  const { world, storeDb } = opened
  await opened.edit(e3, { employmentStatus: 'CURRENT_CONTRACTOR' })
  await opened.compare()
  const compared = world.sync.platform.baseUrl
  let number = 0
  between(world, (client) => ({
    searchPersonnel: async (...input) => {
      const answer = await client.searchPersonnel(...input)
      // Half an hour passes, and another process claims the comparison.
      const now = new Date(world.clock.now.getTime() + 30 * 60_000)
      if (number === 0) number = (await claimComparison(storeDb, { compared, always: true, now }))?.number ?? 0
      await sql`delete from platform.personnel where employment_status = 'CURRENT_CONTRACTOR'`.execute(opened.db)
      return answer
    },
  }))

  const result = await opened.compare()

  expect(result).toBeNull()
  const mine = await claimComparison(storeDb, { compared, always: true, now: world.clock.now })
  expect(mine).toBeNull()
  await endComparison(storeDb, { compared, number, nextAt: new Date(0), failure: 'mine' })
  expect(await findComparison(storeDb, compared)).toMatchObject({ failure: 'mine' })
})

test('a text with half a character or NUL is stored without it', { tags: ['full'] }, async () => {
  await using opened = await open()
  await opened.edit(e3, { employmentStatus: 'OUT_OF_SCOPE', notHumanReason: 'a robot' })
  between(opened.world, (client) => ({
    searchPersonnel: async (...input) => {
      const answer = await client.searchPersonnel(...input)
      if (answer.status !== 200) return answer
      const data = answer.body.data.map((one) =>
        one.notHumanReason === null ? one : { ...one, notHumanReason: `a robot \0 ${'x'.repeat(5000)}\ud83d` },
      )
      return { ...answer, body: { ...answer.body, data } }
    },
  }))

  await opened.compare()

  expect(await opened.causes()).toEqual(['E0003 out_of_scope'])
  expect((await opened.findings())[0]?.evidence.values?.reason).toMatch(/^a robot \uFFFD x{900,1000}$/)
})

test('who shares an e-mail is found without names, unless they left before the other came', async () => {
  const leaver = {
    id: 'L1',
    email: e3,
    title: 'Engineer',
    start: '2021-01-04',
    leavingDate: '2022-01-03',
    status: 'Active',
  }
  const former = {
    id: 'L2',
    email: 'e4@acme.example',
    title: 'Engineer',
    start: '2015-01-05',
    leavingDate: '2016-01-04',
    status: 'Active',
  }
  await using opened = await open([...people, leaver, former], withoutName)

  await opened.compare()

  expect(await opened.causes()).toEqual(['L1 matched_to_other'])
})

test('whom only an identity provider states is not stated by nobody', async () => {
  await using opened = await open()
  await addPerson(opened, { email: 'okta@acme.example', first: 'Freelancer' })
  between(opened.world, (client) => ({
    searchPersonnel: async (...input) => {
      const answer = await client.searchPersonnel(...input)
      if (answer.status !== 200) return answer
      const data = answer.body.data.map((one) =>
        one.user?.email === 'okta@acme.example' ? { ...one, idpConnectionId: 7 } : one,
      )
      return { ...answer, body: { ...answer.body, data } }
    },
  }))

  await opened.compare()

  expect(await opened.causes()).toEqual([])
})

test('nobody is read if there is no connection of people on the platform', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world } = opened
  const sync = { ...world.sync, connections: new Map() }
  let pages = 0
  between(world, (client) => ({
    searchPersonnel: async (...input) => {
      pages++
      return await client.searchPersonnel(...input)
    },
  }))

  const result = await compareEffective({ ...sync, platform: world.sync.platform }, { always: true, signal })

  expect([result?.failure, pages]).toEqual([null, 0])
})

test('a page that fails twice is read the third time, and a 429 pauses everybody', { tags: ['full'] }, async () => {
  await using opened = await open()
  const { world } = opened
  const answers = [
    broken,
    { status: 429, headers: { 'retry-after': '1' }, error: { statusCode: 429, message: 'no', code: 1 } } as never,
  ]
  const paused: number[] = []
  between(world, (client: PlatformClient) => ({
    searchPersonnel: async (...input) => answers.shift() ?? (await client.searchPersonnel(...input)),
  }))
  const { rateLimiter } = world.sync.platform
  const lowPriority = { ...rateLimiter.lowPriority, pause: async (delayMs: number) => void paused.push(delayMs) }
  const platform = { ...world.sync.platform, rateLimiter: { ...rateLimiter, lowPriority } }
  world.clock.now = platformNow()

  const result = await compareEffective({ ...world.sync, platform }, { always: true, signal })

  expect(result).toMatchObject({ failure: null, findings: 0 })
  expect(paused).toHaveLength(1)
})

test('changed records, look-ups and events together take at most 45 requests more', async () => {
  await using opened = await open()
  await opened.edit(e3, { employmentStatus: 'CURRENT_CONTRACTOR' })
  let extra = 0
  between(opened.world, (client) => ({
    listHrisUserIdentities: async (input, ...rest) => {
      extra++
      const { cursor: _cursor, ...query } = input.query ?? {}
      const answer = await client.listHrisUserIdentities({ ...input, query }, ...rest)
      if (answer.status !== 200) return answer
      const [one] = answer.body.data
      const updatedAt = '2999-01-01T00:00:00.000Z'
      const data = Array.from({ length: 500 }, (_, n) => ({
        ...(one as NonNullable<typeof one>),
        identityId: `X${n}`,
        updatedAt,
      }))
      return { ...answer, body: { data, pagination: { cursor: `c${extra}` } } } as typeof answer
    },
  }))

  await opened.compare()

  expect(extra).toBe(20)
})

test('the end of this process is no failure of a comparison', { tags: ['full'] }, async () => {
  await using opened = await open()
  const stopping = new AbortController()
  between(opened.world, (client) => ({
    searchPersonnel: async (...input) => {
      stopping.abort()
      return await client.searchPersonnel(...input)
    },
  }))

  await opened.compare({ signal: stopping.signal })

  expect(await findComparison(opened.storeDb, opened.world.sync.platform.baseUrl)).toMatchObject({ failure: null })
})

test.each(
  firstOf(1, [
    ['with findings', ['acme', 'globex']],
    ['of which one has no finding', ['globex']],
  ]),
)('a reset of a key that is of several connections, %s, asks which one is meant', async (_which, names) => {
  await using opened = await open()
  const { sync } = opened.world
  const [acme] = sync.connections.values()
  const finding = { identityId: 'E0003', personId: 3, canReset: true, cause: 'set_by_hand', evidence: {} } as const
  const findings = names.map((connection) => ({ ...finding, connection }))
  await storeFindings(opened.storeDb, findings, { comparison: 1, at: new Date() })
  const connections = new Map([...sync.connections, ['globex', acme as NonNullable<typeof acme>]])

  const reset = fixEffective({ ...sync, connections }, { keys: ['E0003'], reason: 'x', by: 'ana', signal })

  await expect(reset).rejects.toThrow('E0003 is a key of several connections: acme, globex')
})

test('nothing is found in a healthy company with leavers, future hires, namesakes, rehires and people without names', async () => {
  const common = { title: 'Engineer', start: '2019-01-07', status: 'Active' }
  await using opened = await open([
    ...people,
    { ...common, id: 'H1', email: 'h1@acme.example', first: 'Leaver', leavingDate: '2025-11-17' },
    { ...common, id: 'H2', email: 'h2@acme.example', first: 'Future', start: '2027-03-01' },
    { ...common, id: 'H3', email: 'h3@acme.example', first: 'Namesake' },
    { ...common, id: 'H4', email: 'h4@acme.example', first: 'Namesake' },
    { ...common, id: 'H5', email: 'h5@acme.example', first: 'Rehired', start: '2015-01-05', leavingDate: '2016-01-04' },
    { ...common, id: 'H6', email: 'h5@acme.example', first: 'Rehired', start: '2020-01-06' },
    { ...common, id: 'H7', email: 'h7@acme.example' },
  ])

  await opened.compare()

  expect(await opened.causes()).toEqual([])
  expect(await opened.coverage()).toMatchObject({ people: 20, effective: 20 })
})
