import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { personView } from '../../../src/daemon/control/views.ts'
import { auditKey, newKeyPem, Signing } from '../../../src/store/audit/key.ts'
import { personOf } from '../../../src/store/history/history.ts'
import { kept } from '../../../src/store/retention/kept.ts'
import { rosterEntry } from '../../../src/store/roster/roster.ts'
import { cancelRun, planOnly, requestRevert, requestRun } from '../../../src/sync/sync.ts'
import { createDice } from '../../helpers/dice.ts'
import { later, receive, updated, webhookFeed } from '../../helpers/events.ts'
import {
  between,
  change,
  type Host,
  type HrPerson,
  openWorld,
  peopleOn,
  staff,
  startHost,
  type World,
  without,
} from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** What stands in every value of every person, as text and as bytes. */
const value = new RegExp(`canary|${Buffer.from('anary').toString('hex')}|2019-03-`, 'i')
const startOf = (at: number) => `2019-03-${String((at % 28) + 1).padStart(2, '0')}`

function people(count = 6): HrPerson[] {
  return staff(count).map((person, at) => ({
    ...person,
    email: `canary${at}@acme.example`,
    first: `Canary ${at}`,
    title: 'Canary keeper',
    start: startOf(at),
  }))
}

function newKey() {
  return auditKey(newKeyPem(), 'a test')
}

async function open({ keepValues = false, events = false } = {}) {
  const { client } = await host.tenant()
  const signing = new Signing(newKey())
  const connection = { keepValues }
  const world = await openWorld({ client, signing, connection, ...(events && { webhook: webhookFeed() }) })
  return Object.assign(world, { client, signing })
}

const refusal = {
  status: 400,
  error: { message: 'Canary 3 will not do', code: null, name: null },
  headers: {},
} as const

/** The time of an export, so many minutes after two o'clock. */
function at(minutes: number): { asOf: string } {
  return { asOf: new Date(Date.parse('2026-11-20T02:00:00.000Z') + minutes * 60_000).toISOString() }
}

/** The tables in which values of people stand. */
async function whereValues({ sync: { store } }: World): Promise<string[]> {
  const found = await Promise.all(
    Object.keys(kept).map(async (table) => {
      const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.table(table)} t`.execute(store.db)
      return rows.some(({ row }) => value.test(row)) ? [table] : []
    }),
  )
  return found.flat()
}

async function acts({ sync: { store } }: World): Promise<string[]> {
  const rows = await store.db.selectFrom('audit_pending').select('entry').orderBy('id').execute()
  return rows.map(({ entry }) => JSON.parse(entry).act)
}

/** How the platform names a person of the world's connection. */
async function placeOn({ sync: { store } }: World) {
  const { target_id } = await store.db.selectFrom('connections').select('target_id').executeTakeFirstOrThrow()
  return (key: string) => ({ connectionId: Number(target_id), userIdentityId: `identity-id:${key}` as const })
}

/** What the platform is asked to change, record by record. */
function requestsOf(world: World): { identityId: string }[] {
  const sent: { identityId: string }[] = []
  between(world, (client) => ({
    upsertHrisUserIdentities(input, options) {
      sent.push(...(input.body as { identityId: string }[]))
      return client.upsertHrisUserIdentities(input, options)
    },
    updateHrisUserIdentity(input, options) {
      sent.push({ ...input.body, identityId: String(input.params.userIdentityId).slice('identity-id:'.length) })
      return client.updateHrisUserIdentity(input, options)
    },
  }))
  return sent
}

describe('a connection that keeps no values', () => {
  test('keeps none once the platform has acknowledged them, and shows that', async () => {
    await using world = await open()

    const run = await world.night(people())

    expect(run.state).toBe('finished')
    expect(await whereValues(world)).toEqual([])
    expect((await peopleOn(world.client)).get('E0003')).toMatchObject({ firstName: 'Canary 2' })
    const who = { connection: 'acme', identityId: 'E0003' }
    const person = await personOf(world.sync.store.db, who)
    expect(person && personView(who, person, { values: true })).toMatchObject({
      wanted: { identityId: 'E0003', firstName: { gone: true }, separatedAt: null },
      due: [],
      changes: [{ kind: 'join', fields: { email: { gone: true } } }],
    })
  })

  test('sends nothing for people who stay as they are, and what changes of others', async () => {
    await using world = await open()
    await world.night(people())

    const same = await world.night(people(), at(0))
    const other = change(people(), { id: 'E0002', title: 'Canary chief' })
    const changed = await world.night(other, at(10))
    const left = await world.night(without(other, 'E0003'), at(20))
    const back = await world.night(other, at(30))

    expect(same).toMatchObject({ state: 'unchanged', counts: { unchanged: 6 } })
    expect(changed).toMatchObject({ state: 'finished', counts: { update: 1, unchanged: 5 } })
    expect(left).toMatchObject({ state: 'finished', counts: { leave: 1 } })
    expect(back).toMatchObject({ state: 'finished', counts: { return: 1 } })
    expect(await whereValues(world)).toEqual([])
    const held = await peopleOn(world.client)
    expect(held.get('E0002')).toMatchObject({ jobTitle: 'Canary chief', firstName: 'Canary 1' })
    expect(held.get('E0003')).toMatchObject({ firstName: 'Canary 2', separatedAt: null })
  })

  test('says of a change from what it is not known, and of a column that moves that it is not known how', async () => {
    await using world = await open()
    await world.night(people(25))
    const others = people(25).map((person, place) => ({ ...person, title: `Canary ${24 - place}` }))
    world.hrSays(others, at(0).asOf)

    const plan = await planOnly(world.sync, 'acme', AbortSignal.timeout(60_000))
    const run = await world.night(others, at(0))

    expect(plan.changes).toHaveLength(25)
    expect(plan.changes[0]?.change).toMatchObject({ fields: { jobTitle: { to: 'Canary 24' } } })
    expect(JSON.stringify(plan.changes[0]?.change)).not.toContain('keeper')
    expect(run.state).toBe('held')
    expect(run.guards?.find(({ name }) => name === 'fieldChanges')).toMatchObject({
      ok: false,
      hints: ['jobTitle: of 25 of 25 it is not known how they move, as values are not kept'],
    })
    // What waits for a person is kept until it is decided.
    expect(await whereValues(world)).toEqual(expect.arrayContaining(['changes', 'plan_entries']))
    await cancelRun(world.sync, { runId: run.id, by: 'Ada' })
    await world.minute()
    expect(await whereValues(world)).toEqual([])
  })

  test('knows a person again under another key', async () => {
    await using world = await open()
    await world.night(people())
    const { email = '' } = people()[2] ?? {}

    const run = await world.night([...without(people(), 'E0003'), { ...staff(1)[0], id: 'N0003', email }], at(0))

    expect(run.state).toBe('held')
    expect(run.guards?.find(({ name }) => name === 'rekeyed')).toMatchObject({ ok: false, actual: 1 })
  })

  test('keeps what the platform refuses until it takes it', async () => {
    await using world = await open()
    const { client } = world
    let refuses = true
    between(world, (real) => ({
      async upsertHrisUserIdentities(input, options) {
        const isGuilty = refuses && JSON.stringify(input.body).includes('E0004')
        return isGuilty ? refusal : await real.upsertHrisUserIdentities(input, options)
      },
    }))

    const refused = await world.night(people())
    const rows = await sql<{ identity_id: string }>`
      select identity_id from roster where wanted ->> 'firstName' like 'Canary%'`.execute(world.sync.store.db)
    const keptThen = await whereValues(world)
    refuses = false
    const retried = await requestRun(world.sync, { connection: 'acme', feed: 'roster', trigger: 'operator' })
    await world.drain()

    expect(refused.state).toBe('finished_with_problems')
    expect(rows.rows).toEqual([{ identity_id: 'E0004' }])
    expect(keptThen).toEqual(['roster', 'problems'])
    expect(await world.runOf(retried.id)).toMatchObject({ state: 'finished' })
    expect((await peopleOn(client)).get('E0004')).toMatchObject({
      firstName: 'Canary 3',
      email: 'canary3@acme.example',
    })
    expect(await whereValues(world)).toEqual([])
  })

  test('makes digests later of what was acknowledged before the process died', async () => {
    await using world = await open()
    const { signing } = world
    const { key } = signing
    between(world, (client) => ({
      upsertHrisUserIdentities(input, options) {
        // What follows the answer finds nothing to make digests with.
        signing.key = null
        return client.upsertHrisUserIdentities(input, options)
      },
    }))
    await world.night(people())
    const before = await whereValues(world)

    signing.key = key
    await world.minute()

    expect(before).toEqual(['roster', 'changes'])
    expect(await whereValues(world)).toEqual([])
  })

  test('blanks nothing where an event holds some fields only', async () => {
    await using world = await open({ events: true })
    await world.night(people())
    const sent = requestsOf(world)

    await receive(world, updated('E0002', 'Canary chief', '2026-11-20T02:59:00.000Z'))
    await later(world, 60)

    expect(sent).toEqual([{ identityId: 'E0002', jobTitle: 'Canary chief', separatedAt: null }])
    expect((await peopleOn(world.client)).get('E0002')).toMatchObject({
      ...{ firstName: 'Canary 1', email: 'canary1@acme.example', jobTitle: 'Canary chief' },
      startedAt: `${startOf(1)}T00:00:00.000Z`,
    })
    expect(await whereValues(world)).toEqual([])
  })
})

describe('what somebody else does on the platform', () => {
  test('is found by digests, and mended with what the next export says', async () => {
    await using world = await open()
    const { client } = world
    await world.night(people())
    const place = await placeOn(world)
    await client.updateHrisUserIdentity({ params: place('E0001'), body: { firstName: 'Somebody' } })
    await client.deleteHrisUserIdentity({ params: place('E0002') })

    const run = await world.night(people(), { ...at(0), verify: true })

    expect(run).toMatchObject({ state: 'finished', verification: { lost: 1, changed: 1, listed: 5 } })
    const held = await peopleOn(client)
    expect(held.get('E0001')).toMatchObject({ firstName: 'Canary 0' })
    expect(held.get('E0002')).toMatchObject({ firstName: 'Canary 1', jobTitle: 'Canary keeper', separatedAt: null })
    expect(await whereValues(world)).toEqual([])
  })

  test('keeps a departure from nobody who is missing there and in the export', async () => {
    await using world = await open()
    const { client } = world
    await world.night(people())
    const place = await placeOn(world)
    await client.deleteHrisUserIdentity({ params: place('E0002') })

    const left = await world.night(without(people(), 'E0002'), at(0))
    const there = (await peopleOn(client)).get('E0002')
    const back = await world.night(people(), at(10))

    expect(left).toMatchObject({ state: 'finished', counts: { leave: 1 } })
    expect(there).toMatchObject({ separatedAt: '2026-11-20T00:00:00.000Z' })
    expect(back).toMatchObject({ state: 'finished', counts: { return: 1 } })
    expect((await peopleOn(client)).get('E0002')).toMatchObject({ firstName: 'Canary 1', separatedAt: null })
  })
})

test('a leaver is sent to another place with key and date alone, and with all values once they are back', async () => {
  await using world = await open()
  const { client } = world
  await world.night(people())
  await world.night(without(people(), 'E0002'), at(0))
  Object.assign(world.connection, { target: { name: 'Acme HRIS, moved' } })

  await world.night(without(people(), 'E0002'), at(10))
  const moved = await world.sync.store.db.selectFrom('connections').select('target_id').executeTakeFirstOrThrow()
  const peopleThere = async () => {
    const params = { connectionId: Number(moved.target_id) }
    const answer = await client.listHrisUserIdentities({ params, query: { size: 100 } })
    return new Map(answer.status === 200 ? answer.body.data.map((person) => [person.identityId, person]) : [])
  }
  const there = await peopleThere()
  const back = await world.night(people(), at(20))

  expect(there.get('E0002')).toMatchObject({ firstName: null, separatedAt: '2026-11-20T00:00:00.000Z' })
  expect(there.get('E0001')).toMatchObject({ firstName: 'Canary 0', separatedAt: null })
  expect(back.state).toBe('finished')
  expect((await peopleThere()).get('E0002')).toMatchObject({ firstName: 'Canary 1', separatedAt: null })
})

test('what the platform has lost waits for a source that states it, and a warning says so', async () => {
  await using world = await open()
  const { client } = world
  await world.night(people())
  const place = await placeOn(world)
  await client.deleteHrisUserIdentity({ params: place('E0002') })
  await client.updateHrisUserIdentity({ params: place('E0003'), body: { firstName: 'Somebody' } })
  const sent = requestsOf(world)

  const options = { verify: true }
  const found = await requestRun(world.sync, { connection: 'acme', feed: 'roster', trigger: 'operator', options })
  await world.drain()
  const sentThen = [...sent]
  const mended = await world.night(people(), at(0))

  expect(await world.runOf(found.id)).toMatchObject({
    state: 'unchanged',
    verification: { lost: 1, changed: 1 },
    warnings: [expect.stringContaining('the platform lacks something of 2 people that cannot be sent')],
  })
  expect(sentThen).toEqual([])
  expect(mended).toMatchObject({ state: 'finished', counts: { join: 1, update: 1 } })
  const held = await peopleOn(client)
  expect(held.get('E0002')).toMatchObject({ firstName: 'Canary 1', jobTitle: 'Canary keeper' })
  expect(held.get('E0003')).toMatchObject({ firstName: 'Canary 2' })
})

describe('the key of the installation', () => {
  test('may be another one than before: nobody is taken for changed', async () => {
    await using world = await open()
    await world.night(people(30))
    const before = await rosterEntry(world.sync.store.db, { connection: 'acme', identityId: 'E0007' })
    const sent = requestsOf(world)
    world.signing.key = newKey()
    world.hrSays(people(30), at(0).asOf)
    await expect(planOnly(world.sync, 'acme', AbortSignal.timeout(60_000))).rejects.toThrow('made with another key')

    const others = change(people(30), { id: 'E0007', title: 'Canary chief' })
    const run = await world.night(others, at(0))

    expect(run).toMatchObject({ state: 'finished', counts: { update: 1, unchanged: 29 } })
    expect(sent.map(({ identityId }) => identityId)).toEqual(['E0007'])
    const after = await rosterEntry(world.sync.store.db, { connection: 'acme', identityId: 'E0007' })
    expect(after?.wanted?.firstName).not.toBe(before?.wanted?.firstName)
    expect(await acts(world)).toContain('digests.renewed')
    expect(await whereValues(world)).toEqual([])
  })

  test('may be missing: what would be compared fails with what helps, and a day that comes is sent all the same', async () => {
    await using world = await open()
    await world.night(change(people(), { id: 'E0002', left: '2026-11-21' }))
    world.signing.key = null

    const run = await world.night(people(), at(0))
    world.clock.now = new Date('2026-11-21T00:10:00.000Z')
    const due = await requestRun(world.sync, { connection: 'acme', feed: 'roster', trigger: 'schedule' })
    await world.drain()

    expect(run).toMatchObject({ state: 'failed', failure: 'config_invalid' })
    expect(run.reason).toContain('rollcall audit new-key')
    expect(await world.runOf(due.id)).toMatchObject({ state: 'finished' })
    expect((await peopleOn(world.client)).get('E0002')).toMatchObject({ separatedAt: '2026-11-21T00:00:00.000Z' })
  })
})

describe('the setting', () => {
  test('can be turned on and off, and nobody is taken for changed', async () => {
    await using world = await open({ keepValues: true })
    const set = (keepValues: boolean) => Object.assign(world.connection, { keepValues })
    await world.night(people())
    const before = await whereValues(world)

    set(false)
    await world.minute()
    const without = await whereValues(world)
    const on = await world.night(people(), at(0))
    set(true)
    const off = await world.night(people(), at(10))
    const again = await whereValues(world)
    set(false)
    const last = await world.night(people(), at(20))

    expect([before, without, again]).toEqual([['roster', 'changes'], [], ['roster']])
    for (const run of [on, off, last]) expect(run).toMatchObject({ state: 'unchanged', counts: { unchanged: 6 } })
    expect(await whereValues(world)).toEqual([])
    expect((await acts(world)).filter((act) => act.startsWith('values.'))).toEqual([
      ...['values.not_kept', 'values.digested', 'values.kept', 'values.not_kept', 'values.digested'],
    ])
  })
})

test('of a run, departures can be taken back, and values that are not kept cannot', async () => {
  await using world = await open()
  await world.night(people())
  const run = await world.night(change(without(people(), 'E0002'), { id: 'E0003', title: 'Canary chief' }), at(0))
  const revert = {
    connection: 'acme',
    runId: run.id,
    reason: 'HR was wrong',
    by: 'Ada',
    signal: AbortSignal.timeout(60_000),
  }

  const { id } = await requestRevert(world.sync, revert)
  await world.drain()

  expect(await world.runOf(id)).toMatchObject({ state: 'finished', counts: { return: 1, update: 0 } })
  const { account } = await world.sync.store.db
    .selectFrom('run_accounts')
    .select('account')
    .where('run_id', '=', id)
    .executeTakeFirstOrThrow()
  expect(account.revert?.left.people).toEqual([
    { identityId: 'E0003', reason: 'their former values are not kept (jobTitle)' },
  ])
  expect((await peopleOn(world.client)).get('E0002')).toMatchObject({ separatedAt: null, firstName: 'Canary 1' })
})

describe('the same nights with values and without', () => {
  /** A company over some nights: people join, change, leave in three ways, and come back. */
  function nights(seed: number): HrPerson[][] {
    const dice = createDice(`digests ${seed}`)
    let company = people(10)
    return Array.from({ length: 6 }, (_, night) => {
      company = company.flatMap((person): HrPerson[] => {
        const title = `Canary ${dice.integer(1, 3)}`
        if (dice.chance(0.15)) return [{ ...person, title }]
        if (dice.chance(0.1)) return [{ ...person, left: `2026-11-${dice.integer(17, 24)}` }]
        if (dice.chance(0.05)) return [{ ...person, left: '', status: 'Active' }]
        if (dice.chance(0.05)) return [{ ...person, status: 'Inactive' }]
        if (dice.chance(0.05)) return [{ ...person, first: '' }]
        return dice.chance(0.1) ? [] : [person]
      })
      if (dice.chance(0.3))
        company = [...company, ...people(10).filter(({ id }) => !company.some((one) => one.id === id))]
      return dice.chance(0.5)
        ? company
        : [...company, { id: `J${night}`, email: `canary.j${night}@acme.example`, start: startOf(night) }]
    })
  }

  test.each([1, 2, 3])('send the same, and the platform ends the same (%i)', async (seed) => {
    const told = await Promise.all(
      [true, false].map(async (keepValues) => {
        await using world = await open({ keepValues })
        const sent = requestsOf(world)
        const steps = []
        for (const [night, company] of nights(seed).entries()) {
          world.clock.now = new Date(Date.parse('2026-11-20T03:00:00.000Z') + night * 24 * 60 * 60_000)
          const { state, counts } = await world.night(company, at(night * 24 * 60))
          if (!keepValues && state !== 'held') expect(await whereValues(world)).toEqual([])
          const held = [...(await peopleOn(world.client)).values()]
          const list = held.map(({ id: _, createdAt: __, updatedAt: ___, ...person }) => person)
          steps.push({ state, counts, list, requests: sent.splice(0) })
        }
        return steps
      }),
    )

    const [withValues = [], without = []] = told
    for (const [night, { requests, ...step }] of without.entries()) {
      const { requests: whole = [], ...expected } = withValues[night] ?? {}
      expect(step).toEqual(expected)
      expect(requests.map(({ identityId }) => identityId)).toEqual(whole.map(({ identityId }) => identityId))
      // Of people who are missing from the export, only what changes is sent.
      for (const [place, request] of requests.entries()) expect(whole[place]).toMatchObject(request)
    }
  })
})
