import { readdir, readlink } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { httpConnector } from '../../../src/connectors/http/open.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { requestedPerson } from '../../../src/sync/plan/person-watch.ts'
import { planDryRun, requestRun } from '../../../src/sync/sync.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { csv, httpSource, json, startHrServer } from '../../helpers/sources/hr-server.ts'
import { type Host, openWorld, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const signal = new AbortController().signal
const mapping = Mapping.parse({ fields: { identityId: 'id', email: 'email' } })
const answers = {
  json: json([{ id: '1', email: 'ana@acme.example' }]),
  csv: csv('id,email\n1,ana@acme.example\n'),
}

/** A connection that is read over HTTP, and a linked one. The database fails once the source has been opened. */
async function openFailing(format: 'json' | 'csv') {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await startHrServer(answers[format]))
  const folder = opening.use(await temporaryFolder())
  const folders = { baseDir: folder.path, spoolDir: folder.path, secret: () => null }
  const connector = httpConnector(httpSource({ url: server.url, format }), folders)
  const { client } = await host.tenant()
  const world = opening.use(await openWorld({ client, feed: { connector, mapping } }))
  const { sync, connection } = world
  const { db } = sync.store
  let wasOpened = false
  const open: typeof connector.open = async (options) => {
    const reading = await connector.open(options)
    if (!wasOpened) await db.schema.alterTable('key_answers').renameTo('key_answers_away').execute()
    wasOpened = true
    return reading
  }
  Object.assign(connection.feeds.source ?? {}, { connector: { open } })
  const opened = opening.move()
  return {
    world,
    linked: () => ({ ...connection, name: 'linked', target: { name: 'Linked' }, linkedTo: 'acme' }),
    wasOpened: () => wasOpened,
    /** The copies of what was fetched, and the files among them that this process has open. */
    async remainingFiles() {
      const links = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''))
      const handles = (await Promise.all(links)).filter((path) => path.startsWith(folder.path))
      return { copies: await readdir(folder.path), handles }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

type Failing = Awaited<ReturnType<typeof openFailing>>

const readers: readonly (readonly [string, (failing: Failing) => Promise<unknown>])[] = [
  [
    'a run',
    async ({ world }) => {
      await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
      return await world.drain()
    },
  ],
  [
    'runs of linked connections',
    async ({ world, linked }) => {
      Object.assign(world.sync, { connections: new Map([world.connection, linked()].map((one) => [one.name, one])) })
      await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
      return await world.drain()
    },
  ],
  [
    'a run of one person',
    async ({ world }) => {
      const options = { person: requestedPerson('ana@acme.example') }
      await requestRun(world.sync, { connection: 'acme', trigger: 'operator', options })
      return await world.drain()
    },
  ],
  ['a plan to look at', ({ world }) => planDryRun(world.sync, 'acme', signal).catch((error: unknown) => error)],
  [
    'plans of linked connections to look at',
    ({ world, linked }) => {
      Object.assign(world.sync, { connections: new Map([world.connection, linked()].map((one) => [one.name, one])) })
      return planDryRun(world.sync, 'acme', signal).catch((error: unknown) => error)
    },
  ],
]

test.each(readers.flatMap(([reader, read]) => (['json', 'csv'] as const).map((format) => ({ reader, format, read }))))(
  '$reader of $format that fails before the first row leaves neither a copy nor an open file',
  async ({ format, read }) => {
    await using failing = await openFailing(format)

    await read(failing)

    expect(failing.wasOpened()).toBe(true)
    expect(await failing.remainingFiles()).toEqual({ copies: [], handles: [] })
  },
)
