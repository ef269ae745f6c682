import { expect, test } from 'vitest'
import { exportedAt, lastNight } from '../../../src/cli/demo/nights.ts'

test.each([
  ['2026-03-02T00:00:00Z', '2026-03-01'],
  ['2026-03-02T01:39:59Z', '2026-03-01'],
  ['2026-03-02T01:40:00Z', '2026-03-02'],
  ['2026-03-02T23:59:59Z', '2026-03-02'],
])('at %s the last night is that of %s, and none of its exports is dated ahead', (instant, day) => {
  const now = Temporal.Instant.from(instant)

  const night = lastNight(now).toString()

  expect(night).toBe(day)
  for (const time of ['nightly', 'cut', 'whole'] as const)
    expect(exportedAt(night, time).getTime()).toBeLessThanOrEqual(now.epochMilliseconds)
})
