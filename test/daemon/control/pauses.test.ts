import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { localControl } from '../../../src/cli/session/command-context.ts'
import { machineCaller } from '../../../src/contract/control/access.ts'
import { conditionSettings } from '../../../src/daemon/alerts/freshness.ts'
import { scheduleTasks } from '../../../src/daemon/schedules/scheduled-runs.ts'
import { type ConnectionSchedule, createSchedules } from '../../../src/daemon/schedules/schedules.ts'
import { startWatches } from '../../../src/daemon/schedules/watches.ts'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { readEntry } from '../../../src/store/audit/trail.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import { quietAlerts } from '../../helpers/alert-settings.ts'
import { lastRun, later, receive, terminated, webhookFeed } from '../../helpers/events.ts'
import { type Host, openWorld, peopleOn, staff, startHost } from '../../helpers/world.ts'

const schedule = { cron: '0 2 * * *', timeZone: 'Europe/Berlin' }
const nightly: ConnectionSchedule = { connection: 'acme', purpose: 'read', schedule }
const acme = { params: { connection: 'acme' } }
const statement = { reason: 'HR moves to another system', by: 'ana' }

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** A connection with a schedule and events, used through the control API, on the evening of 20 November. */
async function open() {
  const { client } = await host.tenant()
  const world = await openWorld({ client, webhook: webhookFeed() })
  const { db } = world.sync.store
  const unable = () => Promise.reject(new Error('no key here'))
  const source = { connection: 'acme', mode: 'snapshot', isFile: true, schedule } as const
  const monitored = { connections: ['acme'], sources: [source], maxLeaverHours: new Map<string, number>() }
  const control = localControl({
    sync: world.sync,
    caller: machineCaller('ana'),
    audit: { trouble: () => null, seal: unable, verify: unable, replaceKey: unable },
    schedules: [nightly],
    alerts: quietAlerts,
    monitored,
    about: { version: '1.2.3', daemon: null, configuration: '', database: '', queue: '', platform: '' },
    signal: new AbortController().signal,
  })
  const startDaemon = () => createSchedules([nightly], scheduleTasks(world.sync))
  const at = (instant: string) => {
    world.clock.now = new Date(instant)
  }
  await world.night(staff(3))
  at('2026-11-20T19:00:00Z')
  await startDaemon()()
  return {
    world,
    client,
    control,
    startDaemon,
    at,
    scheduled: async () => {
      await world.drain()
      return (await listRuns(db, { limit: 100 })).filter(({ trigger }) => trigger === 'schedule').length
    },
    alerts: () => conditions(db, conditionSettings(monitored, quietAlerts, world.clock.now)),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

describe('a paused connection', () => {
  test('starts no run by its schedule, and makes up once for what it missed when a person ends the pause', async () => {
    await using opened = await open()
    const { at, control, startDaemon, scheduled } = opened
    const { paused } = await control.pauseConnection({ ...acme, body: statement })
    const tick = startDaemon()
    for (const day of ['21', '22', '23']) {
      at(`2026-11-${day}T01:00:00Z`)
      await tick()
    }
    const during = await scheduled()
    const [status] = (await control.status({})).connections

    at('2026-11-23T09:00:00Z')
    // The daemon was restarted meanwhile.
    const restarted = startDaemon()
    await restarted()
    const { paused: after } = await control.resumeConnection({ ...acme, body: { by: 'ben' } })
    await restarted()
    await restarted()

    expect(paused).toEqual({ since: '2026-11-20T19:00:00.000Z', until: null, ...statement })
    expect([during, after, await scheduled()]).toEqual([0, null, 1])
    expect(status).toMatchObject({ paused, nextAt: null })
    expect(opened.world.events).toContainEqual(
      expect.objectContaining({ event: 'schedule.missed', connection: 'acme', slot: '2026-11-23T02:00' }),
    )
  })

  test.each([
    ['a day', '2026-11-22', '2026-11-21T23:00:00.000Z'],
    ['a time in the zone of its schedule', '2026-11-22T06:30', '2026-11-22T05:30:00.000Z'],
    ['an instant', '2026-11-22T06:30Z', '2026-11-22T06:30:00.000Z'],
  ])('goes on by itself at its end, given as %s', async (_what, until, expected) => {
    await using opened = await open()
    const { at, control, startDaemon, scheduled } = opened
    const { paused } = await control.pauseConnection({ ...acme, body: { ...statement, until } })
    const tick = startDaemon()

    at(new Date(Date.parse(expected) - 1).toISOString())
    await tick()
    const [during] = (await control.status({})).connections
    const before = await scheduled()
    at(expected)
    await tick()

    expect([paused?.until, before, await scheduled()]).toEqual([expected, 0, 1])
    expect(during?.nextAt).toBe(expected)
    expect(await control.getPause(acme)).toEqual({ connection: 'acme', paused: null })
  })

  test('stores a departure that arrives as an event, and delivers it when the pause is over', async () => {
    await using opened = await open()
    const { world, client, control } = opened
    await control.pauseConnection({ ...acme, body: statement })
    await receive(world, terminated('E0002', '2026-11-19', '2026-11-20T19:00:00.000Z'))

    await later(world, 3600)
    const during = [await lastRun(world), (await peopleOn(client)).get('E0002')?.separatedAt]
    const [status] = (await control.status({})).connections
    await control.resumeConnection({ ...acme, body: { by: 'ben' } })
    await later(world, 1)

    expect(during).toMatchObject([{ feed: 'source' }, null])
    expect(status?.inbox?.pending).toBe(1)
    expect((await peopleOn(client)).get('E0002')?.separatedAt).toBe('2026-11-19T00:00:00.000Z')
  })

  test('can still be run by a person, with the events that wait', async () => {
    await using opened = await open()
    const { world, client, control } = opened
    await control.pauseConnection({ ...acme, body: statement })
    await receive(world, terminated('E0002', '2026-11-19', '2026-11-20T19:00:00.000Z'))

    const run = await world.night(staff(4), { asOf: '2026-11-20T12:00:00.000Z' })

    const people = await peopleOn(client)
    expect([run.state, people.size, people.get('E0002')?.separatedAt]).toEqual([
      'finished',
      4,
      '2026-11-19T00:00:00.000Z',
    ])
    expect((await control.getPause(acme)).paused).toMatchObject(statement)
  })

  test('is read after the pause if an export arrived in a watched folder meanwhile', async () => {
    await using opened = await open()
    const { world, control } = opened
    const signs: (() => void)[] = []
    Object.assign(world.connection.feeds.source?.connector ?? {}, {
      watch: async ({ onArrival }: { onArrival: () => void }) => {
        signs.push(onArrival)
        return { [Symbol.asyncDispose]: async () => {} }
      },
    })
    await control.pauseConnection({ ...acme, body: statement })
    await using _watches = await startWatches(world.sync, { pauseMs: 5 })

    for (const arrived of signs) arrived()
    await expect.poll(() => signs.length).toBe(1)
    await control.resumeConnection({ ...acme, body: { by: 'ben' } })

    await expect.poll(async () => (await lastRun(world)).trigger).toBe('file')
  })

  test('has its run requested again if the store refused the request when an export arrived', async () => {
    await using opened = await open()
    const { world } = opened
    let notifyArrival = (): void => {}
    Object.assign(world.connection.feeds.source?.connector ?? {}, {
      watch: async ({ onArrival }: { onArrival: () => void }) => {
        notifyArrival = onArrival
        return { [Symbol.asyncDispose]: async () => {} }
      },
    })
    const failures: unknown[] = []
    let isAway = true
    const expectShort = () => {
      if (isAway) throw new Error('the store is away')
    }
    const events = { ...world.sync.events, unexpected: (about: unknown) => failures.push(about) }
    await using _watches = await startWatches(
      { ...world.sync, expectShortWork: expectShort, events } as typeof world.sync,
      {
        pauseMs: 5,
      },
    )

    notifyArrival()
    await expect.poll(() => failures.length).toBeGreaterThan(0)
    isAway = false

    await expect.poll(async () => (await lastRun(world))?.trigger).toBe('file')
    expect(failures[0]).toMatchObject({ during: 'watches' })
  })

  test('is an alert after a day, and earlier when events wait in it; what HR says is not called stale meanwhile', async () => {
    await using opened = await open()
    const { world, at, control, alerts } = opened
    await control.pauseConnection({ ...acme, body: statement })

    at('2026-11-21T18:59:59Z')
    const early = await alerts()
    at('2026-11-23T12:00:00Z')
    const late = await alerts()
    await control.pauseConnection({ ...acme, body: { ...statement, until: '2026-12-24' } })
    await receive(world, terminated('E0002', '2026-11-19', '2026-11-20T19:00:00.000Z'))
    at('2026-11-23T13:00:00Z')
    const waiting = await alerts()
    await control.resumeConnection({ ...acme, body: { by: 'ben' } })
    const resumed = await alerts()
    at('2026-11-23T14:00:01Z')

    const reason = 'the connection is paused since 2026-11-20 19:00 UTC, until a person ends it'
    expect(early).toEqual([])
    expect(late).toMatchObject([{ connection: 'acme', kind: 'paused', code: null, reason }])
    expect(waiting).toMatchObject([
      {
        kind: 'paused',
        code: 'events_wait',
        reason: 'the connection is paused since 2026-11-20 19:00 UTC, until 2026-12-23 23:00 UTC, and 1 event waits',
      },
    ])
    expect(resumed).toEqual([])
    expect(await alerts()).toMatchObject([{ kind: 'stale' }])
  })
})

test('who began and who ended a pause is recorded, with the reason', async () => {
  await using opened = await open()
  const { world, control } = opened

  await control.pauseConnection({ ...acme, body: { ...statement, until: '2026-11-22' } })
  await control.resumeConnection({ ...acme, body: { by: 'ben' } })

  const rows = await world.sync.store.db.selectFrom('audit_pending').select('entry').orderBy('id').execute()
  const acts = rows.map(({ entry }) => readEntry(entry)).filter((entry) => entry?.act.startsWith('connection.'))
  expect(acts).toMatchObject([
    {
      act: 'connection.paused',
      connection: 'acme',
      by: 'ana',
      details: { until: '2026-11-21T23:00:00.000Z', reason: statement.reason },
    },
    { act: 'connection.resumed', connection: 'acme', by: 'ben' },
  ])
})

test('an impossible end date of a pause is refused, and so is ending a pause that does not exist', async () => {
  await using opened = await open()
  const { control } = opened
  const refusal = (until: string) =>
    control.pauseConnection({ ...acme, body: { ...statement, until } }).then(
      () => 'taken',
      (error: Error) => error.message,
    )

  const refused = [
    await refusal('tomorrow'),
    await refusal('2026-02-30'),
    await refusal('2026-11-20'),
    await refusal('2028-01-01'),
  ]

  expect(refused).toEqual([
    '"tomorrow" is no end of a pause: write a day such as 2026-12-31, a time such as 2026-12-31T06:00, or an instant such as 2026-12-31T06:00Z',
    expect.stringContaining('"2026-02-30" is no end of a pause'),
    '2026-11-20 is not in the future: it is 2026-11-20T19:00:00.000Z now',
    '2028-01-01 is more than a year ahead: take the connection out of the configuration instead',
  ])
  await expect(control.resumeConnection({ ...acme, body: { by: 'ben' } })).rejects.toThrow(
    'connection "acme" is not paused',
  )
  await expect(control.getPause({ params: { connection: 'nowhere' } })).rejects.toThrow('no connection "nowhere"')
})

test('a linked connection cannot be paused by itself, because its owner starts its runs', async () => {
  await using opened = await open()
  const { world, control } = opened
  const linked = { ...world.connection, name: 'records', linkedTo: 'acme' }
  Object.assign(world.sync, { connections: new Map([...world.sync.connections, ['records', linked]]) })
  const records = { params: { connection: 'records' } }

  const refused = control.pauseConnection({ ...records, body: statement })

  await expect(refused).rejects.toThrow('connection "records" reads what "acme" reads: pause "acme"')
  expect(await control.getPause(records)).toMatchObject({ paused: null })
})
