import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { httpConnector } from '../../../src/connectors/http/open.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { rejectsOf } from '../../../src/store/history/history.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import { requestRun } from '../../../src/sync/sync.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { type HttpSettings, httpSource, json, startHrServer } from '../../helpers/sources/hr-server.ts'
import { firstOf } from '../../helpers/tier.ts'
import { type Host, openWorld, peopleOn, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

type Job = { readonly title: string; readonly end?: string | null; readonly state: string }

const employed: Job = { title: 'Engineer', state: 'active' }
const gone: Job = { title: 'Engineer', state: 'gone', end: '2026-11-18' }

/** Twelve people whose jobs are behind a request each. A status in place of a job is the answer of the server. */
function jobs(changed: Readonly<Record<string, Job | number>> = {}): ReadonlyMap<string, Job | number> {
  return new Map(Array.from({ length: 12 }, (_, at) => [`E${at + 1}`, changed[`E${at + 1}`] ?? employed]))
}

async function openDetails(settings: HttpSettings = {}) {
  const stack = new AsyncDisposableStack()
  const current = { jobs: jobs() }
  const server = stack.use(
    await startHrServer((request, response) => {
      const id = (request.url ?? '').split('/')[2]
      const job = id === undefined ? undefined : (current.jobs.get(id) ?? 404)
      if (typeof job === 'number') response.writeHead(job).end()
      else if (job !== undefined) json(job)(request, response)
      else json([...current.jobs.keys()].map((key) => ({ id: key, email: `${key}@acme.example` })))(request, response)
    }),
  )
  const folder = stack.use(await temporaryFolder())
  const context = { baseDir: folder.path, spoolDir: folder.path, secret: () => null }
  const each = [{ url: `${server.url}/people/{id}/job`, as: 'job' }]
  const source = httpSource({ url: `${server.url}/people`, each, missingDetails: 'cell', ...settings })
  const mapping = Mapping.parse({
    fields: {
      ...{ identityId: 'id', email: 'email', jobTitle: 'job.title' },
      separatedAt: { column: 'job.end', optional: true },
    },
    status: { column: 'job.state', leftWhen: ['gone'], employedWhen: ['active'] },
  })
  const { client } = await host.tenant()
  const world = stack.use(await openWorld({ client, feed: { connector: httpConnector(source, context), mapping } }))
  async function night(next: ReadonlyMap<string, Job | number>): Promise<Run> {
    current.jobs = next
    world.clock.now = new Date(world.clock.now.getTime() + 24 * 60 * 60_000)
    const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
    await world.drain()
    return await world.runOf(id)
  }
  const known = async (id: string) => (await peopleOn(client)).get(id)
  const rejects = async (run: Run) => (await rejectsOf(world.sync.store.db, run.id)).map(({ reject }) => reject)
  return { night, known, rejects, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

describe('a detail that cannot be had, with missingDetails: cell', () => {
  test.each(firstOf(1, [500, 404]))('separates nobody, brings nobody back, and is shown: status %s', async (status) => {
    await using details = await openDetails()
    await details.night(jobs({ E9: gone }))
    const before = await details.known('E9')

    const run = await details.night(jobs({ E3: status, E9: status, E5: { ...employed, title: 'Lead' } }))

    expect(before?.separatedAt).not.toBeNull()
    expect(run).toMatchObject({ state: 'finished', counts: { leave: 0, return: 0, update: 1, rejected: 0 } })
    expect(await details.known('E3')).toMatchObject({ jobTitle: 'Engineer', separatedAt: null })
    expect(await details.known('E9')).toEqual(before)
    expect(await details.known('E5')).toMatchObject({ jobTitle: 'Lead' })
    const reason = status === 404 ? 'the detail job is missing' : 'the detail job could not be read'
    const shown = await details.rejects(run)
    expect(shown.map(({ identityId, column }) => `${identityId} ${column}`).sort()).toEqual([
      ...['E3 job.end', 'E3 job.state', 'E3 job.title'],
      ...['E9 job.end', 'E9 job.state', 'E9 job.title'],
    ])
    expect(shown.every((reject) => reject.reason === reason && reject.cellOnly)).toBe(true)
  })

  test('takes effect once the detail is there again', async () => {
    await using details = await openDetails()
    await details.night(jobs())
    const without = await details.night(jobs({ E3: 500 }))

    const run = await details.night(jobs({ E3: gone }))

    // Until now, no job had an end.
    const shown = await details.rejects(without)
    expect(shown.map(({ column }) => column).sort()).toEqual(['job.end', 'job.state', 'job.title'])
    expect(run).toMatchObject({ state: 'finished', counts: { leave: 1 } })
    expect(await details.rejects(run)).toEqual([])
    expect((await details.known('E3'))?.separatedAt).not.toBeNull()
  })
})

test('a detail that cannot be had refuses the source by default, and nothing is sent', async () => {
  await using details = await openDetails({ missingDetails: 'fail' })
  await details.night(jobs())

  const run = await details.night(jobs({ E3: 404, E5: gone }))

  expect(run).toMatchObject({ state: 'failed' })
  expect(run.reason).toContain('people page 1 record 3 has no job')
  expect((await details.known('E5'))?.separatedAt).toBeNull()
})

test('a detail that is blank by absence clears its fields', { tags: ['full'] }, async () => {
  await using details = await openDetails({ missingDetails: 'blank' })
  await details.night(jobs({ E9: gone }))

  const run = await details.night(jobs({ E9: gone, E5: 404 }))

  expect(run).toMatchObject({ state: 'finished', counts: { leave: 0, return: 0, update: 1, rejected: 0 } })
  expect((await details.known('E5'))?.jobTitle).toBeNull()
})
