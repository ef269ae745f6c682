import { expect, test } from 'vitest'
import { cronOf, timeAfter, timeBefore } from '../../../src/daemon/schedules/cron.ts'

const lines = ['0 1 * * *', '30 2 * * *', '*/15 * * * *', '15,45 1-3 * * 0', '0 6 1 * *']
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu']
/** Before, during and after hours that clocks skip and repeat, and beside a whole minute. */
const instants = [
  '2026-03-28T23:00:00.000Z',
  '2026-03-29T01:00:00.000Z',
  '2026-10-25T00:30:00.000Z',
  '2026-11-01T06:15:00.000Z',
]
const beside = [-60_000, -59_999, -1, 0, 1, 500, 59_999, 60_000]

test.each(lines)('the times of "%s" are the same whether they are evaluated or recalled', (cron) => {
  for (const timeZone of zones) {
    const line = { cron, timeZone }
    for (const at of instants.flatMap((instant) => beside.map((ms) => new Date(Date.parse(instant) + ms)))) {
      // The first time of a minute after `at` and the last one before it, as croner finds them without a cache.
      const before = cronOf(line).previousRuns(1, new Date(Math.ceil(at.getTime() / 60_000) * 60_000))[0] ?? null
      expect([timeBefore(line, at), timeBefore(line, at)]).toEqual([before, before])
      expect(before?.getTime()).toBeLessThan(at.getTime())
      const after = cronOf(line).nextRun(at)
      expect([timeAfter(line, at), timeAfter(line, at)]).toEqual([after, after])
      expect(after?.getTime()).toBeGreaterThan(at.getTime())
    }
  }
})
