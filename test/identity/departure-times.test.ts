import { expect, test } from 'vitest'
import { figuresOf, measureDelays } from '../../src/identity/departure-times.ts'

const times = {
  effectiveAt: '2026-11-19T23:00:00.000Z',
  statedAt: '2026-11-20T01:00:00.000Z',
  firstSeenAt: '2026-11-20T03:00:00.000Z',
  acknowledgedAt: '2026-11-20T03:05:00.000Z',
  visibleAt: '2026-11-21T00:05:00.000Z',
  joinedLeft: false,
}
const bound = { boundHours: 24, now: new Date('2026-11-25T00:00:00.000Z') }

test('the delays of HR, Rollcall and the platform are separate', () => {
  expect(measureDelays(times, bound)).toEqual({
    hrSeconds: 2 * 3600,
    ourSeconds: 300,
    platformSeconds: 21 * 3600,
    dueAt: '2026-11-21T03:00:00.000Z',
    late: false,
  })
})

test.each([
  [
    'a date that was known and sent before its day took no time',
    {
      statedAt: '2026-11-01T01:00:00.000Z',
      firstSeenAt: '2026-11-01T03:00:00.000Z',
      acknowledgedAt: '2026-11-01T03:05:00.000Z',
    },
    { hrSeconds: 0, ourSeconds: 0, late: false },
  ],
  [
    'a date known before its day counts from the end of that day',
    { firstSeenAt: '2026-11-01T03:00:00.000Z', acknowledgedAt: '2026-11-20T23:00:00.000Z' },
    { ourSeconds: 24 * 3600, late: false },
  ],
  ['HR has no delay in what an operator stated', { statedBy: 'ana' }, { hrSeconds: null, ourSeconds: 300 }],
  ['a second beyond the bound is late', { acknowledgedAt: '2026-11-21T03:00:01.000Z' }, { late: true }],
  [
    'what is not acknowledged is late once the bound has passed',
    { acknowledgedAt: null, visibleAt: null },
    { ourSeconds: null, platformSeconds: null, late: true },
  ],
  ['HR is not blamed for people who had left before it named them', { joinedLeft: true }, { hrSeconds: null }],
] as const)('%s', (_name, changed, expected) => {
  expect(measureDelays({ ...times, ...changed }, bound)).toMatchObject(expected)
})

test('a departure without acknowledgement is not late before the bound has passed', () => {
  const now = new Date('2026-11-21T02:59:59.000Z')

  expect(measureDelays({ ...times, acknowledgedAt: null, visibleAt: null }, { boundHours: 24, now }).late).toBe(false)
})

test('each figure is one of the durations', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i)

  expect(figuresOf([...hundred, null])).toEqual({ people: 100, p50: 50, p95: 95, max: 100 })
  expect(figuresOf([7])).toEqual({ people: 1, p50: 7, p95: 7, max: 7 })
  expect(figuresOf([null])).toBeNull()
})
