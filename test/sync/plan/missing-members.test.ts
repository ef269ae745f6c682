import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { httpConnector } from '../../../src/connectors/http/open.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import { approveRun, requestRun } from '../../../src/sync/sync.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { type HttpSettings, httpSource, json, startHrServer } from '../../helpers/sources/hr-server.ts'
import { firstOf } from '../../helpers/tier.ts'
import { type Host, openWorld, peopleOn, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const fields = { identityId: 'id', email: 'email', jobTitle: { column: 'job.title', optional: true } }
const leaving = { column: 'end' }
const lastDay = '2026-11-18'

type Person = { readonly id: string; readonly email: string; readonly [member: string]: unknown }

function person(number: number, more: Readonly<Record<string, unknown>> = {}): Person {
  return { id: `E${number}`, email: `e${number}@acme.example`, job: { title: 'Engineer', level: 3 }, ...more }
}

/** Twelve people, with these as given. */
function staff(...changed: readonly Person[]): readonly Person[] {
  const byId = new Map(changed.map((one) => [one.id, one]))
  return Array.from({ length: 12 }, (_, at) => byId.get(`E${at + 1}`) ?? person(at + 1))
}

/** A list in pages of five people, read on one night after the other. */
async function openList(rules: Readonly<Record<string, unknown>> = {}, settings: HttpSettings = {}) {
  const stack = new AsyncDisposableStack()
  const list = { people: staff() }
  const server = stack.use(
    await startHrServer((request, response) => {
      const from = Number(new URL(request.url ?? '', 'http://hr').searchParams.get('from') ?? '0')
      const next = from + 5 < list.people.length ? `?from=${from + 5}` : null
      json({ people: list.people.slice(from, from + 5), next })(request, response)
    }),
  )
  const folder = stack.use(await temporaryFolder())
  const options = { baseDir: folder.path, spoolDir: folder.path, secret: () => null }
  const source = httpSource({ url: server.url, records: '/people', next: '/next', ...settings })
  const mapping = Mapping.parse({ fields: { ...fields, separatedAt: leaving, ...rules } })
  const { client } = await host.tenant()
  const feed = { connector: httpConnector(source, options), mapping }
  const world = stack.use(await openWorld({ client, feed }))

  async function night(people: readonly Person[]): Promise<Run> {
    list.people = people
    world.clock.now = new Date(world.clock.now.getTime() + 24 * 60 * 60_000)
    const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
    await world.drain()
    return await world.runOf(id)
  }
  async function approve(run: Run): Promise<Run> {
    await approveRun(world.sync, { runId: run.id, digest: run.digest ?? '', by: 'ops' })
    await world.drain()
    return await world.runOf(run.id)
  }
  const known = async (id: string) => (await peopleOn(client)).get(id)
  return { world, night, approve, known, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const failedGuards = ({ guards }: Run) => guards?.filter(({ ok }) => !ok)

describe('a missing member of a record in a snapshot', () => {
  test('withdraws a leaving date, once', async () => {
    await using list = await openList()
    await list.night(staff(person(3, { end: lastDay }), person(9, { end: lastDay })))
    const before = await list.known('E9')

    const run = await list.night(staff(person(3, { end: lastDay })))
    const again = await list.night(staff(person(3, { end: lastDay })))

    expect(before?.separatedAt).not.toBeNull()
    expect(run).toMatchObject({ state: 'finished', counts: { return: 1, leave: 0 } })
    expect((await list.known('E9'))?.separatedAt).toBeNull()
    expect((await list.known('E3'))?.separatedAt).not.toBeNull()
    expect(again.state).toBe('unchanged')
  })

  test.each(
    firstOf(1, [
      ['the member', { job: { level: 3 } }],
      ['the object that holds it', { job: undefined }],
      ['its value', { job: { title: null } }],
    ]),
  )('clears a field: %s', async (_which, more) => {
    await using list = await openList()
    await list.night(staff(person(3, { end: lastDay })))

    const run = await list.night(staff(person(3, { end: lastDay }), person(7, more)))

    expect(run).toMatchObject({ state: 'finished', counts: { update: 1 } })
    expect((await list.known('E7'))?.jobTitle).toBeNull()
  })

  test('says nothing if an object is in its place', async () => {
    await using list = await openList()
    await list.night(staff(person(3, { end: lastDay })))

    const run = await list.night(staff(person(3, { end: lastDay }), person(7, { job: { title: { en: 'Lead' } } })))

    expect(run.state).toBe('unchanged')
    expect((await list.known('E7'))?.jobTitle).toBe('Engineer')
  })

  test('says nothing if a list replaces the object that contains it', { tags: ['full'] }, async () => {
    await using list = await openList({ separatedAt: { column: 'job.end' } })
    const gone = person(9, { job: { title: 'Engineer', end: lastDay } })
    await list.night(staff(person(3, { job: { title: 'Engineer', end: lastDay } }), gone))

    const several = { job: [{ title: 'Engineer', end: lastDay }, { title: 'Lead' }] }
    const run = await list.night(staff(person(3, { job: { title: 'Engineer', end: lastDay } }), person(9, several)))

    expect(run.state).toBe('unchanged')
    expect((await list.known('E9'))?.separatedAt).not.toBeNull()
  })

  test.each<readonly [string, HttpSettings]>(
    firstOf(1, [
      ['with missing: keep', { missing: 'keep' }],
      ['in a delta', { mode: 'delta' }],
    ]),
  )('leaves what is known %s', async (_how, settings) => {
    await using list = await openList({}, settings)
    await list.night(staff(person(3, { end: lastDay }), person(9, { end: lastDay })))

    const run = await list.night(staff(person(3, { end: lastDay })))

    expect(run.state).toBe('unchanged')
    expect((await list.known('E9'))?.separatedAt).not.toBeNull()
  })

  test('is missing in an expression too, and the result is blank', { tags: ['full'] }, async () => {
    await using list = await openList({
      separatedAt: { expression: '$exists(end) ? $substring(end, 0, 10)' },
      jobTitle: { expression: '$exists(rank) ? "Chief" : "Engineer"' },
    })
    await list.night(staff(person(3, { end: `${lastDay}T00:00` }), person(9, { end: `${lastDay}T00:00` })))

    const run = await list.night(staff(person(3, { end: `${lastDay}T00:00` })))

    expect(run).toMatchObject({ state: 'finished', counts: { return: 1, update: 0 } })
    expect(await list.known('E9')).toMatchObject({ separatedAt: null, jobTitle: 'Engineer' })
  })
})

describe('a mapped member that no record of a snapshot has anymore', () => {
  test('holds the plan, which clears it for everybody after an approval', async () => {
    await using list = await openList()
    await list.night(staff(person(9, { end: lastDay })))

    const held = await list.night(staff())
    const before = await list.known('E9')
    const approved = await list.approve(held)
    const again = await list.night(staff())

    expect(held).toMatchObject({ state: 'held', counts: { return: 1 } })
    expect(failedGuards(held)).toMatchObject([
      { name: 'missingColumn', reason: expect.stringMatching(/^no record has "end" \(separatedAt\).*optional: true$/) },
    ])
    expect(before?.separatedAt).not.toBeNull()
    expect(approved.state).toBe('finished')
    expect((await list.known('E9'))?.separatedAt).toBeNull()
    expect(again.state).toBe('unchanged')
  })

  test('holds the plan if it is one of several members of a field, until an approval', { tags: ['full'] }, async () => {
    await using list = await openList({ separatedAt: { firstOf: ['end', 'job.until'] } })
    const employed = person(2, { job: { title: 'Engineer', until: '' } })
    await list.night(staff(employed, person(9, { end: lastDay })))

    const held = await list.night(staff(employed))
    const before = await list.known('E9')
    const approved = await list.approve(held)
    const again = await list.night(staff(employed))

    expect(held).toMatchObject({ state: 'held', counts: { return: 1 } })
    expect(failedGuards(held)).toMatchObject([
      { name: 'missingColumn', reason: expect.stringMatching(/^no record has "end" \(separatedAt\).*optional: true$/) },
    ])
    expect(before?.separatedAt).not.toBeNull()
    expect(approved.state).toBe('finished')
    expect((await list.known('E9'))?.separatedAt).toBeNull()
    expect(again.state).toBe('unchanged')
  })

  test('is blank if the mapping allows that it is missing', async () => {
    await using list = await openList({ separatedAt: { ...leaving, optional: true } })
    await list.night(staff())
    await list.night(staff(person(9, { end: lastDay })))
    const first = await list.night(staff())
    await list.night(staff(person(4, { end: lastDay })))

    const second = await list.night(staff())

    expect([first, second]).toMatchObject([
      { state: 'finished', counts: { return: 1 } },
      { state: 'finished', counts: { return: 1 } },
    ])
    expect((await list.known('E4'))?.separatedAt).toBeNull()
  })

  test('holds the plan if the fields of earlier exports are unknown', async () => {
    await using list = await openList()
    await list.night(staff(person(9, { end: lastDay })))
    await list.world.sync.store.db.updateTable('connections').set({ accepted_fields: null }).execute()

    const held = await list.night(staff())

    expect(held).toMatchObject({ state: 'held', counts: { return: 1 } })
  })

  test('holds the first plan, and suggests a similar member', { tags: ['full'] }, async () => {
    await using list = await openList()

    const held = await list.night(staff(person(9, { ende: lastDay })))
    await list.approve(held)
    const next = await list.night(staff(person(9, { ende: lastDay })))

    expect(failedGuards(held)).toMatchObject([
      { name: 'missingColumn', reason: expect.stringContaining('did you mean "ende"?') },
    ])
    expect(next.state).toBe('unchanged')
  })

  test('refuses a source without any member of an expression, unless it may be missing', {
    tags: ['full'],
  }, async () => {
    const expression = '$substring(end, 0, 10)'
    await using list = await openList({ separatedAt: { expression } })
    await using lenient = await openList({ separatedAt: { expression, optional: true } })
    await list.night(staff(person(9, { end: lastDay })))
    await lenient.night(staff(person(9, { end: lastDay })))

    const runs = [await list.night(staff()), await lenient.night(staff())]

    expect(runs).toMatchObject([
      { state: 'failed', reason: expect.stringContaining('reads the column "end", which no record has') },
      { state: 'finished', counts: { return: 1 } },
    ])
  })
})
