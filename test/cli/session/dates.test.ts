import { expect, test } from 'vitest'
import { parseDay, parseInstant } from '../../../src/cli/session/dates.ts'

test('a day or a moment is taken as it is written', () => {
  expect(parseDay('--from', '2026-02-28').toString()).toBe('2026-02-28')
  expect(parseInstant('--from', '2026-11-20')).toBe('2026-11-20T00:00:00.000Z')
  expect(parseInstant('--from', '2026-11-20T18:00:00Z')).toBe('2026-11-20T18:00:00.000Z')
  expect(parseInstant('--from', '2026-11-20T18:00:00+01:00')).toBe('2026-11-20T17:00:00.000Z')
})

test.each(['1', '2026-02-30', '2026', '11/20/2026', '2026-11-20T18:00', ''])(
  '%j is no time, and no other one',
  (text) => {
    expect(() => parseInstant('--from', text)).toThrow(`--from "${text}" is no time: write 2026-11-20 or`)
    expect(() => parseDay('--from', text)).toThrow(`--from takes a day such as 2026-01-31, not "${text}"`)
  },
)
