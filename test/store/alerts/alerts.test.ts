import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { type ChannelFilter, openAlerts, recordConditions } from '../../../src/store/alerts/alerts.ts'
import type { Condition } from '../../../src/store/alerts/condition.ts'
import {
  type ClaimedNotification,
  claimNotifications,
  countMessages,
  makeNotificationsDueNow,
  recordSent,
  recordUnsent,
} from '../../../src/store/alerts/notifications.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { ensureConnection } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { databases, emptyTables, type TestDatabase } from '../../helpers/servers/databases.ts'

const start = new Date('2026-11-20T12:00:00.000Z')
const hourMs = 60 * 60_000

const pager: ChannelFilter = { name: 'pager', connections: null, kinds: null }

/** The time this many seconds after the start. */
const at = (seconds: number) => new Date(start.getTime() + seconds * 1000)

function condition(overrides: Partial<Condition> = {}): Condition {
  return {
    connection: 'acme',
    kind: 'blocked',
    code: 'key_refused',
    reason: 'the platform does not accept the API key (401)',
    since: at(-5),
    people: 3,
    leavers: 1,
    runId: null,
    ...overrides,
  }
}

describe.each(databases)('alerts on $name', ({ createDatabase }) => {
  let placed: TestDatabase
  let store: Database<StoreSchema>
  beforeAll(async () => {
    placed = await createDatabase()
    store = await openDatabase<StoreSchema>({ at: placed.at, schemas: ['rollcall'], migrations })
  })
  afterAll(async () => {
    await store[Symbol.asyncDispose]()
    await placed[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    await emptyTables(store, 'rollcall')
    for (const name of ['acme', 'beta']) await ensureConnection(store.db, name)
  })

  const record = (current: readonly Condition[], seconds: number, channels: readonly ChannelFilter[] = [pager]) =>
    recordConditions(store.db, current, { channels, now: at(seconds) })
  const markSent = (claimed: ClaimedNotification, seconds: number) =>
    recordSent(store.db, {
      claims: [{ ...claimed, remindAt: new Date(at(seconds).getTime() + 24 * hourMs) }],
      now: at(seconds),
    })

  async function claimNotification(seconds: number, channel = 'pager'): Promise<ClaimedNotification | null> {
    const [claimed] = await claimNotifications(store.db, { channel, limit: 1, now: at(seconds) })
    return claimed ?? null
  }

  async function claim(seconds: number): Promise<ClaimedNotification> {
    const claimed = await claimNotification(seconds)
    if (!claimed) throw new Error('there was nothing to tell')
    return claimed
  }

  /** Claims everything that is due and marks it as sent; returns what was sent about which connection. */
  async function sendAll(seconds: number, channel = 'pager'): Promise<string[]> {
    const notifications: string[] = []
    for (let next = await claimNotification(seconds, channel); next; next = await claimNotification(seconds, channel)) {
      await markSent(next, seconds)
      notifications.push(`${next.type} ${next.alert.connection}`)
    }
    return notifications
  }

  test('a condition raises one alert, however often it is recorded, and by any number of processes', async () => {
    await Promise.all(Array.from({ length: 6 }, () => record([condition()], 0)))
    await record([condition({ people: 4 })], 10)

    const alerts = await openAlerts(store.db)

    expect(alerts).toEqual([
      {
        ...condition({ people: 4 }),
        id: expect.any(String),
        raisedAt: at(0),
        clearedAt: null,
        notified: [{ channel: 'pager', sent: 0, notifiedAt: null, lastFailure: null, nextAt: at(0) }],
      },
    ])
  })

  test('is sent once when raised, and once when cleared', async () => {
    await record([condition()], 0)
    const first = await sendAll(0)
    await record([condition({ people: 4 })], 10)
    const meanwhile = await sendAll(10)
    await record([], 20)
    await record([], 50)

    const last = await sendAll(50)

    expect([first, meanwhile, last]).toEqual([['raised acme'], [], ['cleared acme']])
    expect(await sendAll(100_000_000)).toEqual([])
  })

  test('a condition that is absent for less than half a minute stays the same alert', async () => {
    await record([condition()], 0)
    const [before] = await openAlerts(store.db)
    await record([], 10)
    await record([], 39)
    await record([condition()], 40)
    await record([], 41)
    await record([], 70)

    const [after] = await openAlerts(store.db)

    expect(after?.id).toBe(before?.id)
  })

  test('is cleared as of its first absence, and a later one is a new alert', async () => {
    await record([condition()], 0)
    const [first] = await openAlerts(store.db)
    await sendAll(0)
    await record([], 10)
    await record([], 40)
    const over = await claim(40)
    await markSent(over, 40)
    await record([condition({ since: at(95) })], 100)

    const [second] = await openAlerts(store.db)

    expect(over).toMatchObject({ type: 'cleared', alert: { id: first?.id, clearedAt: at(10) } })
    expect(second).toMatchObject({ since: at(95), raisedAt: at(100) })
    expect(second?.id).not.toBe(first?.id)
  })

  test('an alert that was cleared before it was sent is sent in full, in order', async () => {
    await record([condition()], 0)
    await record([], 10)
    await record([], 40)
    await record([condition({ connection: 'beta' })], 50)

    const notifications = await sendAll(50)

    expect(notifications).toEqual(['raised acme', 'cleared acme', 'raised beta'])
  })

  test('an alert that stays open is sent again after a day', async () => {
    await record([condition()], 0)
    await sendAll(0)
    const day = 24 * 60 * 60
    const early = await sendAll(day - 1)

    const reminder = await claim(day)

    expect(early).toEqual([])
    expect(reminder).toMatchObject({ type: 'raised', sentBefore: 1 })
  })

  test('another cause of the same condition is sent, at most every quarter of an hour', async () => {
    const causes = (seconds: number) => condition({ code: seconds % 60 === 0 ? 'key_refused' : 'permission_missing' })
    await record([causes(0)], 0)
    const first = await sendAll(0)
    const flapping: string[] = []
    for (let seconds = 30; seconds < 1800; seconds += 30) {
      await record([causes(seconds)], seconds)
      flapping.push(...(await sendAll(seconds)))
    }

    expect(first).toEqual(['raised acme'])
    expect(flapping).toEqual(['raised acme'])
  })

  test('one of several concurrent senders sends', async () => {
    await record([condition()], 0)

    const claims = await Promise.all(Array.from({ length: 8 }, () => claimNotification(0)))

    expect(claims.filter(Boolean)).toHaveLength(1)
  })

  test('another process takes over after a minute, and the first one is too late then', async () => {
    await record([condition()], 0)
    const dead = await claim(0)
    const early = await claimNotification(59)
    const second = await claim(60)
    const late = [
      await markSent(dead, 61),
      await recordUnsent(store.db, dead, { failure: 'answers 500', retryAt: at(62) }),
    ]

    const ended = await markSent(second, 63)

    expect(early).toBeNull()
    expect(second.attempt).toBe(2)
    expect(late).toEqual([false, false])
    expect(ended).toBe(true)
    expect(await openAlerts(store.db)).toMatchObject([{ notified: [{ notifiedAt: at(63), lastFailure: null }] }])
  })

  test('a suspended sender cannot write into a newer claim', async () => {
    await record([condition()], 0)
    const still = await claim(0)
    await markSent(await claim(60), 61)
    const reminder = await claim(61 + 24 * 60 * 60)

    const late = await markSent(still, 100_000)

    expect(reminder.attempt).toBe(still.attempt)
    expect(late).toBe(false)
  })

  test('the end of an alert that is cleared while it is being sent is sent next', async () => {
    await record([condition()], 0)
    const notification = await claim(0)
    await record([], 1)
    await record([], 31)
    await markSent(notification, 32)

    const notifications = await sendAll(32)

    expect(notifications).toEqual(['cleared acme'])
  })

  test('a failed notification waits for its time, or for another one to succeed', async () => {
    await record([condition()], 0)
    const failing = await claim(0)
    await recordUnsent(store.db, failing, { failure: 'answers 500', retryAt: at(900) })
    const early = await claimNotification(899)
    const open = await openAlerts(store.db)
    await makeNotificationsDueNow(store.db, { channel: 'pager', now: at(100) })

    const hastened = await claim(100)

    expect(early).toBeNull()
    expect(open).toMatchObject([{ notified: [{ notifiedAt: null, lastFailure: 'answers 500' }] }])
    expect(hastened).toMatchObject({ type: 'raised', sentBefore: 0, attempt: 2 })
  })

  test('a successful notification does not make a reminder due earlier', async () => {
    await record([condition()], 0)
    await sendAll(0)
    await makeNotificationsDueNow(store.db, { channel: 'pager', now: at(10) })

    const early = await claimNotification(10)

    expect(early).toBeNull()
  })

  test('each channel gets only the alerts that it takes', async () => {
    const chat: ChannelFilter = { name: 'chat', connections: ['beta'], kinds: null }
    const mail: ChannelFilter = { name: 'mail', connections: null, kinds: ['held'] }
    const current = [condition(), condition({ kind: 'held' }), condition({ connection: 'beta' })]
    await record(current, 0, [pager, chat, mail])
    await recordUnsent(store.db, await claim(0), { failure: 'answers 500', retryAt: at(900) })

    const sent = [await sendAll(0, 'chat'), await sendAll(0, 'mail'), await sendAll(0)]

    expect(sent).toEqual([['raised beta'], ['raised acme'], ['raised acme', 'raised beta']])
  })

  test('a channel that is added later gets open alerts only', async () => {
    await record([condition(), condition({ connection: 'beta' })], 0)
    await sendAll(0)
    await record([condition()], 10)
    await record([condition()], 50)
    await record([condition()], 60, [pager, { ...pager, name: 'chat' }])

    const sent = await sendAll(60, 'chat')

    expect(sent).toEqual(['raised acme'])
  })

  test('the end of an alert that was cleared during a send is sent, whichever wrote last', async () => {
    await record([condition()], 0)
    const notification = await claim(0)
    await record([], 1)
    await record([], 31)
    // The process that sent saw the alert as it was before.
    await markSent(notification, 32)
    await store.pool.query(`update notifications set next_at = $1`, [at(100_000)])
    await record([], 40)

    const sent = await sendAll(40)

    expect(sent).toEqual(['cleared acme'])
  })

  test('one message about several alerts counts once, and each of them is marked as sent', async () => {
    await record([condition(), condition({ kind: 'held' }), condition({ connection: 'beta' })], 0)
    const claims = await claimNotifications(store.db, { channel: 'pager', limit: 10, now: at(0) })
    const late = await claim(60)

    await recordSent(store.db, {
      claims: claims.map((one) => ({ ...one, remindAt: at(1000) })),
      now: at(61),
    })

    expect(await countMessages(store.db, { channel: 'pager', since: at(0) })).toBe(1)
    expect(await countMessages(store.db, { channel: 'pager', since: at(61) })).toBe(0)
    const open = await openAlerts(store.db)
    const sent = open.map(({ id, notified }) => `${id === late.alert.id ? 'taken over' : 'own'} ${notified[0]?.sent}`)
    expect(sent.toSorted()).toEqual(['own 1', 'own 1', 'taken over 0'])
  })

  test('the failure of a message that counts as sent is shown until the next one', async () => {
    await record([condition()], 0)
    await recordSent(store.db, {
      claims: [{ ...(await claim(0)), remindAt: at(100) }],
      failure: 'refuses to[1]',
      now: at(0),
    })
    const [first] = await openAlerts(store.db)
    await markSent(await claim(100), 100)

    const [second] = await openAlerts(store.db)

    expect([first, second]).toMatchObject([
      { notified: [{ sent: 1, lastFailure: 'refuses to[1]' }] },
      { notified: [{ sent: 2, lastFailure: null }] },
    ])
  })

  test('cleared alerts are deleted after ninety days, unless their end was not sent', async () => {
    await record([condition()], 0)
    await markSent(await claim(0), 0)
    await record([condition({ connection: 'beta' })], 10)
    await record([], 40)
    await record([], 80)
    await markSent(await claim(80), 80)
    await record([], 91 * 24 * 60 * 60)

    const { rows } = await store.pool.query<{ connection: string }>('select connection from alerts')

    expect(rows).toEqual([{ connection: 'beta' }])
  })
})
