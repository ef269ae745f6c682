import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { personnel } from '../../../src/contract/platform/personnel.ts'
import { createClient } from '../../../src/http/client/client.ts'
import type { EffectiveCause } from '../../../src/identity/effective/cause.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { databaseOperator } from '../../../src/platform/operators/operator.ts'
import { findConditions } from '../../../src/store/alerts/conditions.ts'
import { claimComparison, endComparison, listCoverage } from '../../../src/store/effective/comparisons.ts'
import { listFindings } from '../../../src/store/effective/findings.ts'
import { compareEffective, fixEffective } from '../../../src/sync/sync.ts'
import { isFull } from '../../helpers/tier.ts'
import { between, change, type Host, openWorld, staff, startHost } from '../../helpers/world.ts'

let passedMs = 0
/** The index of the search may be five seconds old. */
const later = () => {
  passedMs += 6000
}
const platformNow = () => new Date(Date.now() + passedMs)
let host: Host
beforeAll(async () => {
  host = await startHost(undefined, { now: platformNow })
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
const signal = new AbortController().signal
const people = staff(30)

/** A company whom the platform shows as HR states them. */
async function open(company = people) {
  const { name, key, client } = await host.tenant()
  const world = await openWorld({ client, feed: { mapping } })
  const { db } = host.platform.database
  const operator = databaseOperator(db, platformNow)
  const editor = createClient(personnel, { baseUrl: host.platform.baseUrl, bearer: key })
  const ofAccount = sql`account_id = (select id from platform.accounts where name = ${name})`
  await world.night(company)
  later()
  await operator.syncIdentities({ body: { account: name } })
  const compare = async (options = {}) => {
    later()
    // The daemon and the platform have one clock here.
    world.clock.now = new Date(Date.now() + passedMs)
    return await compareEffective(world.sync, { always: true, signal, ...options })
  }
  return {
    world,
    client,
    compare,
    db,
    ofAccount,
    account: name,
    sync: () => {
      later()
      return operator.syncIdentities({ body: { account: name } })
    },
    edit: async (email: string, body: Parameters<typeof editor.updatePersonnel>[0]['body']) => {
      later()
      const answer = await editor.updatePersonnel({ params: { personnelId: `email:${email}` }, body })
      expect(answer.status).toBe(200)
    },
    causes: async () =>
      (await listFindings(world.sync.store.db, { connections: ['acme'], limit: 100 })).map(
        ({ subject, cause }) => `${subject} ${cause}`,
      ),
    findings: () => listFindings(world.sync.store.db, { connections: ['acme'], limit: 100 }),
    async connectionId() {
      const answer = await client.listCustomConnections({ query: {} })
      if (answer.status !== 200) throw new Error('no list')
      return answer.body.data.find(({ clientAlias }) => clientAlias === 'Acme HRIS')?.id ?? 0
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}
type Opened = Awaited<ReturnType<typeof open>>

/** Somebody whom only the platform has, with a status set by hand. */
async function addPerson({ db, ofAccount }: Opened, { email, first }: { email: string; first: string }) {
  await sql`
    with added as (
      insert into platform.users (account_id, email, first_name, origin, created_at, updated_at)
      select id, ${email}, ${first}, 'operator', now(), now() from platform.accounts
      where id = (select account_id from platform.users where ${ofAccount} limit 1)
      returning id, account_id
    )
    insert into platform.personnel (account_id, user_id, employment_status, status_updated_at, created_at, updated_at)
    select account_id, id, 'CURRENT_EMPLOYEE', now(), now(), now() from added`.execute(db)
}

async function removePerson({ db, ofAccount }: Opened, email: string) {
  await sql`delete from platform.users where email = ${email} and ${ofAccount}`.execute(db)
}

/** Takes the record of a person from them, whose address is another one. */
async function unmatch({ db, ofAccount }: Opened, email: string) {
  await sql`
    with person as (
      update platform.users set email = 'other.' || email where email = ${email} and ${ofAccount} returning id
    ), unmatched as (delete from platform.identity_matches using person where user_id = person.id)
    update platform.personnel set employment_status = 'UNKNOWN' from person where user_id = person.id`.execute(db)
}

async function rematch({ db, ofAccount }: Opened, email: string) {
  await sql`update platform.users set email = ${email} where email = ${`other.${email}`} and ${ofAccount}`.execute(db)
}

async function rename({ db, ofAccount }: Opened, { email, first }: { email: string; first: string }) {
  await sql`update platform.users set first_name = ${first} where email = ${email} and ${ofAccount}`.execute(db)
}

/** Lets an identity provider state a person in place of the record, as one who has left. */
async function takeOver({ db, ofAccount }: Opened, email: string) {
  await sql`
    with person as (
      select personnel.id, personnel.account_id, users.id as user_id from platform.personnel
      join platform.users on users.id = user_id where email = ${email} and users.${ofAccount}
    ), unmatched as (delete from platform.identity_matches using person where identity_matches.user_id = person.user_id),
    provider as (
      insert into platform.identity_providers (account_id, client_type, name, created_at, updated_at)
      select account_id, 'OKTA_IDENTITY', 'Okta', now(), now() from person returning id, account_id
    ), own_group as (
      insert into platform.personnel_groups (account_id, provider_id, external_id, name, created_at, updated_at)
      select account_id, id, 'g1', 'Everyone', now(), now() from provider returning id
    ), member as (insert into platform.group_members select own_group.id, person.id from own_group, person)
    update platform.personnel set employment_status = 'FORMER_EMPLOYEE' from person where personnel.id = person.id`.execute(
    db,
  )
}

type Seed = {
  readonly cause: EffectiveCause
  readonly subject?: RegExp
  readonly evidence?: object
  readonly seed: (opened: Opened) => Promise<unknown>
  readonly mend: (opened: Opened) => Promise<unknown>
}
const reset = (opened: Opened) => {
  later()
  return fixEffective(opened.world.sync, { keys: ['E0003'], reason: 'by mistake', by: 'ana', signal })
}
const e3 = 'e3@acme.example'
const twins = (email: string) => [...people, { id: 'F1', email, first: 'Twin', start: '2019-01-07', status: 'Active' }]

const seeds: Readonly<Record<string, Seed>> = {
  'the identity record is missing': {
    cause: 'record_missing',
    seed: async ({ client, connectionId, sync }) => {
      const params = { connectionId: await connectionId(), userIdentityId: 'identity-id:E0003' as const }
      await client.deleteHrisUserIdentity({ params })
      await sync()
    },
    mend: async ({ world, sync }) => {
      await world.night(people, { verify: true })
      await sync()
    },
  },
  'the record matches no person, and one has the name': {
    cause: 'not_matched',
    evidence: { note: 'by_name', values: { emails: [`other.${e3}`] } },
    seed: (opened) => unmatch(opened, e3),
    mend: async (opened) => {
      await rematch(opened, e3)
      await opened.sync()
    },
  },
  'the record matches no person, and two have the name': {
    cause: 'not_matched',
    evidence: { note: 'several' },
    seed: async (opened) => {
      await unmatch(opened, e3)
      await addPerson(opened, { email: 'third@acme.example', first: 'Person 3' })
    },
    mend: async (opened) => {
      await removePerson(opened, 'third@acme.example')
      await rematch(opened, e3)
      await opened.sync()
    },
  },
  'the record matches no person, and nobody has the name': {
    cause: 'not_matched',
    evidence: { otherPeople: [], values: { emails: [] } },
    seed: async (opened) => {
      await unmatch(opened, e3)
      await rename(opened, { email: `other.${e3}`, first: 'Somebody' })
    },
    mend: async (opened) => {
      await rename(opened, { email: `other.${e3}`, first: 'Person 3' })
      await rematch(opened, e3)
      await opened.sync()
    },
  },
  'another key has the e-mail': {
    cause: 'matched_to_other',
    subject: /^F1$/,
    evidence: { otherKey: 'E0003' },
    seed: async ({ world, sync }) => {
      await world.night(twins('E3@acme.example'))
      await sync()
    },
    mend: async ({ world, sync }) => {
      await world.night(twins('twin@acme.example'))
      await sync()
    },
  },
  'a manual edit pauses the sync': {
    cause: 'sync_paused',
    evidence: { fields: ['employmentStatus'] },
    seed: ({ edit }) => edit(e3, { employmentStatus: 'CURRENT_EMPLOYEE' }),
    mend: async (opened) => {
      await reset(opened)
      await opened.sync()
    },
  },
  'a manual edit of the status and a date pauses the sync': {
    cause: 'sync_paused',
    evidence: { fields: ['employmentStatus', 'startedAt'], dates: [expect.objectContaining({ field: 'startedAt' })] },
    seed: ({ edit }) => edit(e3, { employmentStatus: 'CURRENT_EMPLOYEE', startedAt: '2019-05-01' }),
    mend: async (opened) => {
      await reset(opened)
      await opened.sync()
    },
  },
  'HR changed after the status was set by hand': {
    cause: 'sync_paused',
    evidence: { shown: 'CURRENT_EMPLOYEE', expected: 'FORMER_EMPLOYEE' },
    seed: async ({ edit, world, sync }) => {
      await edit(e3, { employmentStatus: 'CURRENT_EMPLOYEE' })
      later()
      await world.night(change(people, { id: 'E0003', leavingDate: '2025-11-19' }))
      await sync()
    },
    mend: async (opened) => {
      await reset(opened)
      await opened.sync()
    },
  },
  'the status was set by hand': {
    cause: 'set_by_hand',
    evidence: { fields: ['employmentStatus'], shown: 'CURRENT_CONTRACTOR' },
    seed: ({ edit }) => edit(e3, { employmentStatus: 'CURRENT_CONTRACTOR' }),
    mend: async (opened) => {
      await reset(opened)
      await opened.sync()
    },
  },
  'a date was set by hand': {
    cause: 'set_by_hand',
    evidence: { fields: ['startedAt'] },
    seed: ({ edit }) => edit(e3, { startedAt: '2019-05-01' }),
    mend: async (opened) => {
      await reset(opened)
      await opened.sync()
    },
  },
  'the person is out of scope': {
    cause: 'out_of_scope',
    evidence: { values: { reason: 'a shared mailbox' } },
    seed: ({ edit }) => edit(e3, { employmentStatus: 'OUT_OF_SCOPE', notHumanReason: 'a shared mailbox' }),
    mend: async (opened) => {
      await reset(opened)
      await opened.sync()
    },
  },
  'the person is a service account': {
    cause: 'out_of_scope',
    evidence: { shown: 'SERVICE_ACCOUNT', expected: 'CURRENT_EMPLOYEE' },
    seed: ({ edit }) => edit(e3, { employmentStatus: 'SERVICE_ACCOUNT' }),
    mend: async (opened) => {
      await reset(opened)
      await opened.sync()
    },
  },
  'another HRIS connection decides': {
    cause: 'overwritten',
    seed: async ({ client, sync }) => {
      const made = await client.createCustomConnection({ body: { name: 'Other HR', providerTypes: ['HRIS'] } })
      if (made.status !== 201) throw new Error('not created')
      const record = { identityId: 'x', email: e3, startedAt: '2025-01-01T00:00:00.000Z', isContractor: true }
      await client.upsertHrisUserIdentities({ params: { connectionId: made.body.id }, body: [record] })
      await sync()
    },
    mend: async ({ client, sync }) => {
      const all = await client.listCustomConnections({ query: {} })
      const id =
        all.status === 200 ? all.body.data.find(({ clientAlias }) => clientAlias === 'Other HR')?.id : undefined
      await client.deleteCustomConnection({ params: { connectionId: id ?? 0 } })
      await sync()
    },
  },
  'an identity provider decides': {
    cause: 'overwritten',
    evidence: { note: 'identity_provider', shown: 'FORMER_EMPLOYEE' },
    seed: (opened) => takeOver(opened, e3),
    mend: async ({ db, ofAccount, sync }) => {
      await sql`delete from platform.identity_providers where ${ofAccount}`.execute(db)
      await sync()
    },
  },
  'HR does not state the kind': {
    cause: 'kind_unknown',
    evidence: { shown: 'UNKNOWN' },
    seed: async ({ world, sync }) => {
      later()
      await world.night(change(people, { id: 'E0003', status: '' }))
      await sync()
    },
    mend: async ({ world, sync }) => {
      later()
      await world.night(people)
      await sync()
    },
  },
  'the person is former by mistake': {
    cause: 'former_by_mistake',
    seed: ({ edit }) => edit(e3, { employmentStatus: 'FORMER_EMPLOYEE' }),
    mend: async (opened) => {
      await reset(opened)
      await opened.sync()
    },
  },
  'the record was changed, and has a leaving date': {
    cause: 'former_by_mistake',
    evidence: { note: 'record_left', shown: 'FORMER_EMPLOYEE', expected: 'CURRENT_EMPLOYEE' },
    seed: async ({ client, connectionId, sync }) => {
      const params = { connectionId: await connectionId() }
      const record = { identityId: 'E0003', email: e3, isContractor: false, separatedAt: '2025-06-30T00:00:00.000Z' }
      const { status } = await client.upsertHrisUserIdentities({ params, body: [record] })
      expect(status).toBeLessThan(300)
      later()
      await sync()
    },
    mend: async ({ world, sync }) => {
      later()
      await world.night(people, { verify: true })
      await sync()
    },
  },
  'no identity sync has run since': {
    cause: 'not_synced',
    subject: /^F1$/,
    seed: ({ world }) => {
      later()
      return world.night(twins('twin@acme.example'))
    },
    mend: ({ sync }) => sync(),
  },
  'a key has two people': {
    cause: 'duplicate_person',
    seed: (opened) => addPerson(opened, { email: 'double@acme.example', first: 'Person 3' }),
    mend: (opened) => removePerson(opened, 'double@acme.example'),
  },
  'a key has two people, and its name is written otherwise': {
    cause: 'duplicate_person',
    subject: /^J1$/,
    seed: async (opened) => {
      const jorg = { id: 'J1', email: 'j1@acme.example', first: ' Jörg Łącki', start: '2019-01-07', status: 'Active' }
      await opened.world.night([...people, jorg])
      await opened.sync()
      await addPerson(opened, { email: 'double@acme.example', first: 'JÖRG ŁĄCKI'.normalize('NFD') })
    },
    mend: (opened) => removePerson(opened, 'double@acme.example'),
  },
  'no connection states a current person': {
    cause: 'stated_by_nobody',
    subject: /^person \d+$/,
    seed: (opened) => addPerson(opened, { email: 'ghost@acme.example', first: 'Nobody' }),
    mend: (opened) => removePerson(opened, 'ghost@acme.example'),
  },
}

/** Ways into a cause that another seed of it, or a test of the diagnosis alone, shows too. */
const furtherSeeds = [
  'the record matches no person, and two have the name',
  'the record matches no person, and nobody has the name',
  'a manual edit of the status and a date pauses the sync',
  'HR changed after the status was set by hand',
  'a date was set by hand',
  'the person is a service account',
  'an identity provider decides',
  'the record was changed, and has a leaving date',
  'a key has two people, and its name is written otherwise',
]

describe('everyone effective', () => {
  test.each(Object.entries(seeds).filter(([name]) => isFull || !furtherSeeds.includes(name)))(
    'names the cause: %s, and forgets it once it is mended',
    async (_name, each) => {
      const { cause, subject = /^E0003$/, evidence, seed, mend } = each
      await using opened = await open()
      await opened.compare()
      const before = await opened.causes()

      await seed(opened)
      await opened.compare()
      const findings = await opened.findings()
      await mend(opened)
      await opened.compare()

      expect(before).toEqual([])
      expect(findings).toMatchObject([{ cause, ...(evidence && { evidence }) }])
      expect(findings[0]?.subject).toMatch(subject)
      expect(await opened.causes()).toEqual([])
    },
  )
})

describe('a comparison', () => {
  const sizes = [
    { size: 300, pageSize: 70, tags: [] },
    { size: 5000, pageSize: 500, tags: ['full'] },
  ]
  for (const { size, pageSize, tags } of sizes) {
    test(`finds nothing in a healthy company of ${size}`, { tags }, async () => {
      await using opened = await open(staff(size))
      const result = await opened.compare({ pageSize })

      expect(await opened.findings()).toEqual([])
      expect(await listCoverage(opened.world.sync.store.db)).toMatchObject([{ people: size, effective: size }])
      // The page requests, the event of the newest sync and the target.
      expect(result?.requests).toBeLessThanOrEqual(Math.ceil(size / pageSize) + 2)
    })
  }

  test('that a page refuses keeps what was found before, and says so', async () => {
    await using opened = await open()
    await opened.edit(e3, { employmentStatus: 'CURRENT_CONTRACTOR' })
    await opened.compare()
    await reset(opened)
    await opened.sync()
    let pages = 0
    between(opened.world, (client) => ({
      searchPersonnel: async (...input) => {
        if (++pages < 2) return await client.searchPersonnel(...input)
        return { status: 403, headers: {}, error: { statusCode: 403, message: 'no', code: 1 } } as never
      },
    }))

    const result = await opened.compare({ pageSize: 10 })

    expect(result?.failure).toBe('permission_missing')
    expect(await opened.causes()).toEqual(['E0003 set_by_hand'])
  })

  test('names the others if the record of one person always fails', { tags: ['full'] }, async () => {
    await using opened = await open()
    await opened.edit(e3, { employmentStatus: 'CURRENT_CONTRACTOR' })
    await opened.edit('e4@acme.example', { employmentStatus: 'FORMER_EMPLOYEE' })
    between(opened.world, (client) => ({
      getHrisUserIdentity: async (...input) =>
        input[0].params.userIdentityId === 'identity-id:E0003'
          ? ({ status: 500, headers: {}, error: { statusCode: 500, message: 'broken', code: 1 } } as never)
          : await client.getHrisUserIdentity(...input),
    }))

    await opened.compare()

    expect(await opened.causes()).toEqual(['E0003 set_by_hand', 'E0004 former_by_mistake'])
  })

  test('keeps the time when a finding was first seen', { tags: ['full'] }, async () => {
    await using opened = await open()
    await opened.edit(e3, { employmentStatus: 'CURRENT_CONTRACTOR' })
    await opened.compare()
    const [first] = await opened.findings()

    await opened.compare()

    const [again] = await opened.findings()
    expect(again?.firstSeenAt).toEqual(first?.firstSeenAt)
    expect(again?.lastSeenAt.getTime()).toBeGreaterThan(first?.lastSeenAt.getTime() ?? 0)
  })

  test('waits for the next identity sync after a reset', async () => {
    await using opened = await open()
    await opened.edit(e3, { employmentStatus: 'OUT_OF_SCOPE', notHumanReason: 'a shared mailbox' })
    await opened.compare()
    await reset(opened)

    await opened.compare()

    expect(await opened.causes()).toEqual(['E0003 not_synced'])
  })

  test('follows an identity sync after a while, and is not repeated without one', async () => {
    await using opened = await open()
    await opened.compare()
    const due = async () => {
      passedMs += 20 * 60_000
      return await opened.compare({ always: false })
    }

    const without = await due()
    passedMs += 20 * 60_000
    await opened.sync()
    const early = await opened.compare({ always: false })
    const after = await due()

    expect([without, early]).toEqual([null, null])
    expect(after).toMatchObject({ findings: 0, failure: null })
  })

  test('resets nobody whom a reset does not help', async () => {
    await using opened = await open()
    await addPerson(opened, { email: 'ghost@acme.example', first: 'Nobody' })
    later()
    await opened.world.night(twins('twin@acme.example'))
    await opened.compare()

    const refused = (keys: string[]) => fixEffective(opened.world.sync, { keys, reason: 'x', by: 'ana', signal })
    await expect(refused(['F1'])).rejects.toThrow('does not help F1')
    await expect(refused(['E0001'])).rejects.toThrow('no finding about E0001')
  })
})

/** The alerts about comparisons this number of hours after a time. */
async function alertsAfter({ world }: Opened, at: number, hours: number) {
  const settings = { connections: ['acme', 'laptops'], maxNotEffective: 0, now: new Date(at + hours * 3600_000) }
  const others = { overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map() }
  const { current } = await findConditions(world.sync.store.db, { ...settings, ...others })
  return current.filter(({ kind }) => kind === 'not_effective')
}

test('a connection that has never run does not keep the others from being compared', { tags: ['full'] }, async () => {
  await using company = await open(staff(3))
  const { sync, connection } = company.world
  const unread = { ...connection, name: 'spain' }
  later()
  company.world.clock.now = new Date(Date.now() + passedMs)

  const compared = await compareEffective(
    { ...sync, connections: new Map([...sync.connections, ['spain', unread]]) },
    { always: true, signal },
  )

  expect(compared).toMatchObject({ findings: 0 })
})

test('an alert says that no comparison ever succeeded, and leaves records out', async () => {
  await using opened = await open(people)
  const { db } = opened.world.sync.store
  await db.insertInto('connections').values({ name: 'laptops', target_id: 9, target_resource: 1 }).execute()
  const compared = opened.world.sync.platform.baseUrl
  const at = Date.now()
  const { number = 0 } = (await claimComparison(db, { compared, always: true, now: new Date(at) })) ?? {}
  const nextAt = new Date(at + 40 * 3600_000)
  await endComparison(db, { compared, number, nextAt, failure: 'permission_missing' })

  expect(await alertsAfter(opened, at, 47)).toEqual([])
  expect(await alertsAfter(opened, at, 49)).toMatchObject([
    { connection: 'acme', code: 'not_compared', reason: expect.stringMatching(/^people were never compared/) },
  ])
})

test('an alert says that no comparison has ended for two days', { tags: ['full'] }, async () => {
  await using opened = await open(people)
  const { db } = opened.world.sync.store
  await compareEffective(opened.world.sync, { always: true, signal })
  const [coverage] = await listCoverage(db)
  const at = coverage?.at.getTime() ?? 0
  const codesAfter = async (hours: number) => (await alertsAfter(opened, at, hours)).map(({ code }) => code)
  // Nobody tries: there is no daemon.
  const untried = await codesAfter(49)
  const compared = opened.world.sync.platform.baseUrl
  const now = new Date(at + 40 * 3600_000)
  const { number = 0 } = (await claimComparison(db, { compared, always: true, now })) ?? {}
  await endComparison(db, { compared, number, nextAt: now, failure: 'permission_missing' })

  expect([untried, await codesAfter(47), await codesAfter(49)]).toEqual([[], [], ['not_compared']])
})
