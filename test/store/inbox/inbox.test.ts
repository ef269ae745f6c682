import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import {
  acknowledgeEvents,
  addEvents,
  forgetEvents,
  type NewEvent,
  peekPending,
  pendingConnections,
  pendingCount,
  refuseEvents,
  takeAllPending,
  takeBackEvents,
  takePending,
} from '../../../src/store/inbox/inbox.ts'
import { dismissEvents, listEvents, retryEvents } from '../../../src/store/inbox/review.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { ensureConnection } from '../../../src/store/runs/runs.ts'
import type { Db, StoreSchema } from '../../../src/store/schema.ts'
import { databases } from '../../helpers/servers/databases.ts'

const now = new Date('2026-11-20T03:00:00.000Z')
const run = randomUUID()
const otherRun = randomUUID()

function event(key: string, fields: Partial<NewEvent> = {}): NewEvent {
  const body = Buffer.from(`{"id":"${key}"}`)
  return { connection: 'acme', key, eventId: key, signedAt: null, receivedAt: now, body, isTest: false, ...fields }
}

const minutesLater = (minutes: number) => new Date(now.getTime() + minutes * 60_000)
const states = async (db: Db) => (await listEvents(db)).map(({ eventId, state }) => `${eventId} ${state}`)
const idOf = async (db: Db, key: string) => (await listEvents(db)).find(({ eventId }) => eventId === key)?.id ?? ''

describe.each(databases)('the inbox on $name', ({ createDatabase }) => {
  async function open(...events: NewEvent[]) {
    await using opening = new AsyncDisposableStack()
    const { at } = opening.use(await createDatabase())
    const store = opening.use(await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations }))
    for (const name of ['acme', 'beta']) await ensureConnection(store.db, name)
    await addEvents(store.db, events)
    const opened = opening.move()
    return { store, db: store.db, [Symbol.asyncDispose]: () => opened.disposeAsync() }
  }

  test('reports for each event whether it is new, also within one batch', async () => {
    await using opened = await open(event('a'))
    const batch = [event('b'), event('a'), event('b'), event('a', { connection: 'beta' })]

    const outcomes = await addEvents(opened.db, batch)

    expect(outcomes).toEqual(['stored', 'seen before', 'seen before', 'stored'])
    expect(await pendingCount(opened.db, 'acme')).toBe(2)
  })

  test('numbers the events of a batch in their order, whatever their keys are', async () => {
    await using opened = await open()

    await addEvents(opened.db, [event('c'), event('a'), event('c'), event('b')])

    const events = await takePending(opened.db, { connection: 'acme', runId: run, limit: 10 })
    expect(events.map(({ eventId }) => eventId)).toEqual(['c', 'a', 'b'])
  })

  test('stores the bytes, the times and the id of an event unchanged', async () => {
    const body = Buffer.from(Array.from({ length: 512 }, (_, index) => index % 256))
    const details = { body, signedAt: minutesLater(-1), eventId: `it's "a" \\ {b}, null` }
    await using opened = await open(event('a', details), event('b', { eventId: null, body: Buffer.alloc(0) }))

    const events = await takePending(opened.db, { connection: 'acme', runId: run, limit: 10 })

    expect(events).toEqual([
      {
        id: expect.stringMatching(/^\d+$/),
        eventId: details.eventId,
        body,
        receivedAt: now.toISOString(),
        signedAt: minutesLater(-1).toISOString(),
      },
      expect.objectContaining({ eventId: null, body: Buffer.alloc(0), signedAt: null }),
    ])
  })

  test('a batch that cannot be stored leaves nothing in the store', async () => {
    await using opened = await open()

    const adding = addEvents(opened.db, [event('a'), event('b', { connection: 'unknown' })])

    await expect(adding).rejects.toThrow()
    expect(await listEvents(opened.db)).toEqual([])
  })

  test('two writers of the same events in opposite order do not deadlock', async () => {
    await using opened = await open()
    const keys = Array.from({ length: 2000 }, (_, index) => `k${index}`)
    const batch = keys.map((key) => event(key))

    const rounds = await Promise.all(
      Array.from({ length: 4 }, (_, turn) => addEvents(opened.db, turn % 2 === 0 ? batch : batch.toReversed())),
    )

    expect(rounds.flat().filter((outcome) => outcome === 'stored')).toHaveLength(2000)
  })

  test('a run gets the oldest events, and the same ones when it is repeated', async () => {
    await using opened = await open(event('a'), event('b'), event('c'))
    const portion = { connection: 'acme', limit: 2 }
    const first = await takePending(opened.db, { ...portion, runId: run })

    const again = await takePending(opened.db, { ...portion, runId: run })
    const other = await takePending(opened.db, { ...portion, runId: otherRun })

    expect(first.map(({ eventId }) => eventId)).toEqual(['a', 'b'])
    expect(again).toEqual(first)
    expect(other.map(({ eventId }) => eventId)).toEqual(['c'])
  })

  test('a portion ends before its bodies are too large, but is never empty', async () => {
    const body = Buffer.alloc(1000)
    await using opened = await open(event('a', { body }), event('b', { body }), event('c', { body }))
    const portion = { connection: 'acme', limit: 10 }

    const one = await peekPending(opened.db, { ...portion, limitBytes: 1 })
    const two = await takePending(opened.db, { ...portion, limitBytes: 1001, runId: run })

    expect(one.map(({ eventId }) => eventId)).toEqual(['a'])
    expect(two.map(({ eventId }) => eventId)).toEqual(['a', 'b'])
  })

  test('peeking takes nothing, and shows nothing that a run has taken', async () => {
    await using opened = await open(event('a'), event('b'))
    await takePending(opened.db, { connection: 'acme', runId: run, limit: 1 })

    const looks = [
      await peekPending(opened.db, { connection: 'acme', limit: 10 }),
      await peekPending(opened.db, { connection: 'acme', limit: 10 }),
    ]

    expect(looks.map((events) => events.map(({ eventId }) => eventId))).toEqual([['b'], ['b']])
  })

  test('lists connections with events that no run has taken, and since when', async () => {
    await using opened = await open(
      event('a'),
      event('b', { receivedAt: minutesLater(1) }),
      event('c', { receivedAt: minutesLater(3) }),
      event('d', { connection: 'beta', isTest: true }),
    )
    await takePending(opened.db, { connection: 'acme', runId: run, limit: 1 })

    const pending = await pendingConnections(opened.db)

    const [oldestReceivedAt, newestReceivedAt] = [minutesLater(1).toISOString(), minutesLater(3).toISOString()]
    expect(pending).toEqual([{ connection: 'acme', fresh: 2, oldestReceivedAt, newestReceivedAt }])
    expect(await pendingCount(opened.db, 'acme')).toBe(3)
    expect(await pendingCount(opened.db, 'beta')).toBe(0)
  })

  test('acknowledged events lose their bodies; those with a rejected part keep them', async () => {
    await using opened = await open(event('a'), event('b'), event('c', { connection: 'beta' }))
    await takePending(opened.db, { connection: 'acme', runId: run, limit: 10 })

    await acknowledgeEvents(opened.db, {
      runId: run,
      rejected: [{ id: await idOf(opened.db, 'b'), reason: 'item 1: the cell is blank' }],
    })

    expect(await listEvents(opened.db)).toMatchObject([
      { eventId: 'a', state: 'settled', bytes: 0, reason: null, runId: run },
      { eventId: 'b', state: 'rejected', bytes: 10, reason: expect.any(String), runId: run },
      { eventId: 'c', state: 'pending', bytes: 10, runId: null },
    ])
  })

  test('an acknowledged event is still known when it comes again', async () => {
    await using opened = await open(event('a'))
    await takePending(opened.db, { connection: 'acme', runId: run, limit: 10 })
    await acknowledgeEvents(opened.db, { runId: run })

    const outcomes = await addEvents(opened.db, [event('a')])

    expect(outcomes).toEqual(['seen before'])
    expect(await pendingCount(opened.db, 'acme')).toBe(0)
  })

  test('refused events are stored with the reason and can be retried', async () => {
    await using opened = await open(event('a'), event('b'))
    await takePending(opened.db, { connection: 'acme', runId: run, limit: 1 })
    await refuseEvents(opened.db, { runId: run, reason: 'the plan was rejected' })
    const refused = await listEvents(opened.db, { state: 'rejected' })

    const retried = await retryEvents(opened.db, { connection: 'acme' })

    expect(refused).toMatchObject([{ eventId: 'a', reason: 'the plan was rejected', bytes: 10 }])
    expect(retried).toBe(1)
    const taken = await takePending(opened.db, { connection: 'acme', runId: otherRun, limit: 10 })
    expect(taken.map(({ eventId }) => eventId)).toEqual(['a', 'b'])
  })

  test('only the named events of the named connection are retried', async () => {
    await using opened = await open(event('a'), event('b'), event('c', { connection: 'beta' }))
    await takePending(opened.db, { connection: 'acme', runId: run, limit: 10 })
    await takePending(opened.db, { connection: 'beta', runId: run, limit: 10 })
    await refuseEvents(opened.db, { runId: run, reason: 'no' })
    const ids = [await idOf(opened.db, 'b'), await idOf(opened.db, 'c')]

    const retried = await retryEvents(opened.db, { connection: 'acme', ids })

    expect(retried).toBe(1)
    expect(await states(opened.db)).toEqual(['a rejected', 'b pending', 'c rejected'])
  })

  test('a newer run takes over remaining events of others', async () => {
    await using opened = await open(event('a'), event('b'))
    await takePending(opened.db, { connection: 'acme', runId: run, limit: 1 })

    await takeBackEvents(opened.db, { connection: 'acme', runId: otherRun, held: false })

    const taken = await takePending(opened.db, { connection: 'acme', runId: otherRun, limit: 10 })
    expect(taken.map(({ eventId }) => eventId)).toEqual(['a', 'b'])
  })

  test('a run of thin events gets all events of its connection, also remaining ones of others', async () => {
    await using opened = await open(event('a'), event('b'), event('c'), event('d', { connection: 'beta' }))
    await takePending(opened.db, { connection: 'acme', runId: run, limit: 2 })

    await takeAllPending(opened.db, { connection: 'acme', runId: otherRun })
    await acknowledgeEvents(opened.db, { runId: otherRun })

    expect(await states(opened.db)).toEqual(['a settled', 'b settled', 'c settled', 'd pending'])
  })

  test('an operator may dismiss rejected or waiting events, but not those of an active run', async () => {
    await using opened = await open(event('a'), event('b'), event('c'))
    await takePending(opened.db, { connection: 'acme', runId: run, limit: 1 })
    await refuseEvents(opened.db, { runId: run, reason: 'no' })
    await takePending(opened.db, { connection: 'acme', runId: otherRun, limit: 1 })
    const ids = (await listEvents(opened.db)).map(({ id }) => id)

    const dismissed = await dismissEvents(opened.db, { connection: 'acme', ids, by: 'ana' })

    expect(dismissed).toBe(2)
    expect(await listEvents(opened.db)).toMatchObject([
      { eventId: 'a', state: 'dismissed', bytes: 0, reason: 'dismissed by ana' },
      { eventId: 'b', state: 'pending', bytes: 10 },
      { eventId: 'c', state: 'dismissed', bytes: 0 },
    ])
  })

  test('lists page by page', async () => {
    await using opened = await open(event('a'), event('b', { connection: 'beta' }), event('c'))
    const [first] = await listEvents(opened.db, { connection: 'acme', limit: 1 })

    const rest = await listEvents(opened.db, { connection: 'acme', ...(first && { after: first.id }) })

    expect(first?.eventId).toBe('a')
    expect(rest.map(({ eventId }) => eventId)).toEqual(['c'])
  })

  test('deletes acknowledged events after seven days, and no others', async () => {
    const old = { receivedAt: minutesLater(-7 * 24 * 60 - 1) }
    await using opened = await open(
      event('settled', old),
      event('refused', old),
      event('sample', { ...old, isTest: true }),
    )
    await takePending(opened.db, { connection: 'acme', runId: run, limit: 10 })
    await acknowledgeEvents(opened.db, {
      runId: run,
      rejected: [{ id: await idOf(opened.db, 'refused'), reason: 'item 1: the cell is blank' }],
    })
    const recent = { receivedAt: minutesLater(-7 * 24 * 60 + 1), isTest: true }
    await addEvents(opened.db, [event('waiting', old), event('recent', recent)])

    const forgotten = await forgetEvents(opened.db, { now })

    expect(forgotten).toBe(2)
    expect(await states(opened.db)).toEqual(['refused rejected', 'waiting pending', 'recent test'])
  })
})
