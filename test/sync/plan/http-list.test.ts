import { afterAll, beforeAll, expect, test } from 'vitest'
import { httpConnector } from '../../../src/connectors/http/open.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import type { SourceFeed } from '../../../src/sync/context/context.ts'
import { approveRun, classifyValue, requestRun } from '../../../src/sync/sync.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { httpSource, json, startHrServer } from '../../helpers/sources/hr-server.ts'
import { type Host, openWorld, peopleOn, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const mapping = Mapping.parse({
  fields: { identityId: 'id', email: 'email', separatedAt: 'left' },
  status: { column: 'status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
})

type Person = { readonly id: string; readonly email: string; readonly left: null; readonly status: string }

function staff(count: number): readonly Person[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `E${i + 1}`,
    email: `e${i + 1}@acme.example`,
    left: null,
    status: 'Active',
  }))
}

/** A list of people whose server answers 304 to a request with the current tag. */
async function openList(rules: Partial<SourceFeed> = {}) {
  const stack = new AsyncDisposableStack()
  const list = { people: staff(20) }
  const server = stack.use(
    await startHrServer((request, response) => {
      const etag = `"${list.people.map(({ id, status }) => id + status).join()}"`
      if (request.headers['if-none-match'] === etag) response.writeHead(304, { etag }).end()
      else json(list.people, { etag })(request, response)
    }),
  )
  const folder = stack.use(await temporaryFolder())
  const options = { baseDir: folder.path, spoolDir: folder.path, secret: () => null }
  const connector = httpConnector(httpSource({ url: server.url }), options)
  const { client } = await host.tenant()
  const world = stack.use(await openWorld({ client, feed: { connector, mapping, ...rules } }))
  async function night(): Promise<Run> {
    world.clock.now = new Date(world.clock.now.getTime() + 24 * 60 * 60_000)
    const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'schedule' })
    await world.drain()
    return await world.runOf(id)
  }
  return { list, world, client, night, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test('an absence counts each night, even if the list is unchanged', async () => {
  await using opened = await openList({ graceRuns: 2 })
  const { list, night, client } = opened
  await night()
  list.people = staff(20).filter(({ id }) => id !== 'E5')
  await night()

  const second = await night()

  expect(second).toMatchObject({ state: 'finished', counts: { leave: 1 } })
  expect((await peopleOn(client)).get('E5')?.separatedAt).not.toBeNull()
})

test('a classified status takes effect with the next run, even if the list is unchanged', async () => {
  await using opened = await openList()
  const { list, world, night, client } = opened
  await night()
  list.people = staff(20).map((person) => (person.id === 'E3' ? { ...person, status: 'Gone' } : person))
  const held = await night()
  await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ops' })
  await world.drain()
  await classifyValue(world.sync, { connection: 'acme', value: 'Gone', meaning: 'left', by: 'ops' })

  await night()

  expect((await peopleOn(client)).get('E3')?.separatedAt).not.toBeNull()
})
