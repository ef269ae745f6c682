import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AlertService, createAlerting, startAlerts } from '../../../src/daemon/alerts/alerts.ts'
import type { AlertSettings } from '../../../src/daemon/config/channel.ts'
import { Secret } from '../../../src/daemon/config/secret.ts'
import { openDatabase } from '../../../src/database/database.ts'
import { openAlerts } from '../../../src/store/alerts/alerts.ts'
import { blockConnection, unblockConnection } from '../../../src/store/connections/connections.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { ensureConnection } from '../../../src/store/runs/runs.ts'
import type { Db, StoreSchema } from '../../../src/store/schema.ts'
import { type Event, silentEvents } from '../../../src/telemetry/events.ts'
import { quietAlerts, webhookChannel } from '../../helpers/alert-settings.ts'
import { type Child, startChild } from '../../helpers/servers/children.ts'
import { createPostgresDatabase, databases, emptyTables, type TestDatabase } from '../../helpers/servers/databases.ts'
import { freePort } from '../../helpers/servers/free-port.ts'
import { type AlertReceiver, alertSecret, startAlertReceiver } from '../../helpers/sources/alert-receiver.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { storeBatch, storeRun } from '../../helpers/stored-runs.ts'
import { isFull } from '../../helpers/tier.ts'

/** How long the daemon waits for a receiver. */
const hangMs = 30_000

function settingsFor(
  receiver: Pick<AlertReceiver, 'url'> | null,
  { secret, ...settings }: Partial<AlertSettings> & { secret?: Secret } = {},
): AlertSettings {
  const channels = receiver ? [webhookChannel(receiver.url, { ...(secret && { secret }) })] : []
  return { ...quietAlerts, channels, ...settings }
}

/** One check for alert conditions, with all messages that follow from it. */
async function turnOf(alerting: AlertService): Promise<void> {
  await alerting.recordAndNotify()
  await alerting.idle()
}

async function block(db: Db, connection = 'acme'): Promise<void> {
  await ensureConnection(db, connection)
  await blockConnection(db, {
    connection,
    status: 401,
    code: 'key_refused',
    reason: 'the platform does not accept the API key (401)',
    now: new Date('2026-11-20T03:00:00.000Z'),
    probeAt: new Date('2026-11-20T03:15:00.000Z'),
  })
}

type OpenOptions = {
  readonly at?: string
  readonly testDatabase?: typeof createPostgresDatabase
  readonly connections?: string[]
}

let shared: TestDatabase
beforeAll(async () => {
  shared = await createPostgresDatabase()
})
afterAll(() => shared[Symbol.asyncDispose]())

/** An empty store, unless it is `at` an address, and a check for alert conditions that the test starts. The clock starts now, because signatures expire. */
async function open(settings: AlertSettings, { at, testDatabase, connections = ['acme'] }: OpenOptions = {}) {
  await using opening = new AsyncDisposableStack()
  const placed = at ?? (testDatabase ? opening.use(await testDatabase()).at : shared.at)
  const store = opening.use(await openDatabase<StoreSchema>({ at: placed, schemas: ['rollcall'], migrations }))
  if (at === undefined) await emptyTables(store, 'rollcall')
  const reported: Event[] = []
  const clock = { now: Date.now() }
  const context = {
    db: store.db,
    settings,
    monitored: { connections, sources: [], maxLeaverHours: new Map<string, number>() },
    events: silentEvents((event) => reported.push(event)),
    now: () => new Date(clock.now),
  }
  const alerting = opening.use(createAlerting(context, { timeoutMs: hangMs }))
  const opened = opening.move()
  return {
    db: store.db,
    at: placed,
    context,
    reported,
    /** Moves the clock by this many seconds, then checks. */
    async look(seconds = 0): Promise<void> {
      clock.now += seconds * 1000
      await turnOf(alerting)
    },
    alerting,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const summary = ({ received }: AlertReceiver) =>
  received.map(({ message: { type, data } }) => `${type} ${data.connection} ${data.kind}`)

/** A person whose leaving date in the accepted export cannot be read. */
async function mayLeave(db: Db, identityId: string, at: Date): Promise<void> {
  await ensureConnection(db, 'acme')
  await db
    .insertInto('known_faults')
    .values({
      ...{
        connection: 'acme',
        fingerprint: identityId,
        identity_id: identityId,
        line: 2,
        reason: 'not a date',
        times: 1,
      },
      ...{ cell_only: true, may_leave: true, accepted_times: 1, is_blocking: true, first_at: at, last_at: at },
      run_id: await storeRun(db, { state: 'finished', at }),
    })
    .execute()
}

describe.each(databases)('alerts on $name', ({ createDatabase }) => {
  test('the receiver hears when a connection is blocked and when it is free again, in signed messages', async () => {
    await using receiver = await startAlertReceiver()
    await using opened = await open(settingsFor(receiver), { testDatabase: createDatabase })
    await block(opened.db)
    await opened.look()
    await opened.look(10)
    await unblockConnection(opened.db, 'acme')
    await opened.look(10)
    await opened.look(31)

    const [raised, cleared] = receiver.received.map(({ message }) => message)

    expect(summary(receiver)).toEqual(['alert.raised acme blocked', 'alert.cleared acme blocked'])
    expect(raised).toMatchObject({
      type: 'alert.raised',
      data: {
        connection: 'acme',
        kind: 'blocked',
        code: 'key_refused',
        reason: 'the platform does not accept the API key (401)',
        since: '2026-11-20T03:00:00.000Z',
        people: 0,
        clearedAt: null,
        reminder: false,
      },
    })
    expect(cleared?.data).toMatchObject({ id: raised?.data.id, clearedAt: expect.any(String), reminder: false })
    expect(receiver.untrusted()).toBe(0)
    expect(opened.reported).toMatchObject([
      { event: 'alert.raised', alertId: raised?.data.id, connection: 'acme', kind: 'blocked', code: 'key_refused' },
      { event: 'alert.cleared', alertId: raised?.data.id, connection: 'acme', kind: 'blocked' },
    ])
  })

  test('two processes that look at the same time send each alert once', async () => {
    const connections = Array.from({ length: 8 }, (_, i) => `c${i}`)
    await using receiver = await startAlertReceiver()
    await using opened = await open(settingsFor(receiver), { testDatabase: createDatabase, connections })
    await using second = createAlerting(opened.context)
    for (const connection of connections) await block(opened.db, connection)

    await Promise.all([opened.look(), turnOf(second)])
    await Promise.all([opened.look(10), turnOf(second)])

    expect(summary(receiver).sort()).toEqual(connections.map((name) => `alert.raised ${name} blocked`))
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(connections.length)
  })
})

test('a failed check delays no other alert, and leaves its own alert as it is', async () => {
  await using receiver = await startAlertReceiver()
  await using opened = await open(settingsFor(receiver))
  const at = new Date('2026-11-20T03:00:00.000Z')
  await ensureConnection(opened.db, 'acme')
  const id = await storeRun(opened.db, { state: 'held', at, counts: { leave: 2 } })
  await opened.look()
  await sql`update runs set counts = '{"leave": "a damaged value"}' where id = ${id}`.execute(opened.db)
  await block(opened.db)
  await opened.look(10)
  await opened.look(60)
  const damaged = await openAlerts(opened.db)
  await sql`update runs set counts = '{"leave": 3}' where id = ${id}`.execute(opened.db)
  await opened.look(10)

  expect(summary(receiver)).toEqual(['alert.raised acme held', 'alert.raised acme blocked'])
  expect(damaged).toMatchObject([{ kind: 'blocked' }, { kind: 'held', people: 2 }])
  expect(await openAlerts(opened.db)).toMatchObject([{ kind: 'blocked' }, { kind: 'held', people: 3 }])
  expect(opened.reported).toMatchObject([
    { event: 'alert.raised', kind: 'held' },
    ...[
      { event: 'unexpected', during: 'alerts' },
      { event: 'alert.raised', kind: 'blocked' },
    ],
    { event: 'unexpected', during: 'alerts' },
  ])
})

test('an unreachable store is one failure, and leaves the alerts as they are', async () => {
  await using opened = await open(settingsFor(null))
  await block(opened.db)
  await opened.look()
  await sql`alter schema rollcall rename to away`.execute(opened.db)

  await expect(opened.look(60)).rejects.toThrow()
  await sql`alter schema away rename to rollcall`.execute(opened.db)

  expect(await openAlerts(opened.db)).toMatchObject([{ kind: 'blocked', clearedAt: null }])
  expect(opened.reported.map(({ event }) => event)).toEqual(['alert.raised'])
})

describe('a receiver', () => {
  test('that is down for a while gets the message when it is back, under the same id, and the log has one line', async () => {
    const port = await freePort()
    await using opened = await open(settingsFor({ url: `http://127.0.0.1:${port}/` }))
    await block(opened.db)
    await opened.look()
    const [whileDown] = await openAlerts(opened.db)
    await using failing = await startAlertReceiver({ port, answer: (response) => response.writeHead(503).end() })
    await opened.look(2)
    const [first] = failing.received
    await failing[Symbol.asyncDispose]()
    await using receiver = await startAlertReceiver({ port })
    await opened.look(4)

    const [second] = receiver.received

    expect(whileDown).toMatchObject({
      notified: [
        { channel: 'log', sent: 1 },
        { channel: 'pager', sent: 0, lastFailure: `127.0.0.1:${port} gave no answer (ECONNREFUSED)` },
      ],
    })
    expect(second?.message.type).toBe('alert.raised')
    expect(second?.id).toBe(first?.id)
    expect(
      opened.reported.map((event) => ('reason' in event ? `${event.event}: ${event.reason}` : event.event)),
    ).toEqual([
      'alert.raised: the platform does not accept the API key (401)',
      `alert.unsent: 127.0.0.1:${port} gave no answer (ECONNREFUSED)`,
      `alert.unsent: 127.0.0.1:${port} answers 503`,
    ])
    expect(await openAlerts(opened.db)).toMatchObject([
      { notified: [{}, { channel: 'pager', sent: 1, notifiedAt: expect.any(Date), lastFailure: null }] },
    ])
  })

  test('that was down while a condition came and went gets both messages when it is back, in order', async () => {
    const answers: number[] = []
    await using receiver = await startAlertReceiver({
      answer: (response) => response.writeHead(answers.shift() ?? 204).end(),
    })
    await using opened = await open(settingsFor(receiver), { connections: ['acme', 'beta', 'gamma'] })
    for (const connection of ['acme', 'beta', 'gamma']) await block(opened.db, connection)
    answers.push(500, 500, 500)
    await opened.look()
    await opened.look()
    await opened.look()
    await unblockConnection(opened.db, 'acme')
    await opened.look(1)
    await opened.look(31)

    const after = summary(receiver).slice(3)

    expect(summary(receiver).slice(0, 3).toSorted()).toEqual([
      'alert.raised acme blocked',
      'alert.raised beta blocked',
      'alert.raised gamma blocked',
    ])
    expect(after.toSorted()).toEqual([
      'alert.cleared acme blocked',
      'alert.raised acme blocked',
      'alert.raised beta blocked',
      'alert.raised gamma blocked',
    ])
    expect(after.indexOf('alert.raised acme blocked')).toBeLessThan(after.indexOf('alert.cleared acme blocked'))
  })

  test('that accepts messages again gets the refused ones at once', async () => {
    const answers = [500]
    await using receiver = await startAlertReceiver({
      answer: (response) => response.writeHead(answers.shift() ?? 204).end(),
    })
    await using opened = await open(settingsFor(receiver), { connections: ['acme', 'beta'] })
    await block(opened.db, 'acme')
    await opened.look()
    await block(opened.db, 'beta')

    await opened.look()

    expect(summary(receiver).slice(1)).toEqual(['alert.raised beta blocked', 'alert.raised acme blocked'])
  })

  test('that redirects is not followed', async () => {
    await using elsewhere = await startAlertReceiver()
    await using receiver = await startAlertReceiver({
      answer: (response) => response.writeHead(307, { location: elsewhere.url }).end(),
    })
    await using opened = await open(settingsFor(receiver))
    await block(opened.db)

    await opened.look()

    expect(receiver.received).toHaveLength(1)
    expect([elsewhere.received.length, elsewhere.untrusted()]).toEqual([0, 0])
    expect(opened.reported.at(-1)).toMatchObject({
      event: 'alert.unsent',
      reason: expect.stringContaining('redirects (307)'),
    })
  })

  test('that hangs does not delay a stop, and gets the message after the next start', async () => {
    let hangs = true
    await using receiver = await startAlertReceiver({
      answer(response) {
        if (!hangs) response.writeHead(204).end()
      },
    })
    await using opened = await open(settingsFor(receiver))
    await block(opened.db)
    const turn = turnOf(opened.alerting)
    await receiver.has(1)
    const before = performance.now()

    await opened.alerting[Symbol.asyncDispose]()
    await turn
    const tookMs = performance.now() - before
    hangs = false
    await using next = createAlerting(opened.context)
    await turnOf(next)

    expect(tookMs).toBeLessThan(hangMs / 2)
    expect(receiver.received).toHaveLength(2)
    expect(receiver.received[1]?.id).toBe(receiver.received[0]?.id)
    expect(opened.reported.map(({ event }) => event)).toEqual(['alert.raised'])
  })

  test('gets no key and no value of a person', async () => {
    await using receiver = await startAlertReceiver()
    await using opened = await open(settingsFor(receiver))
    await ensureConnection(opened.db, 'acme')
    const long = new Date(Date.now() - 2 * 3_600_000)
    const runId = await storeRun(opened.db, { state: 'delivering', at: long })
    const failing = { runId, dueAt: long, failingSince: long, lastFailure: 'the platform answers 500' }
    await storeBatch(opened.db, { ...failing, batch: 1, people: { 'key-of-ana': 'leave' } })
    await storeBatch(opened.db, { ...failing, batch: 2, people: { 'key-of-ben': 'update' } })
    const problem = {
      connection: 'acme',
      run_id: runId,
      identity_id: 'key-of-eva',
      kind: 'leave',
      status: 400,
      times: 1,
    }
    await opened.db
      .insertInto('problems')
      .values({ ...problem, message: 'ana@acme.example is taken', first_at: long, last_at: long })
      .execute()

    await opened.look()

    const texts = JSON.stringify([receiver.received.map((alert) => alert.text), opened.reported])
    expect(summary(receiver)).toEqual(['alert.raised acme overdue', 'alert.raised acme problems'])
    expect(receiver.received[0]?.message.data).toMatchObject({ people: 2, leavers: 1, runId })
    expect(texts).not.toMatch(/key-of|acme\.example/)
    expect(texts).not.toContain(alertSecret.slice(6))
  })
})

describe('a daemon that stands still', () => {
  test('between claiming a message and posting it leaves the message to others', async () => {
    await using receiver = await startAlertReceiver()
    await using opened = await open(settingsFor(receiver))
    await block(opened.db)
    const clock = { now: Date.now() }
    const events = silentEvents(({ event }) => {
      if (event === 'alert.raised') clock.now += 61_000
    })
    await using still = createAlerting({ ...opened.context, events, now: () => new Date(clock.now) })
    await turnOf(still)
    const before = receiver.received.length

    await opened.look(61)

    expect(before).toBe(0)
    expect(summary(receiver)).toEqual(['alert.raised acme blocked'])
  })
})

describe('the secret of alerts', () => {
  test('is read again for each message, so that a replaced file is used', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'secret')
    await using receiver = await startAlertReceiver()
    await using opened = await open(settingsFor(receiver, { secret: new Secret([{ file }]) }))
    await block(opened.db)
    await opened.look()
    await writeFile(file, 'whsec_c29tZXRoaW5nIGVsc2U=')
    await opened.look(2)
    await writeFile(file, `${alertSecret}\n`)
    await opened.look(4)

    expect(opened.reported.slice(1)).toMatchObject([
      { event: 'alert.unsent', reason: expect.stringContaining('cannot read the file') },
      { event: 'alert.unsent', reason: expect.stringContaining('answers 401') },
    ])
    expect(receiver.untrusted()).toBe(1)
    expect(summary(receiver)).toEqual(['alert.raised acme blocked'])
  })
})

describe('without a receiver', () => {
  test('alerts are logged, each once, and again when they are over', async () => {
    await using opened = await open(settingsFor(null))
    await block(opened.db)
    await opened.look()
    await opened.look(60)
    await unblockConnection(opened.db, 'acme')
    await opened.look(10)

    await opened.look(31)

    expect(opened.reported.map(({ event }) => event)).toEqual(['alert.raised', 'alert.cleared'])
  })

  test('an alert that stays open is logged again after the hours of the configuration', async () => {
    await using opened = await open(settingsFor(null, { remindHours: 2 }))
    await block(opened.db)
    await opened.look()
    await opened.look(7199)

    await opened.look(1)

    expect(opened.reported).toMatchObject([
      { event: 'alert.raised', reminder: false },
      { event: 'alert.raised', reminder: true },
    ])
  })
})

describe('people who may have left', () => {
  test('are reported once, and again if another one is found, but not every night', async () => {
    await using opened = await open(settingsFor(null))
    const counts: number[] = []
    const nights = async (count: number) => {
      for (let night = 0; night < count; night++) await opened.look(24 * 60 * 60)
      counts.push(opened.reported.length)
    }

    await mayLeave(opened.db, 'E1', new Date('2026-11-20T03:00:00.000Z'))
    await nights(3)
    await mayLeave(opened.db, 'E2', new Date('2026-11-23T03:00:00.000Z'))
    await nights(7)
    await nights(1)

    expect(counts).toEqual([1, 2, 3])
    expect(opened.reported).toMatchObject([
      { kind: 'blockedPeople', people: 1, reminder: false },
      { kind: 'blockedPeople', people: 2, reminder: true },
      { kind: 'blockedPeople', people: 2, reminder: true },
    ])
  })
})

describe('the loop', () => {
  test('finds conditions by itself, and continues after a failed check', async () => {
    await using receiver = await startAlertReceiver()
    await using opened = await open(settingsFor(receiver))
    const failed = Promise.withResolvers<void>()
    const events = silentEvents(({ event }) => {
      if (event === 'unexpected') failed.resolve()
    })
    await sql`alter table notifications rename to notifications_away`.execute(opened.db)
    await using _loop = startAlerts({ ...opened.context, events }, { pauseMs: 20 })
    await failed.promise
    await sql`alter table notifications_away rename to notifications`.execute(opened.db)

    await block(opened.db)
    await receiver.has(1)

    expect(summary(receiver)).toEqual(['alert.raised acme blocked'])
  })
})

const ownFolder = async () => {
  const folder = await temporaryFolder()
  return { at: join(folder.path, 'store'), [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}

describe.each([
  ...(isFull ? [{ name: 'PGlite', folder: ownFolder }] : []),
  { name: 'PostgreSQL', folder: createPostgresDatabase },
])('a daemon that is killed on $name', ({ folder }) => {
  const script = new URL('./children/tell-alerts.ts', import.meta.url)
  const nobodyThere = 'http://127.0.0.1:9/'

  async function prepared(at: string): Promise<void> {
    await using store = await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations })
    await block(store.db)
  }

  test('between raising an alert and sending it loses nothing: the next process sends it', async () => {
    await using work = await folder()
    await prepared(work.at)
    await using receiver = await startAlertReceiver()
    // Channels are served in parallel, so the child gets an address where nobody listens. The receiver is used once the child is dead.
    await using child = startChild(script, work.at, nobodyThere, alertSecret, 'die')
    const exit = await child.finish()
    await using opened = await open(settingsFor(receiver), { at: work.at })

    await opened.look(61)

    expect(exit).toBeNull()
    expect(summary(receiver)).toEqual(['alert.raised acme blocked'])
    expect(opened.reported.map(({ event }) => event)).toEqual(['alert.raised'])
  })

  test('while sending an alert makes the next process send it again under the same id, so that the receiver can recognise it', async () => {
    await using work = await folder()
    await prepared(work.at)
    let telling: Child | null = null
    await using receiver = await startAlertReceiver({
      answer(response) {
        if (telling === null) response.writeHead(204).end()
        else process.kill(telling.pid, 'SIGKILL')
      },
    })
    await using child = startChild(script, work.at, receiver.url, alertSecret)
    telling = child
    await child.finish()
    telling = null
    await using opened = await open(settingsFor(receiver), { at: work.at })

    await opened.look(61)
    await opened.look(61)

    expect(summary(receiver)).toEqual(['alert.raised acme blocked', 'alert.raised acme blocked'])
    expect(receiver.received[1]?.id).toBe(receiver.received[0]?.id)
  })
})
