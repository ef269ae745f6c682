import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { countRefusals, type RefusalCount } from '../../../src/http/server/refusal-counts.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const unsigned = { subject: 'acme', reason: 'not signed' }

test('the first refusal is reported at once, and the others of its minute with their number', () => {
  const reports: RefusalCount[] = []
  using refusals = countRefusals((refused) => reports.push(refused))

  for (let times = 0; times < 500; times++) refusals.count({ ...unsigned, sender: '192.0.2.1' })
  refusals.count({ ...unsigned, sender: '192.0.2.2' })
  const atOnce = [...reports]
  vi.advanceTimersByTime(60_000)
  refusals.count({ ...unsigned, sender: '192.0.2.1' })

  expect(atOnce).toEqual([
    { ...unsigned, sender: '192.0.2.1', times: 1 },
    { ...unsigned, sender: '192.0.2.2', times: 1 },
  ])
  expect(reports.slice(2)).toEqual([
    { ...unsigned, sender: '192.0.2.1', times: 499 },
    { ...unsigned, sender: '192.0.2.1', times: 1 },
  ])
})

test('a flood from many senders for many reasons takes a limited number of lines, and every refusal is counted', () => {
  const reports: RefusalCount[] = []
  using refusals = countRefusals((refused) => reports.push(refused))

  for (let times = 0; times < 30_000; times++)
    refusals.count({ subject: 'acme', reason: `at byte ${times % 7}`, sender: `2001:db8::${times.toString(16)}` })
  vi.advanceTimersByTime(60_000)

  expect(reports.length).toBeLessThanOrEqual(102)
  expect(reports.reduce((sum, { times }) => sum + times, 0)).toBe(30_000)
  expect(reports.at(-1)).toMatchObject({ sender: '(others)', times: 29_899 })
})

test('the remaining refusals are reported at the end', () => {
  const reports: RefusalCount[] = []
  {
    using refusals = countRefusals((refused) => reports.push(refused))
    for (let times = 0; times < 3; times++) refusals.count({ ...unsigned, sender: '192.0.2.1' })
  }

  expect(reports.map(({ times }) => times)).toEqual([1, 2])
})
