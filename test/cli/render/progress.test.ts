import { expect, test } from 'vitest'
import { createProgress, progressText } from '../../../src/cli/render/progress.ts'
import { duration, plain } from '../../../src/cli/render/text.ts'
import type { Printer } from '../../../src/text/print.ts'
import { runDocument } from '../../helpers/control-documents.ts'

test('a delivery shows how many of how many have settled', () => {
  const run = runDocument({ state: 'delivering', confirmed: 2400, problems: 100, remaining: 2500 })

  const text = progressText(run, plain)

  expect(text).toBe('acme: delivering ============············ 2,500 of 5,000, 100 problems')
})

test('a run that does not deliver shows its state alone', () => {
  const text = progressText(runDocument({ state: 'reading' }), plain)

  expect(text).toBe('acme: reading')
})

test('the reason why a run does not move is shown beside it', () => {
  const delay = 'waiting 5 s: the export was written just now'

  const text = progressText(runDocument({ state: 'reading', delay }), plain)

  expect(text).toBe(`acme: reading, ${delay}`)
})

test('where a line cannot be drawn anew, each reason is printed once, whatever its times are', () => {
  const printed: string[] = []
  const printer = { canRedraw: false, print: (text: string) => printed.push(text) } as unknown as Printer
  const delays = [
    undefined,
    'no answer; next attempt 13:32',
    'no answer',
    'no answer; next attempt 13:34',
    null,
    'a pause until 13:40',
  ]
  const progress = createProgress(printer)

  for (const delay of delays) progress.show(runDocument({ state: 'delivering', confirmed: 0, remaining: 38, delay }))

  expect(printed).toEqual([
    'acme: delivering, 0 of 38\n',
    'acme: delivering, 0 of 38, no answer; next attempt 13:32\n',
    'acme: delivering, 0 of 38, a pause until 13:40\n',
  ])
})

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1300, '1.3 s'],
  [59_999, '59.9 s'],
  [61_000, '1 min 1 s'],
  [3_600_000, '1 h 0 min'],
  [103_307_000, '28 h 41 min'],
  [300_000_000, '3 d'],
])('%d milliseconds are shown as %s', (ms, expected) => {
  const text = duration(ms)

  expect(text).toBe(expected)
})
