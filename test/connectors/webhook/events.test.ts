import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readEvents } from '../../../src/connectors/webhook/events.ts'
import { WebhookSettings } from '../../../src/connectors/webhook/settings.ts'
import type { StoredEvent } from '../../../src/identity/record.ts'

const now = new Date('2026-11-20T12:00:00.000Z')

describe('stored events', () => {
  test('become rows below all paths, without cells that an item lacks', async () => {
    const { headers, rows, faults, reading } = await read([
      { id: '7', body: { id: '1', name: { first: 'Ana' } } },
      { id: '8', body: [{ id: '2', active: true, end: null }, { id: 3 }] },
    ])

    expect(headers).toEqual(['id', 'name.first', 'active', 'end'])
    expect(rows).toEqual([
      { values: ['1', 'Ana', undefined, undefined], origin: { event: '7', line: 1 }, asOf: '2026-11-20T11:00:00.000Z' },
      { values: ['2', undefined, 'true', ''], origin: { event: '8', line: 1 }, asOf: '2026-11-20T11:00:00.000Z' },
      {
        values: ['3', undefined, undefined, undefined],
        origin: { event: '8', line: 2 },
        asOf: '2026-11-20T11:00:00.000Z',
      },
    ])
    expect(faults).toEqual([])
    expect(reading).toMatchObject({ mode: 'delta', sparse: true, asOf: '2026-11-20T11:00:00.000Z' })
  })

  test('are found where the settings say', async () => {
    const body = { meta: { kind: 'update' }, employees: [{ id: '1' }, { id: '2' }] }

    const { headers, rows } = await read([{ body }], { events: '/employees' })

    expect(headers).toEqual(['id'])
    expect(rows.map(({ values }) => values)).toEqual([['1'], ['2']])
  })

  test('are named by their number, their bytes and the first and last of them', async () => {
    const several = await read([
      { id: '7', body: '{"id":1}' },
      { id: '9', body: '{"id":22}' },
    ])
    const one = await read([{ id: '7', body: '{"id":1}' }])

    expect(several.reading.source).toEqual({ name: '2 events', bytes: 17, version: '7..9' })
    expect(one.reading.source).toEqual({ name: '1 event', bytes: 8, version: '7..7' })
  })

  test('are nothing new if there are none', async () => {
    const { reading, rows } = await read([])

    expect(rows).toEqual([])
    expect(reading).toMatchObject({ mode: 'delta', source: null, asOf: now.toISOString(), headers: [] })
  })
})

describe('the time of an item', () => {
  test.for<[string, object, Partial<StoredEvent>, string]>([
    ['its own', { at: '2026-11-20T10:30:00+01:00' }, {}, '2026-11-20T09:30:00.000Z'],
    ['its own over that of the body', { at: '2026-11-20T08:00:00Z' }, {}, '2026-11-20T08:00:00.000Z'],
    ['that of sending', {}, { signedAt: '2026-11-20T10:59:59.000Z' }, '2026-11-20T10:59:59.000Z'],
    ['that of sending, for a null', { at: null }, { signedAt: '2026-11-20T10:59:59.000Z' }, '2026-11-20T10:59:59.000Z'],
    ['that of arrival', {}, {}, '2026-11-20T11:00:00.000Z'],
  ])('is %s', async ([, item, event, expected]) => {
    const { rows } = await read([{ ...event, body: { events: [item] } }], { events: '/events', time: '/at' })

    expect(rows[0]?.asOf).toBe(expected)
  })

  test('is that of the body where the item has none', async () => {
    const body = { at: '2026-11-20T09:00:00Z', events: [{ id: '1' }, { id: '2', at: '2026-11-20T10:00:00Z' }] }

    const { rows } = await read([{ body }], { events: '/events', time: '/at' })

    expect(rows.map(({ asOf }) => asOf)).toEqual(['2026-11-20T09:00:00.000Z', '2026-11-20T10:00:00.000Z'])
  })

  test.for<['iso' | 'seconds' | 'milliseconds', unknown, string]>([
    ['iso', '2026-11-20T10:00', '2026-11-20T09:00:00.000Z'],
    ['iso', '2026-11-20 10:00:00.5', '2026-11-20T09:00:00.500Z'],
    ['iso', '2026-11-20T10:00:00.123456789Z', '2026-11-20T10:00:00.123Z'],
    ['iso', '2026-03-29T02:30:00', '2026-03-29T01:30:00.000Z'],
    ['seconds', 1_795_168_800, '2026-11-20T10:00:00.000Z'],
    ['seconds', '1795168800', '2026-11-20T10:00:00.000Z'],
    ['milliseconds', 1_795_168_800_123, '2026-11-20T10:00:00.123Z'],
  ])('is read as %s from %j, in the zone of the settings', async ([timeFormat, at, expected]) => {
    const { rows } = await read([{ body: { at } }], { time: '/at', timeFormat, timeZone: 'Europe/Berlin' })

    expect(rows[0]).toMatchObject({ asOf: expected })
    expect(rows[0]?.fault).toBeUndefined()
  })

  test.for<['iso' | 'seconds' | 'milliseconds', unknown]>([
    ['iso', '2026-11-20'],
    ['iso', '2026-02-30T10:00:00Z'],
    ['iso', '20.11.2026 10:00'],
    ['iso', ''],
    ['iso', true],
    ['iso', { time: '2026-11-20T10:00:00Z' }],
    ['seconds', 1_795_168_800.5],
    ['seconds', 1e300],
    ['seconds', '2026-11-20T10:00:00Z'],
    ['milliseconds', -1],
  ])(
    'that cannot be read as %s from %j leaves the item without one, and its cells as they are',
    async ([timeFormat, at]) => {
      const { rows } = await read([{ body: { id: 'ana', at } }], { time: '/at', timeFormat })

      const reason = expect.stringMatching(/^\/at holds no time in (ISO|sec|mill)/)
      expect(rows).toMatchObject([
        {
          values: expect.arrayContaining(['ana']),
          timing: { effectiveAt: null, reason, statedAt: '2026-11-20T11:00:00.000Z' },
        },
      ])
    },
  )

  test('may be ahead by the tolerance and no more', async () => {
    const receivedAt = '2026-11-20T12:00:00.000Z'
    const { rows, reading } = await read(
      [{ receivedAt, body: [{ at: '2026-11-20T12:05:00Z' }, { at: '2026-11-20T12:05:00.001Z' }] }],
      { time: '/at' },
    )

    expect(rows).toMatchObject([
      {
        asOf: receivedAt,
        timing: {
          statedAt: receivedAt,
          effectiveAt: '2026-11-20T12:05:00.001Z',
          reason:
            "it is dated 2026-11-20T12:05:00.001Z, which lies ahead of this machine's time 2026-11-20T12:00:00.000Z; it is read again then",
        },
      },
      { asOf: '2026-11-20T12:05:00.000Z' },
    ])
    expect(rows[1]?.timing).toBeUndefined()
    expect(reading.asOf).toBe('2026-11-20T12:05:00.000Z')
  })

  test('orders the rows, then their arrival, then their place in the event', async () => {
    const late = { id: '4', receivedAt: '2026-11-20T11:30:00.000Z' }
    const early = { id: '5', receivedAt: '2026-11-20T11:10:00.000Z' }
    const [t1, t2] = ['2026-11-20T10:00:00Z', '2026-11-20T10:30:00Z']

    const { rows } = await read(
      [
        {
          ...late,
          body: [
            { n: 'd', at: t2 },
            { n: 'a', at: t1 },
          ],
        },
        {
          ...early,
          body: [
            { n: 'c', at: t2 },
            { n: 'c2', at: t2 },
          ],
        },
      ],
      { time: '/at' },
    )

    expect(rows.map(({ values }) => values[0])).toEqual(['a', 'c', 'c2', 'd'])
  })
})

describe('an event that cannot be read', () => {
  test.for<[string, string, RegExp]>([
    ['is no JSON', '{"id":', /^the body is not valid JSON: it ends too soon/],
    ['is no UTF-8', '\xff', /^the body is not encoded in UTF-8/],
    ['is nested without end', '['.repeat(100_000), /^the body is nested deeper than 64 levels/],
    ['names a member twice', '{"people":[],"people":[]}', /names the same member twice/],
    ['has no list there', '{"person":[]}', /^the body has no events at \/people$/],
    ['has a text there', '{"people":"Ana"}', /^the value at \/people in the body is no object and no list$/],
    ['has null there', '{"people":null}', /is no object and no list$/],
    ['has too many there', `{"people":[${'{},'.repeat(10_000)}{}]}`, /holds more than 10000 items$/],
    ['has a text for an item', '{"people":["Ana"]}', /^the record is no object$/],
  ])('because it %s is one row with a fault; the others go on', async ([, body, expected]) => {
    const { rows, reading } = await read(
      [
        { id: '1', body: Buffer.from(body, 'latin1'), receivedAt: '2026-11-20T11:30:00.000Z' },
        { id: '2', body: '{"people":{"id":"7"}}' },
      ],
      { events: '/people' },
    )

    expect(rows).toMatchObject([
      { values: ['7'], origin: { event: '2', line: 1 } },
      { origin: { event: '1', line: 1 }, fault: { column: null, reason: expect.stringMatching(expected) } },
    ])
    expect(rows[0]?.fault).toBeUndefined()
    expect(reading.asOf).toBe('2026-11-20T11:00:00.000Z')
  })

  test('because it is wider than all can be is a fault; narrower ones after it go on', async () => {
    const wide = (name: string) => Object.fromEntries(Array.from({ length: 6000 }, (_, n) => [`${name}${n}`, '1']))

    const { headers, rows, faults } = await read([{ body: wide('a') }, { body: wide('b') }, { body: { a1: 'x' } }])

    expect(headers).toHaveLength(6000)
    expect(rows[2]?.values[1]).toBe('x')
    expect(faults).toEqual([{ column: null, reason: expect.stringContaining('more than 10000 different paths') }])
  })

  test('is reported without its content', async () => {
    const { faults } = await read([{ body: '{"name":"Ana Gomez", 17:00}' }])

    expect(JSON.stringify(faults)).not.toMatch(/Ana|Gomez/)
  })
})

describe('names that mean something to the runtime', () => {
  test('are paths like any other', async () => {
    const body = '{"__proto__":{"id":"1"},"constructor":"c","toString":"t","hasOwnProperty":"h"}'

    const { headers, rows } = await read([{ body }], { time: '/valueOf' })

    expect(headers).toEqual(['__proto__.id', 'constructor', 'toString', 'hasOwnProperty'])
    expect(rows[0]?.values).toEqual(['1', 'c', 't', 'h'])
    expect(rows[0]?.fault).toBeUndefined()
  })
})

test('whatever the bodies are, each event is at least one row or an empty list', async () => {
  const body = fc.oneof(
    fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
    fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
  )

  await fc.assert(
    fc.asyncProperty(fc.array(body, { maxLength: 5 }), async (bodies) => {
      const { rows, headers } = await read(bodies.map((each, index) => ({ id: String(index), body: each })))

      const events = new Set(rows.map(({ origin }) => ('event' in origin ? origin.event : '')))
      const silent = bodies.filter((_, index) => !events.has(String(index)))
      expect(silent.every((each) => each.toString('utf8').trim() === '[]')).toBe(true)
      expect(rows.every(({ values }) => values.length === headers.length)).toBe(true)
    }),
  )
})

describe('events that are too much for one run', () => {
  const stored = (bodies: readonly unknown[]) =>
    bodies.map((body, index) => ({
      ...{ id: String(index + 1), eventId: null, receivedAt: '2026-11-20T11:00:00.000Z', signedAt: null },
      body: bytesOf(body),
    }))
  const settings = WebhookSettings.parse({ recipe: 'github', secrets: ['s'] })
  const two = [{ id: 'a' }, { id: 'b' }]
  const wide = (name: string) => Object.fromEntries(Array.from({ length: 6000 }, (_, n) => [`${name}${n}`, '1']))

  test.for<[string, readonly unknown[], readonly string[], number]>([
    ['items', [two, [{ id: 'c' }], two, [{ id: 'd' }]], ['3', '4'], 3],
    ['items in the first of them, which goes on by itself', [[...two, ...two], two], ['2'], 4],
    ['paths', [wide('a'), wide('b'), { a1: 'x' }], ['2', '3'], 1],
  ])('by their %s are deferred to the next one, complete and in order', async ([, bodies, deferred, rows]) => {
    const reading = readEvents(stored(bodies), settings, { now, mayDefer: true, maxItems: 3 })

    const readRows = (await Array.fromAsync(reading.rows)).flat()

    expect(reading.deferred).toEqual(deferred)
    expect(readRows).toHaveLength(rows)
    expect(reading.source?.name).toBe(bodies.length - deferred.length === 1 ? '1 event' : '2 events')
  })

  test('are all read if none may be deferred, with a fault for each item beyond the limit', async () => {
    const reading = readEvents(stored([two, two]), settings, { now, maxItems: 3 })

    const readRows = (await Array.fromAsync(reading.rows)).flat()

    expect(reading.deferred).toEqual([])
    expect(readRows.map(({ fault }) => fault?.reason)).toEqual([
      ...[undefined, undefined, undefined],
      'more than 3 items came at once',
    ])
  })

  test('come in slices of few cells, however many paths they have', async () => {
    const body = Array.from({ length: 50 }, () => wide('a'))

    const reading = readEvents(stored([body]), settings, { now })
    const slices = await Array.fromAsync(reading.rows)

    expect(slices.flat()).toHaveLength(50)
    expect(Math.max(...slices.map((slice) => slice.length * reading.headers.length))).toBeLessThanOrEqual(200_000)
  })
})

type Event = Partial<Omit<StoredEvent, 'body'>> & { readonly body: unknown }

async function read(events: readonly Event[], settings: Partial<WebhookSettings> = {}) {
  const stored = events.map(({ body, ...event }, index) => ({
    ...{ id: String(index + 1), eventId: null, receivedAt: '2026-11-20T11:00:00.000Z', signedAt: null },
    ...event,
    body: bytesOf(body),
  }))
  const reading = readEvents(stored, WebhookSettings.parse({ recipe: 'github', secrets: ['s'], ...settings }), { now })
  const rows = (await Array.fromAsync(reading.rows)).flat()
  return { reading, headers: reading.headers, rows, faults: rows.flatMap(({ fault }) => fault ?? []) }
}

function bytesOf(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}
