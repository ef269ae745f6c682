import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { WeeklyMails } from '../../../src/daemon/config/weekly-settings.ts'
import { mailWeekIfDue } from '../../../src/daemon/weekly/mailing.ts'
import { readWeek } from '../../../src/daemon/weekly/read.ts'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { cancelRun, requestRun } from '../../../src/sync/sync.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { quietAlerts, smtpChannel } from '../../helpers/alert-settings.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { Refusal, startMailServer } from '../../helpers/sources/mail-server.ts'
import { change, type Host, openWorld, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const settings: WeeklyMails = {
  channel: 'mail',
  to: ['lead@acme.example'],
  schedule: { cron: '0 7 * * 1', timeZone: 'Europe/Berlin' },
  connections: null,
}

/** For how long other work had to wait at most, until a promise is kept. */
async function longestTurnMs(until: Promise<unknown>): Promise<number> {
  let isOver = false
  const ending = until.finally(() => {
    isOver = true
  })
  let longestMs = 0
  while (!isOver) {
    const startMs = performance.now()
    await setImmediate()
    longestMs = Math.max(longestMs, performance.now() - startMs)
  }
  await ending
  return longestMs
}

describe.each(databases)('the weekly summary on $name', ({ createDatabase }) => {
  async function open() {
    await using opening = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = opening.use(await createDatabase())
    const world = opening.use(await openWorld({ at, client }))
    const rules: { refusal?: Refusal | undefined } = {}
    const server = opening.use(
      await startMailServer({ refuse: (command) => (command === 'data' ? rules.refusal : undefined) }),
    )
    const nightly = { cron: '0 2 * * *', timeZone: 'Europe/Berlin' }
    const context = {
      db: world.sync.store.db,
      mails: settings,
      alerts: { ...quietAlerts, channels: [smtpChannel(server.port, { to: ['ops@acme.example'] })] },
      connections: new Map([['acme', nightly]]),
      connectionsWithoutTwoPeople: [],
      events: silentEvents(),
      now: () => world.clock.now,
    }
    const opened = opening.move()
    return {
      ...{ world, server, rules, context },
      /** Checks at this time of December 2026, in UTC; the first of it is a Tuesday. */
      at: async (dayOfMonth: number, hour: number, minute = 0) => {
        world.clock.now = new Date(Date.UTC(2026, 11, dayOfMonth, hour, minute))
        await mailWeekIfDue(context, new AbortController().signal)
      },
      alertsAt: async (dayOfMonth: number, hour: number) => {
        const now = new Date(Date.UTC(2026, 11, dayOfMonth, hour))
        const limits = { overdueMinutes: 60, pausedHours: 24, maxLeaverHours: new Map(), freshness: [] }
        const all = await conditions(context.db, {
          connections: ['acme'],
          connectionsWithWeeklyMails: ['acme'],
          ...limits,
          now,
        })
        return all.filter(({ kind }) => kind === 'hr_mail')
      },
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    }
  }

  test('says what happened in the week, and nothing of people', async () => {
    await using at = await open()
    await at.at(7, 6)
    const night = async (day: number, rows = staff(6)) => {
      const time = `2026-12-0${day}T01:30:00.000Z`
      at.world.clock.now = new Date(time)
      await at.world.night(rows, { asOf: time })
    }
    await night(8)
    await night(9, change(staff(6), { id: 'E0003', leavingDate: '2026-12-08' }))

    await at.at(14, 5, 59)
    const before = at.server.received.length
    await at.at(14, 6)

    const [mail] = at.server.received
    expect(before).toBe(0)
    expect(mail?.to).toEqual(['lead@acme.example'])
    expect(mail?.body).toContain('From 2026-12-07 07:00 +01:00 to 2026-12-14 07:00 +01:00. Times are of Europe/Berlin.')
    expect(mail?.body).toContain('Read: 2 of 7 times; not at 2026-12-10 02:00 +01:00, ')
    expect(mail?.body).toContain('Changes: 6 joiners, 0 changed, 1 leaver')
    expect(mail?.body).toMatch(/Departures: 1 acknowledged, the slowest after \d+ min/)
    expect(mail?.body).toContain('Open alerts: none')
    expect(mail?.body).not.toMatch(/E000|acme\.example/)
  })

  test('counts no time before the first run as missed, and no cancelled run as a held plan', async () => {
    await using at = await open()
    await at.at(7, 6)
    const time = '2026-12-11T01:30:00.000Z'
    at.world.clock.now = new Date(time)
    await at.world.night(staff(6), { asOf: time })
    const { id } = await requestRun(at.world.sync, { connection: 'acme', trigger: 'operator' })
    await cancelRun(at.world.sync, { runId: id, by: 'ana' })
    await at.at(14, 6)

    const body = at.server.received[0]?.body
    expect(body).toContain('Read: 1 of 4 times; not at 2026-12-12 02:00 +01:00, ')
    expect(body).not.toContain('Held plan')
  })

  test('is sent once, whichever process sends it, and late once if nobody could', async () => {
    await using at = await open()
    await at.at(7, 6)
    await Promise.all([at.at(14, 6), at.at(14, 6), at.at(14, 6)])
    await at.at(14, 7)
    const once = at.server.received.length
    // Two weeks without any process.
    await at.at(30, 12)
    await at.at(30, 13)

    expect(once).toBe(1)
    expect(at.server.received).toHaveLength(2)
    expect(at.server.received[1]?.body).toContain('From 2026-12-14 07:00 +01:00 to 2026-12-28 07:00 +01:00.')
    expect(at.server.received[1]?.body).toContain('This mail is late')
  })

  test('is not sent again by a process whose clock is behind, or that has another hour', async () => {
    await using at = await open()
    await at.at(7, 6)
    await at.at(14, 6)
    // A minute before, the newest slot is that of the week before.
    await at.at(14, 5, 59)
    await at.at(14, 6)
    const later = { ...at.context, mails: { ...settings, schedule: { ...settings.schedule, cron: '0 9 * * 1' } } }
    at.world.clock.now = new Date(Date.UTC(2026, 11, 14, 8, 30))
    await mailWeekIfDue(later, new AbortController().signal)
    await at.at(14, 8, 30)

    expect(at.server.received).toHaveLength(1)
  })

  test('is sent after the clock of a process was wrong by a year', async () => {
    await using at = await open()
    await at.at(7 + 365, 6)
    await at.at(14, 6)

    expect(at.server.received).toHaveLength(1)
    expect(at.server.received[0]?.body).toContain('From 2026-12-07 07:00 +01:00 to 2026-12-14 07:00 +01:00.')
  })

  test('leaves the process free for other work while it is made', async () => {
    await using at = await open()
    const connections = new Map(
      Array.from({ length: 40 }, (_, index) => [`c${index}`, { cron: `${index} * * * *`, timeZone: 'Europe/Berlin' }]),
    )
    const period = { from: new Date('2026-12-07T06:00:00Z'), to: new Date('2026-12-14T06:00:00Z') }

    const reading = readWeek(at.context.db, { connections, connectionsWithoutTwoPeople: [], ...period, now: period.to })
    const [week, longestMs] = await Promise.all([reading, longestTurnMs(reading)])

    expect(week.map(({ readings }) => readings?.due)).toEqual(week.map(() => 168))
    expect(longestMs).toBeLessThan(1000)
  })

  test('is tried again while the server fails, and an alert says so', async () => {
    await using at = await open()
    await at.at(7, 6)
    at.rules.refusal = new Refusal(451, '4.7.1 come back later')
    await at.at(14, 6)
    const early = await at.alertsAt(14, 6)
    const late = await at.alertsAt(14, 8)
    at.rules.refusal = undefined
    await at.at(14, 9)

    expect(early).toEqual([])
    expect(late).toMatchObject([{ connection: 'acme', code: 'weekly', reason: expect.stringMatching(/451/) }])
    expect(at.server.received).toHaveLength(1)
    expect(await at.alertsAt(14, 10)).toEqual([])
  })
})
