import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffMs } from '../../src/queue/backoff.ts'

const retry = { attempts: 5, firstSeconds: 2, maxSeconds: 30 }

test.each([
  [1, 2_000],
  [2, 4_000],
  [4, 16_000],
  [5, 30_000],
  [5_000, 30_000],
])('after attempt %i the wait is at most %i ms', (attempt, mostMs) => {
  const longest = backoffMs(attempt, retry, () => 1)

  expect(longest).toBe(mostMs)
})

test('the wait is spread over everything up to its bound', () => {
  const waits = [0, 0.25, 0.5].map((random) => backoffMs(3, retry, () => random))

  expect(waits).toEqual([1, 2_000, 4_000])
})

test('the wait is a whole number of milliseconds within the cap, whatever the settings', () => {
  const settings = fc.record({
    attempts: fc.constant(5),
    firstSeconds: fc.double({ min: 0.001, max: 1_000, noNaN: true }),
    maxSeconds: fc.double({ min: 0.001, max: 1_000, noNaN: true }),
  })

  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000 }), settings, (attempt, setting) => {
      const waitMs = backoffMs(attempt, setting)
      expect(Number.isInteger(waitMs)).toBe(true)
      expect(waitMs).toBeGreaterThanOrEqual(1)
      expect(waitMs).toBeLessThanOrEqual(Math.max(1, Math.round(setting.maxSeconds * 1000)))
    }),
  )
})
