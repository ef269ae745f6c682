import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAlerting } from '../../../src/daemon/alerts/alerts.ts'
import { testAlerts } from '../../../src/daemon/alerts/senders.ts'
import type { ChannelSettings } from '../../../src/daemon/config/channel.ts'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { openAlerts } from '../../../src/store/alerts/alerts.ts'
import { blockConnection, unblockConnection } from '../../../src/store/connections/connections.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { ensureConnection } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { type Event, silentEvents } from '../../../src/telemetry/events.ts'
import { quietAlerts, slackChannel, smtpChannel, webhookChannel } from '../../helpers/alert-settings.ts'
import { createPostgresDatabase, emptyTables, type TestDatabase } from '../../helpers/servers/databases.ts'
import { freePort } from '../../helpers/servers/free-port.ts'
import { startAlertReceiver } from '../../helpers/sources/alert-receiver.ts'
import { Refusal, startMailServer } from '../../helpers/sources/mail-server.ts'
import { serveRaw } from '../../http/raw-server.ts'

const names = Array.from({ length: 9 }, (_, i) => `c${i}`)
// Signatures expire, so the clock begins at the time of the receivers.
const start = Date.now()
const hour = 3600

let placed: TestDatabase
let store: Database<StoreSchema>
beforeAll(async () => {
  placed = await createPostgresDatabase()
  store = await openDatabase<StoreSchema>({ at: placed.at, schemas: ['rollcall'], migrations })
})
afterAll(async () => {
  await store[Symbol.asyncDispose]()
  await placed[Symbol.asyncDispose]()
})
beforeEach(() => emptyTables(store, 'rollcall'))

/** A check for alerts that the test starts. */
function open(...channels: ChannelSettings[]) {
  const clock = { now: start }
  const reported: Event[] = []
  const context = {
    db: store.db,
    settings: { ...quietAlerts, channels },
    monitored: { connections: names, sources: [], maxLeaverHours: new Map<string, number>() },
    events: silentEvents((event) => reported.push(event)),
    now: () => new Date(clock.now),
  }
  const alerting = createAlerting(context)
  return {
    context,
    reported,
    alerting,
    /** Moves the clock by this many seconds, checks, and waits until everything is sent. */
    async look(seconds = 0): Promise<void> {
      clock.now += seconds * 1000
      await alerting.recordAndNotify()
      await alerting.idle()
    },
    [Symbol.asyncDispose]: () => alerting[Symbol.asyncDispose](),
  }
}

async function block(...connections: string[]): Promise<void> {
  for (const connection of connections) {
    await ensureConnection(store.db, connection)
    await blockConnection(store.db, {
      ...{ connection, status: 401, code: 'key_refused', reason: 'the platform does not accept the API key (401)' },
      now: new Date(start),
      probeAt: new Date(start),
    })
  }
}

/** A chat that answers every request with this status and header. */
async function startChat(answers: () => { status: number; retryAfter?: string }) {
  const statuses: number[] = []
  const server = createServer((request, response) => {
    const { status, retryAfter } = answers()
    statuses.push(status)
    request.resume()
    response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end('')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    asked: statuses,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sesame`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const subjects = (server: { received: readonly { headers: Readonly<Record<string, string>> }[] }) =>
  server.received.map(({ headers }) => headers.subject)

describe('channels', () => {
  test('are independent: what one accepted is not sent again because another was down', async () => {
    await using receiver = await startAlertReceiver()
    const port = await freePort()
    await using opened = open(webhookChannel(receiver.url), smtpChannel(port))
    await block('c1')
    await opened.look()
    await opened.look(2)
    const [whileDown] = await openAlerts(store.db)
    await using server = await startMailServer({ port })

    await opened.look(900)

    expect(whileDown?.notified).toMatchObject([
      { channel: 'log', sent: 1, lastFailure: null },
      { channel: 'mail', sent: 0, lastFailure: expect.stringContaining(`127.0.0.1:${port} refuses connections`) },
      { channel: 'pager', sent: 1, lastFailure: null },
    ])
    expect(receiver.received).toHaveLength(1)
    expect(subjects(server)).toEqual(['[Rollcall] c1: the platform refuses all requests'])
    expect(opened.reported.filter(({ event }) => event === 'alert.raised')).toHaveLength(1)
    expect(opened.reported.find(({ event }) => event === 'alert.unsent')).toMatchObject({
      channel: 'mail',
      connection: 'c1',
      alerts: 1,
    })
  })

  test('do not wait for one that never answers, and neither does the stop', async () => {
    await using receiver = await startAlertReceiver()
    await using hanging = await serveRaw(() => {})
    const opened = open(smtpChannel(Number(hanging.host.split(':')[1])), webhookChannel(receiver.url))
    await block('c1', 'c2')
    await opened.alerting.recordAndNotify()
    await receiver.has(2)
    const before = performance.now()

    await opened[Symbol.asyncDispose]()

    expect(performance.now() - before).toBeLessThan(15_000)
    const [first] = await openAlerts(store.db)
    expect(first?.notified).toMatchObject([
      { channel: 'log', sent: 1 },
      { channel: 'mail', sent: 0, lastFailure: 'this process stopped meanwhile' },
      { channel: 'pager', sent: 1 },
    ])
  })

  test('get the alerts that they name and no others', async () => {
    await using server = await startMailServer()
    await using receiver = await startAlertReceiver()
    await using opened = open(
      smtpChannel(server.port, { connections: ['c2'] }),
      webhookChannel(receiver.url, { kinds: ['held'] }),
    )
    await block('c1', 'c2')

    await opened.look()

    expect(subjects(server)).toEqual(['[Rollcall] c2: the platform refuses all requests'])
    expect(receiver.received).toEqual([])
  })
})

describe('a mail', () => {
  const two = { to: ['ops@acme.example', 'hris@acme.example'] }
  test.each([
    ['for good', new Refusal(550, '5.1.1 unknown')],
    ['for a while', new Refusal(450, '4.2.0 greylisted')],
  ])('that one of two refuses %s counts as sent, and the failure is shown', async (_what, refusal) => {
    await using server = await startMailServer({
      refuse: (_stage, address) => (address === 'hris@acme.example' ? refusal : undefined),
    })
    await using opened = open(smtpChannel(server.port, two))
    await block('c1')
    await opened.look()
    await opened.look(900)
    const [alert] = await openAlerts(store.db)
    await unblockConnection(store.db, 'c1')
    await opened.look(1)

    await opened.look(31)

    const failure = expect.stringMatching(/refuses to\[1\] \((?:550 5\.1\.1|450 4\.2\.0)\)$/)
    expect(alert?.notified).toMatchObject([{}, { channel: 'mail', sent: 1, lastFailure: failure }])
    expect(opened.reported.find(({ event }) => event === 'alert.unsent')).toMatchObject({ reason: failure })
    expect(server.received.map(({ to, headers }) => `${to} ${headers.subject?.slice(0, 3)}`)).toEqual([
      'ops@acme.example [Ro',
      'ops@acme.example Re:',
    ])
  })

  test('that all recipients refuse is sent again until they take it', async () => {
    let refusal: Refusal | undefined = new Refusal(550, '5.1.1 unknown')
    await using server = await startMailServer({ refuse: (stage) => (stage === 'to' ? refusal : undefined) })
    await using opened = open(smtpChannel(server.port, two))
    await block('c1')
    await opened.look()
    refusal = undefined

    await opened.look(900)

    expect(server.received.map(({ to }) => to)).toEqual([two.to])
  })
})

describe('a bad night', () => {
  test('sends at most the allowed messages an hour, and loses no alert', async () => {
    await using server = await startMailServer()
    await using opened = open(smtpChannel(server.port, { perHour: 2 }))
    await block(...names.slice(0, 6))
    await opened.look()
    await block('c6')
    await opened.look(60)
    await block('c7', 'c8')
    await opened.look(600)
    const within = subjects(server)

    await opened.look(hour - 600)

    expect(within).toEqual(['[Rollcall] 6 connections: 6 alerts', '[Rollcall] c6: the platform refuses all requests'])
    expect(subjects(server).slice(2)).toEqual(['[Rollcall] 2 connections: 2 alerts'])
    expect((await openAlerts(store.db)).flatMap(({ notified }) => notified.map(({ sent }) => sent))).toEqual(
      Array.from({ length: 18 }, () => 1),
    )
  })

  test('holds nothing back from a webhook, or from the log', async () => {
    await using receiver = await startAlertReceiver()
    await using opened = open(webhookChannel(receiver.url))
    await block(...names)

    await opened.look()

    expect(receiver.received).toHaveLength(names.length)
    expect(opened.reported).toHaveLength(names.length)
  })
})

test('a chat that asks for a pause gets no alert until the pause is over', async () => {
  const answers = [{ status: 429, retryAfter: '120' }]
  await using chat = await startChat(() => answers.shift() ?? { status: 200 })
  await using opened = open(slackChannel(chat.url))
  await block('c1', 'c2')
  await opened.look()
  await block('c3')
  await opened.look(60)
  await opened.look(59)
  const early = [...chat.asked]

  await opened.look(1)

  expect(early).toEqual([429])
  expect(chat.asked).toEqual([429, 200])
})

test('a test of the channels sends through all at once, and reports the result of each', async () => {
  await using receiver = await startAlertReceiver()
  await using server = await startMailServer()
  await using chat = await startChat(() => ({ status: 500 }))
  const settings = {
    ...quietAlerts,
    channels: [webhookChannel(receiver.url), smtpChannel(server.port), slackChannel(chat.url)],
  }
  const { signal } = new AbortController()

  const tested = await testAlerts(settings, { now: new Date(), signal })
  const one = await testAlerts(settings, { channel: 'mail', now: new Date(), signal })

  expect(tested).toEqual([
    { channel: 'pager', type: 'webhook', failure: null },
    { channel: 'mail', type: 'smtp', failure: null },
    { channel: 'chat', type: 'slack', failure: expect.stringMatching(/answers 500$/) },
  ])
  expect(one).toEqual([{ channel: 'mail', type: 'smtp', failure: null }])
  expect([receiver.tests.length, receiver.received.length]).toEqual([1, 0])
  expect(subjects(server)).toEqual(['[Rollcall] test', '[Rollcall] test'])
  await expect(testAlerts(settings, { channel: 'male', now: new Date(), signal })).rejects.toMatchObject({
    code: 'not_found',
    message: 'there is no channel "male" in the configuration; it has pager, mail, chat',
  })
})
