import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listProblems } from '../../src/store/deliveries/problems.ts'
import { personOf } from '../../src/store/history/history.ts'
import { approveRun, requestRun, restorePerson, retractPerson } from '../../src/sync/sync.ts'
import { databases } from '../helpers/servers/databases.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, without } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

describe.each(databases)('on $name', ({ createDatabase }) => {
  async function open() {
    const stack = new AsyncDisposableStack()
    const { at } = stack.use(await createDatabase())
    const { client } = await host.tenant()
    const world = stack.use(await openWorld({ at, client }))
    return { world, client, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  describe('promise 1: no leaver is lost', () => {
    test('the next sweep separates a leaver whose jobs were all lost', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      world.setExport(change(staff(20), { id: 'E0003', leavingDate: '2026-11-19' }), '2026-11-21T01:00:00.000Z')
      const run = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
      const job = world.jobs.shift()
      if (job) await world.workOn(job)
      world.jobs.length = 0

      await world.minute()

      expect((await world.runOf(run.id)).state).toBe('finished')
      expect((await peopleOn(client)).get('E0003')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
    })

    test('a refused leaver is in the list of problems with the reason', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      const refusing = refuseUpdates(world.sync.platform.client)
      const broken = { ...world.sync, platform: { ...world.sync.platform, client: refusing } }
      Object.assign(world.sync, broken)

      const run = await world.night(without(staff(20), 'E0004'), { asOf: '2026-11-21T01:00:00.000Z' })

      expect(run.state).toBe('finished_with_problems')
      expect(await listProblems(world.sync.store.db, { now: world.clock.now })).toMatchObject([
        { identityId: 'E0004', kind: 'leave', status: 400, message: 'not today' },
      ])
      expect((await peopleOn(client)).get('E0004')?.separatedAt).toBeNull()
    })

    test('a refused leaver passes with the next run, and the problem is gone', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(20))
      const sound = world.sync.platform
      Object.assign(world.sync, { platform: { ...sound, client: refuseUpdates(sound.client) } })
      await world.night(without(staff(20), 'E0004'), { asOf: '2026-11-21T01:00:00.000Z' })
      Object.assign(world.sync, { platform: sound })

      const run = await world.night(without(staff(20), 'E0004'), { asOf: '2026-11-22T01:00:00.000Z' })

      expect(run).toMatchObject({ state: 'finished', counts: { leave: 1 } })
      expect(await listProblems(world.sync.store.db, { now: world.clock.now })).toEqual([])
      expect((await peopleOn(client)).get('E0004')?.separatedAt).toBe('2026-11-21T00:00:00.000Z')
    })
  })

  describe('promise 2: no mass mistake', () => {
    test('an export that lacks half of the company sends nothing until exactly that plan is approved', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(40))

      const held = await world.night(staff(20), { asOf: '2026-11-21T01:00:00.000Z' })
      const before = await peopleOn(client)
      await expect(approveRun(world.sync, { runId: held.id, digest: 'sha256:another', by: 'ana' })).rejects.toThrow(
        /held with the plan/,
      )
      await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ana' })
      await world.drain()

      expect(held).toMatchObject({ state: 'held', counts: { leave: 20 } })
      expect(held.reason).toContain('20 of 40 people would be separated; the limit is 5')
      expect([...before.values()].filter(({ separatedAt }) => separatedAt)).toEqual([])
      expect(await world.runOf(held.id)).toMatchObject({ state: 'finished', decidedBy: 'ana', confirmed: 20 })
    })

    test('an approval is refused once a newer plan exists', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(40))
      const held = await world.night(staff(20), { asOf: '2026-11-21T01:00:00.000Z' })
      await world.night(staff(40), { asOf: '2026-11-22T01:00:00.000Z' })

      const approval = approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ana' })

      await expect(approval).rejects.toThrow(/superseded/)
      expect([...(await peopleOn(client)).values()].filter(({ separatedAt }) => separatedAt)).toEqual([])
    })

    test('an empty export is held', async () => {
      await using opened = await open()
      const { world } = opened
      await world.night(staff(10))

      const run = await world.night([], { asOf: '2026-11-21T01:00:00.000Z' })

      expect(run.state).toBe('held')
      expect(run.reason).toContain('the source holds no rows')
    })

    test('an export without a mapped column is held, and its rows do not count as absences', async () => {
      await using opened = await open()
      const { world } = opened
      await world.night(staff(10))
      world.source.headers = world.source.headers.map((header) => (header === 'Job Title' ? 'Function' : header))

      const run = await world.night(staff(10), { asOf: '2026-11-21T01:00:00.000Z' })

      expect(run).toMatchObject({ state: 'held', counts: { leave: 0 } })
      expect(run.reason).toContain('"Job Title"')
    })
  })

  describe('promise 3: absence never deletes', () => {
    test('an absent person is separated, and stays on the platform', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(10))

      const run = await world.night(without(staff(10), 'E0001'), { asOf: '2026-11-21T01:00:00.000Z' })

      expect(run.counts).toMatchObject({ leave: 1, retract: 0 })
      expect(run.sent.delete.requests).toBe(0)
      expect((await peopleOn(client)).size).toBe(10)
    })

    test('a retraction needs an explicit request with the person and the reason, and waits for an approval', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(10))

      const held = await retractPerson(world.sync, {
        connection: 'acme',
        identityId: 'E0002',
        reason: 'trial row',
        by: 'ana',
      })
      const before = (await peopleOn(client)).has('E0002')
      await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ben' })
      await world.drain()
      const after = (await peopleOn(client)).has('E0002')
      const next = await world.night(staff(10), { asOf: '2026-11-21T01:00:00.000Z' })

      expect(held.state).toBe('held')
      expect([before, after]).toEqual([true, false])
      expect(next.state).toBe('unchanged')
      expect(
        (await personOf(world.sync.store.db, { connection: 'acme', identityId: 'E0002' }))?.entry?.retracted?.reason,
      ).toBe('trial row')
    })
  })

  test('withdrawing a retraction brings the person back as HR states them', async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(staff(10))
    const held = await retractPerson(world.sync, {
      connection: 'acme',
      identityId: 'E0002',
      reason: 'trial row',
      by: 'ana',
    })
    await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ben' })
    await world.drain()

    const requested = await restorePerson(world.sync, { connection: 'acme', identityId: 'E0002', by: 'ana' })
    await world.drain()

    expect(await world.runOf(requested.id)).toMatchObject({ state: 'finished', options: { restore: { by: 'ana' } } })
    expect((await peopleOn(client)).get('E0002')?.jobTitle).toBe('Engineer')
  })

  test('a retraction that the platform refuses stays a problem, and the next run tries again', async () => {
    await using opened = await open()
    const { world, client } = opened
    await world.night(staff(10))
    const sound = world.sync.platform
    const refusal = async () => ({ status: 400 as const, error: { message: 'no', code: 1, name: null }, headers: {} })
    Object.assign(world.sync, { platform: { ...sound, client: { ...sound.client, deleteHrisUserIdentity: refusal } } })
    const held = await retractPerson(world.sync, {
      connection: 'acme',
      identityId: 'E0002',
      reason: 'trial row',
      by: 'ana',
    })
    await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ben' })
    await world.drain()
    await world.night(staff(10), { asOf: '2026-11-21T01:00:00.000Z' })
    const problems = await listProblems(world.sync.store.db, { now: world.clock.now })
    Object.assign(world.sync, { platform: sound })

    const run = await world.night(staff(10), { asOf: '2026-11-22T01:00:00.000Z' })

    expect(problems).toMatchObject([{ identityId: 'E0002', kind: 'retract', message: 'no', times: 2 }])
    expect(run).toMatchObject({ state: 'finished', counts: { retract: 1 } })
    expect((await peopleOn(client)).has('E0002')).toBe(false)
    expect(await listProblems(world.sync.store.db, { now: world.clock.now })).toEqual([])
  })

  describe('promise 4: saying the same thing twice sends nothing', () => {
    test('the second run on the same export makes no request', async () => {
      await using opened = await open()
      const { world } = opened
      const first = await world.night(change(staff(10), { id: 'E0005', status: 'Inactive' }))

      const second = await world.night(change(staff(10), { id: 'E0005', status: 'Inactive' }))

      expect(first).toMatchObject({ state: 'finished', confirmed: 10 })
      expect(second).toMatchObject({ state: 'unchanged', counts: { unchanged: 10 } })
      expect([second.sent.upsert.requests, second.sent.update.requests]).toEqual([0, 0])
    })
  })

  describe('promise 5: newer facts win', () => {
    test('an older export is held, and undoes nothing even if approved', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(10), { asOf: '2026-11-20T01:00:00.000Z' })
      await world.night(change(staff(10), { id: 'E0006', leavingDate: '2026-11-20' }), {
        asOf: '2026-11-21T01:00:00.000Z',
      })

      const older = await world.night(staff(10), { asOf: '2026-11-20T13:00:00.000Z' })
      await approveRun(world.sync, { runId: older.id, digest: older.digest ?? '', by: 'ana' })
      await world.drain()

      expect(older.state).toBe('held')
      expect((await peopleOn(client)).get('E0006')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
    })

    test('an older export does not change somebody about whom the newer one states nothing new', async () => {
      await using opened = await open()
      const { world, client } = opened
      await world.night(staff(10), { asOf: '2026-11-20T01:00:00.000Z' })
      await world.night(staff(10), { asOf: '2026-11-22T01:00:00.000Z' })

      const older = await world.night(change(staff(10), { id: 'E0006', title: 'King' }), {
        asOf: '2026-11-21T01:00:00.000Z',
      })
      await approveRun(world.sync, { runId: older.id, digest: older.digest ?? '', by: 'ana' })
      await world.drain()

      expect((await peopleOn(client)).get('E0006')?.jobTitle).toBe('Engineer')
    })
  })

  describe('promise 6: personal data stays where it belongs', () => {
    test('jobs and events contain keys and counts, and no data of HR about a person', async () => {
      await using opened = await open()
      const { world } = opened
      const rows = change(staff(10), {
        id: 'E0001',
        email: 'secret@acme.example',
        first: 'Secretname',
        title: 'Secretjob',
      })
      world.setExport(rows)
      const sentJobs: unknown[] = []
      const enqueue = world.sync.enqueue
      Object.assign(world.sync, {
        enqueue: async (jobs: Parameters<typeof enqueue>[0]) => {
          sentJobs.push(...jobs)
          await enqueue(jobs)
        },
      })

      await world.night(rows)

      expect(sentJobs.length).toBeGreaterThan(1)
      expect(JSON.stringify([sentJobs, world.events])).not.toMatch(/secret/i)
    })
  })

  describe('promise 7: every change is accounted for', () => {
    test('a person shows what was sent, when, from which row, by which run, and what the platform answered', async () => {
      await using opened = await open()
      const { world } = opened
      await world.night(staff(10))
      const run = await world.night(change(staff(10), { id: 'E0007', title: 'Director' }), {
        asOf: '2026-11-21T01:00:00.000Z',
      })

      const person = await personOf(world.sync.store.db, { connection: 'acme', identityId: 'E0007' })

      expect(person?.changes[0]).toMatchObject({
        runId: run.id,
        origin: { file: 'people.csv', line: 8 },
        change: { kind: 'update', fields: { jobTitle: { from: 'Engineer', to: 'Director' } } },
        state: 'confirmed',
        requests: 1,
        sentAt: world.clock.now.toISOString(),
        answer: { status: 200 },
      })
    })
  })
})

/** A platform that refuses to record who left, on every way there is. */
function refuseUpdates<C extends { updateHrisUserIdentity: unknown; upsertHrisUserIdentities: unknown }>(client: C): C {
  const refusal = async () => ({
    status: 400,
    error: { message: 'not today', code: 1, name: 'BadRequest' },
    headers: {},
  })
  return { ...client, updateHrisUserIdentity: refusal, upsertHrisUserIdentities: refusal }
}
