import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HandOverMails } from '../../../src/daemon/config/hand-over-settings.ts'
import { namesFor } from '../../../src/daemon/control/hand-over.ts'
import { mailIfDue } from '../../../src/daemon/hand-over/mailing.ts'
import { readHandOver } from '../../../src/daemon/hand-over/read.ts'
import { openAlerts, recordConditions } from '../../../src/store/alerts/alerts.ts'
import { conditions } from '../../../src/store/alerts/conditions.ts'
import { claimMail } from '../../../src/store/rejects/hand-over.ts'
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

const [badDate, badMail] = [
  { id: 'E0004', leavingDate: '0000-00-00' },
  { id: 'E0002', email: 'DISABLED' },
]
const settings: HandOverMails = {
  channel: 'mail',
  to: ['hr@acme.example'],
  schedule: { cron: '0 7 * * *', timeZone: 'UTC' },
  connections: null,
  attachment: 'csv',
  valuesInBody: false,
}

describe.each(databases)('mails to HR on $name', ({ createDatabase }) => {
  async function open(mails: Partial<HandOverMails> = {}) {
    await using opening = new AsyncDisposableStack()
    const { client } = await host.tenant()
    const { at } = opening.use(await createDatabase())
    const world = opening.use(await openWorld({ at, client }))
    const rules: {
      refusal?: Refusal | undefined
      refused?: string | undefined
      answer?: Refusal
      onData?: () => void
    } = {}
    const server = opening.use(
      await startMailServer({
        refuse(command, address) {
          if (command === 'data') rules.onData?.()
          if (command === 'data') return rules.refusal
          if (address !== rules.refused) return undefined
          return rules.answer ?? new Refusal(451, '4.7.1 come back later')
        },
      }),
    )
    const events: object[] = []
    const context = {
      db: world.sync.store.db,
      mails: { ...settings, ...mails },
      connections: ['acme'],
      leaders: new Map<string, string>(),
      alerts: { ...quietAlerts, channels: [smtpChannel(server.port, { to: ['ops@acme.example'] })] },
      addNames: namesFor(world.sync),
      events: silentEvents(({ event, ...fields }) => {
        if (event.startsWith('hand_over')) events.push({ event, ...fields })
      }),
      now: () => world.clock.now,
    }
    const opened = opening.move()
    return {
      ...{ world, server, rules, context, events },
      /** Checks at this hour of a day of December 2026. */
      at: async (dayOfMonth: number, hour: number) => {
        world.clock.now = new Date(Date.UTC(2026, 11, dayOfMonth, hour))
        await mailIfDue(context, new AbortController().signal)
      },
      /** The alerts about mails to HR at this hour. */
      alertsAt: async (dayOfMonth: number, hour: number, mailed = ['acme']) => {
        const now = new Date(Date.UTC(2026, 11, dayOfMonth, hour))
        const limits = { overdueMinutes: 60, pausedHours: 24, maxLeaverHours: new Map(), freshness: [] }
        const all = await conditions(context.db, {
          connections: ['acme'],
          connectionsWithHrMails: mailed,
          ...limits,
          now,
        })
        return all.filter(({ kind }) => kind === 'hr_mail')
      },
      /** What is known of the mails. */
      stored: () => context.db.selectFrom('hand_over_mails').selectAll().executeTakeFirstOrThrow(),
      night: (dayOfMonth: number, ...changed: Parameters<typeof change>[1][]) =>
        world.night(change(staff(20), ...changed), { asOf: new Date(Date.UTC(2026, 11, dayOfMonth, 1)).toISOString() }),
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    }
  }

  test('go out once by the schedule, to HR only, and not again until something is new', async () => {
    await using opened = await open()
    const { at, night, server, events, world } = opened
    await night(1, badDate)

    await at(1, 6)
    await at(1, 8)
    const first = [...server.received]
    await at(1, 9)
    await night(2, badDate)
    await at(2, 8)
    const second = server.received.length
    await night(3, badDate, badMail)
    await at(3, 8)

    expect(first).toMatchObject([{ to: ['hr@acme.example'], headers: { 'auto-submitted': 'auto-generated' } }])
    expect(first[0]?.raw).toContain('hr-corrections-2026-12-01.csv')
    expect(second).toBe(1)
    expect(server.received.at(-1)?.headers.subject).toContain('2 cells or rows of 2 people')
    expect(server.received).toHaveLength(2)
    expect(events).toMatchObject([
      { event: 'hand_over.sent', entries: 1 },
      { event: 'hand_over.sent', entries: 2 },
    ])
    const acts = await world.sync.store.db.selectFrom('audit_pending').select('entry').execute()
    expect(acts.filter(({ entry }) => entry.includes('hr.mailed'))).toHaveLength(2)
  })

  test('go out again for a fault that was corrected and came back', async () => {
    await using opened = await open()
    const { at, night, server } = opened
    await night(1, badDate)
    await at(1, 6)
    await at(1, 8)
    await night(2)
    await at(2, 8)
    await night(3, badDate)

    await at(3, 8)

    expect(server.received).toHaveLength(2)
  })

  test('go out again for a fault that now may hide a departure', async () => {
    await using opened = await open()
    const { at, server, world } = opened
    const twice = (changed: Parameters<typeof change>[1]) => [...staff(20), ...change([person], changed)]
    const [person = { id: 'E0004' }] = staff(4).slice(3)
    await world.night(staff(20), { asOf: '2026-12-01T01:00:00.000Z' })
    await world.night(twice({ id: 'E0004', title: 'Lead' }), { asOf: '2026-12-01T02:00:00.000Z' })
    await at(1, 6)
    await at(1, 8)
    const first = server.received.length
    await world.night(twice({ id: 'E0004', title: 'Lead', leavingDate: '2026-11-30' }), {
      asOf: '2026-12-02T01:00:00.000Z',
    })
    await at(2, 8)

    expect([first, server.received.length]).toEqual([1, 2])
    expect(server.received[1]?.headers.subject).toContain('may hide a departure')
  })

  test('are not sent about a connection that is no longer configured', async () => {
    await using opened = await open()
    const { night, at, server, context } = opened
    await night(1, badDate)
    await at(1, 6)
    opened.world.clock.now = new Date(Date.UTC(2026, 11, 1, 8))
    await mailIfDue({ ...context, connections: ['acme-emea'] }, new AbortController().signal)

    expect(server.received).toEqual([])
  })

  test('do not go out at other times where two processes have different schedules', async () => {
    await using opened = await open()
    const { night, at, server, context, stored } = opened
    const other = { ...context, mails: { ...context.mails, schedule: { cron: '0 8 * * *', timeZone: 'UTC' } } }
    await at(1, 6)
    await at(1, 9)
    await mailIfDue(other, new AbortController().signal)
    await night(1, badDate)

    await at(1, 10)
    await mailIfDue(other, new AbortController().signal)

    expect(server.received).toEqual([])
    expect(await stored()).toMatchObject({ slot: '2026-12-01T08:00' })
  })

  test('have the same Message-ID if the first attempt arrived and nobody learned of it', async () => {
    await using opened = await open()
    const { night, at, server, context } = opened
    await night(1, badDate)
    await at(1, 6)
    await at(1, 8)
    await context.db.updateTable('hand_over_mails').set({ slot: '2026-11-30T07:00' }).execute()
    await context.db.updateTable('known_faults').set({ mailed_at: null }).execute()
    await at(1, 9)
    await night(2, badMail)
    await at(2, 9)

    const [first, repeated, next] = server.received.map(({ headers }) => headers['message-id'])
    expect(first).toMatch(/^<[0-9a-f]{32}@/)
    expect(repeated).toBe(first)
    expect(next).not.toBe(first)
  })

  test('go without the list if that is too large for the server', async () => {
    await using opened = await open()
    const { night, at, server, rules, events } = opened
    await night(1, badDate)
    await at(1, 6)
    let attempts = 0
    rules.onData = () => {
      rules.refusal = attempts++ === 0 ? new Refusal(552, '5.3.4 message too big') : undefined
    }
    await at(1, 8)

    expect(server.received).toHaveLength(1)
    expect(server.received[0]?.raw).not.toContain('hr-corrections')
    expect(events).toMatchObject([
      { event: 'hand_over.unsent', reason: expect.stringContaining('552 5.3.4') },
      { event: 'hand_over.sent' },
    ])
  })

  test('ask once for a cell that two connections read in the same export', async () => {
    await using opened = await open()
    const { night, context } = opened
    const { db } = context
    await night(1, badDate)
    await sql`insert into connections (name) values ('acme-records')`.execute(db)
    await sql`
      insert into known_faults
      select (jsonb_populate_record(f, '{"connection": "acme-records"}')).* from known_faults f`.execute(db)
    const query = { connections: ['acme', 'acme-records'], now: context.now(), addNames: null }

    const apart = await readHandOver(db, { ...query, leaders: new Map() })
    const linked = await readHandOver(db, { ...query, leaders: new Map([['acme-records', 'acme']]) })

    expect([apart.list.count, linked.list.count, linked.faults.length]).toEqual([2, 1, 2])
  })

  test('are tried again after a refusal, and a fault counts as new until the server has taken a mail', async () => {
    await using opened = await open()
    const { at, night, server, rules, events } = opened
    await night(1, badDate)
    await at(1, 6)
    rules.refusal = new Refusal(451, '4.3.0 try later')
    await at(1, 8)
    rules.refusal = undefined
    await at(1, 9)
    await at(1, 10)

    expect(server.received).toHaveLength(1)
    expect(events).toMatchObject([
      { event: 'hand_over.unsent', channel: 'mail', attempt: 1 },
      { event: 'hand_over.sent' },
    ])
    expect(JSON.stringify(events)).not.toContain('hr@acme.example')
  })

  test('that fail for too long are an alert of each connection that they are about, until one gets through', async () => {
    await using opened = await open()
    const { at, night, rules, alertsAt } = opened
    await night(1, badDate)
    await at(1, 6)
    rules.refusal = new Refusal(451, '4.3.0 try later')
    await at(1, 8)
    const atFirst = await alertsAt(1, 8)
    await at(1, 9)
    const later = await alertsAt(1, 10)
    const ofOthers = await alertsAt(1, 10, ['globex'])
    rules.refusal = undefined
    await at(1, 10)

    expect([atFirst, ofOthers, await alertsAt(1, 12)]).toEqual([[], [], []])
    expect(later).toMatchObject([
      {
        connection: 'acme',
        since: new Date(Date.UTC(2026, 11, 1, 8)),
        reason: expect.stringMatching(/refuses the mail \(451 4\.3\.0\); "rollcall check" tests its server/),
      },
    ])
    expect(JSON.stringify(later)).not.toContain('hr@acme')
  })

  test('that fail are no alert of a connection whose faults were all mailed', async () => {
    await using opened = await open()
    const { at, night, rules, alertsAt } = opened
    await night(1, badDate)
    await at(1, 6)
    await at(1, 8)
    await night(2, badDate, badMail)
    rules.refusal = new Refusal(451, '4.3.0 try later')
    await at(2, 8)
    const withNew = await alertsAt(2, 10)
    await night(3, badDate)

    expect([withNew.length, await alertsAt(3, 6)]).toEqual([1, []])
  })

  test('that one of several addresses refuses are an alert until a mail reaches all, also while nothing is new', async () => {
    await using opened = await open({ to: ['hr@acme.example', 'ben@acme.example'] })
    const { at, night, server, rules, alertsAt } = opened
    await night(1, badDate)
    await at(1, 6)
    rules.refused = 'ben@acme.example'
    await at(1, 8)
    await at(2, 8)
    const later = await alertsAt(2, 10)
    rules.refused = undefined
    await night(3, badDate, badMail)
    await at(3, 8)

    expect(later).toMatchObject([
      {
        since: new Date(Date.UTC(2026, 11, 1, 8)),
        reason: expect.stringMatching(
          /^not every address of HR got the last mail: \S+ refuses to\[1\] \(451 4\.7\.1\)/,
        ),
      },
    ])
    expect(server.received.map(({ to }) => to.length)).toEqual([1, 2])
    expect(await alertsAt(3, 12)).toEqual([])
  })

  test('that an address refuses for good reach the others each day, and raise one alert', async () => {
    await using opened = await open({ to: ['hr@acme.example', 'gone@acme.example'] })
    const { at, night, server, rules, alertsAt, context, events } = opened
    Object.assign(rules, { refused: 'gone@acme.example', answer: new Refusal(550, '5.1.1 no such user') })
    const channels = [{ name: 'pager', connections: null, kinds: null }]
    await night(1)
    await at(1, 8)
    for (const day of [2, 3, 4, 5]) {
      await night(day, { ...badMail, id: `E001${day}` })
      await at(day, 8)
      await at(day, 9)
      const now = new Date(Date.UTC(2026, 11, day, 10))
      await recordConditions(context.db, await alertsAt(day, 10), { channels, now })
    }
    const raised = await openAlerts(context.db)

    expect(server.received.map(({ to }) => to)).toEqual(Array.from({ length: 4 }, () => ['hr@acme.example']))
    expect(raised).toMatchObject([
      {
        kind: 'hr_mail',
        raisedAt: new Date(Date.UTC(2026, 11, 2, 10)),
        reason: expect.stringMatching(
          /refuses to\[1\] \(550 5\.1\.1\); correct in handOver\.to what the server refuses/,
        ),
        notified: [{ channel: 'pager', sent: 0 }],
      },
    ])
    expect(events.map((event) => 'event' in event && event.event)).toEqual(
      Array.from({ length: 4 }, () => 'hand_over.sent'),
    )
    expect(JSON.stringify(raised)).not.toContain('gone@')
  })

  test('that cannot be made count as failed, without the text of the error', async () => {
    await using opened = await open()
    const { at, night, server, context, stored } = opened
    await night(1, badDate)
    await at(1, 6)
    opened.world.clock.now = new Date(Date.UTC(2026, 11, 1, 8))
    const addNames = () => Promise.reject(new Error('out of memory at 0000-00-00'))
    await mailIfDue({ ...context, addNames }, new AbortController().signal)
    const failed = await stored()
    await at(1, 9)

    expect(failed).toMatchObject({
      failing_since: new Date(Date.UTC(2026, 11, 1, 8)),
      last_failure: 'the list could not be made; the log has the reason',
    })
    expect(server.received).toHaveLength(1)
  })

  test('that a stop of the daemon interrupts are sent afterwards, and have not failed', async () => {
    await using opened = await open()
    const { at, night, server, rules, context, stored } = opened
    await night(1, badDate)
    await at(1, 6)
    opened.world.clock.now = new Date(Date.UTC(2026, 11, 1, 8))
    const stopping = new AbortController()
    rules.onData = () => stopping.abort()
    rules.refusal = new Refusal(421, '4.3.2 closing')
    await mailIfDue(context, stopping.signal)
    const interrupted = await stored()
    rules.refusal = undefined
    await at(1, 8)

    expect(interrupted).toMatchObject({ failing_since: null, attempts: 0, claimed_until: null, retry_at: null })
    expect(server.received).toHaveLength(1)
  })

  test('of a process that died while it sent are sent by another one, and never by two at once', async () => {
    await using opened = await open()
    const { at, night, server, context } = opened
    await night(1, badDate)
    await at(1, 6)
    const slot = '2026-12-01T07:00'
    const claimed = await claimMail(context.db, { slot, now: new Date(Date.UTC(2026, 11, 1, 7)) })

    const meanwhile = await claimMail(context.db, { slot, now: new Date(Date.UTC(2026, 11, 1, 7, 1)) })
    await at(1, 8)

    expect(claimed).toMatchObject({ slot })
    expect(meanwhile).toBeNull()
    expect(server.received).toHaveLength(1)
  })

  test('have no value in their text, and the name and the cell in the attachment', async () => {
    await using opened = await open()
    const { at, night, server } = opened
    await night(1, badDate)
    await at(1, 6)

    await at(1, 8)

    const raw = server.received[0]?.raw ?? ''
    const attached = Buffer.from(/base64[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--/.exec(raw)?.[1] ?? '', 'base64').toString()
    expect(raw).toContain('1 cell in Leaving Date')
    expect(raw).not.toMatch(/0000-00-00|Person 4/)
    expect(attached).toMatch(/"Person 4","E0004",.*"Leaving Date","0000-00-00"/)
  })
})
