import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { localControl } from '../../../src/cli/session/command-context.ts'
import { endedOrHeldRunIds, followAndReport } from '../../../src/cli/session/follow-run.ts'
import type { Session } from '../../../src/cli/session/session.ts'
import { assemble } from '../../../src/daemon/assembly.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { createControlContext } from '../../../src/daemon/create-control-context.ts'
import { startDaemon } from '../../../src/daemon/start.ts'
import { startWork } from '../../../src/daemon/work.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { openWorkplace } from '../../helpers/workplace.ts'
import { type Host, peopleOn, startHost } from '../../helpers/world.ts'

const dayMs = 24 * 60 * 60 * 1000

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const linked = `    also:
      other:
        target: { name: Other HRIS }
        verify: never
    verify: never
`

/** An installation that has delivered a person who leaves tomorrow, and whose export is now missing. */
async function openWithDueLeaver(connection = '') {
  const { client, key } = await host.tenant()
  await using opening = new AsyncDisposableStack()
  const work = opening.use(await openWorkplace({ baseUrl: host.platform.baseUrl, key }, { hasStore: true }))
  const tomorrow = new Date(Date.now() + dayMs).toISOString().slice(0, 10)
  const header = 'Employee ID,Email,First Name,Termination Date'
  await work.drop('people.csv', `${header}\n1,ana@acme.example,Ana,${tomorrow}\n2,ben@acme.example,Ben,\n`)
  await work.configure({ connection })
  const first = await work.run('sync', '--connection', 'acme')
  const leavingDate = async () => (await peopleOn(client)).get('1')?.separatedAt
  const before = await leavingDate()
  await work.configure({ path: 'nothing/*.csv', connection })
  const config = await loadConfig(work.configFile, process.env)
  const opened = opening.move()
  return { config, first, before, leavingDate, tomorrow, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** The clock of the day on which the leaving date has come. */
const later = () => new Date(Date.now() + 2 * dayMs)

test('without a daemon, a command sends the leaving dates that are due, also of linked connections, although the export is missing', async () => {
  await using opened = await openWithDueLeaver(linked)
  const { config, first, leavingDate, tomorrow } = opened
  await using assembly = await assemble(config, { events: silentEvents(() => {}), now: later, tracesRuns: true })
  const { db } = assembly.sync.store
  // A statement is owed after this run.
  await sql`
    insert into runs (id, connection, feed, trigger, options, state, created_at, finished_at)
    values (gen_random_uuid(), 'acme', 'person', 'operator', '{}', 'finished', now(), now() + interval '1 minute')`.execute(
    db,
  )
  await using _work = await startWork(assembly)
  const { signal } = new AbortController()
  const control = localControl(createControlContext(assembly, { daemon: null, signal }))
  const results: unknown[] = []
  const output = {
    quiet: true,
    json: true,
    printResult: (document: unknown) => results.push(document),
    printMessage: () => {},
  }
  const session = { config, control, output, signal } as unknown as Session
  const endedOrHeldBefore = await endedOrHeldRunIds(session, 'acme')
  const run = await control.startRun({ params: { connection: 'acme' }, body: {} })

  const exit = await followAndReport(session, run, 60, { endedOrHeldBefore })

  expect([first.exit, exit]).toEqual([0, 66])
  expect(await leavingDate()).toBe(`${tomorrow}T00:00:00.000Z`)
  const due = { feed: 'roster', state: 'finished', confirmed: 1 }
  expect(results).toMatchObject([
    {
      state: 'failed',
      alongside: [
        { connection: 'acme', ...due },
        { connection: 'other', ...due },
      ],
    },
  ])
  const statements = await db.selectFrom('statements').select('adds_up').execute()
  expect(statements.filter((statement) => !statement.adds_up)).toEqual([])
})

test('a daemon sends at start the leaving dates whose day came while it was down, although there is no export', async () => {
  await using opened = await openWithDueLeaver()
  const { config, first, before, leavingDate, tomorrow } = opened

  await using _daemon = await startDaemon(config, { events: silentEvents(() => {}), now: later })

  expect([first.exit, before]).toEqual([0, null])
  await expect.poll(leavingDate, { timeout: 20_000 }).toBe(`${tomorrow}T00:00:00.000Z`)
})
