import { afterEach, expect, test } from 'vitest'
import { renderRestored } from '../../src/cli/commands/restore.ts'
import { plain } from '../../src/cli/render/text.ts'
import { renderTokens } from '../../src/cli/render/tokens.ts'
import {
  formatClock,
  formatDate,
  formatTime,
  isTimeZone,
  machineTimeZone,
  useTimeZone,
  utc,
} from '../../src/text/time.ts'

afterEach(() => useTimeZone(utc))

test.each([
  ['UTC', '2026-11-20T01:00:59.000Z', '2026-11-20 01:00 UTC'],
  ['UTC', '2026-11-20T01:00:00+02:00', '2026-11-19 23:00 UTC'],
  ['Europe/Berlin', '2026-11-20T01:00:00.000Z', '2026-11-20 02:00 +01:00'],
  ['Europe/Berlin', '2026-07-20T22:30:00.000Z', '2026-07-21 00:30 +02:00'],
  ['America/New_York', '2026-11-20T01:00:00.000Z', '2026-11-19 20:00 -05:00'],
  ['Asia/Kolkata', '2026-11-20T23:45:00.000Z', '2026-11-21 05:15 +05:30'],
])('a time in %s', (zone, at, text) => {
  expect(formatTime(at, zone)).toBe(text)
  expect(formatTime(new Date(at), zone)).toBe(text)
  useTimeZone(zone)
  expect(formatTime(at)).toBe(text)
  expect(formatTime(at, utc)).toMatch(/ UTC$/)
})

test('a day is that of the reader, in sentences of commands too', () => {
  const at = '2026-11-27T23:30:00.000Z'
  const token = {
    ...{ name: 'ci', role: 'viewer', connection: null, state: 'active', expiresAt: null },
    lastUsedAt: null,
  }
  const made = { ...{ revokedAt: null, revokedBy: null, createdBy: 'ana', createdAt: at }, ...token } as const
  useTimeZone('Europe/Berlin')

  expect(formatDate(at)).toBe('2026-11-28')
  expect(formatDate(at, utc)).toBe('2026-11-27')
  expect(renderTokens({ tokens: [{ ...made, id: '1' } as never] }, plain)).toContain('created by ana on 2026-11-28')
  expect(renderRestored({ file: 'b', rows: 9, madeAt: at, people: 3, runsEnded: 0, entriesLost: 0 }, plain)).toContain(
    'restored to 2026-11-28 00:30 +01:00',
  )
})

test('a clock has seconds, and names its zone', () => {
  expect(formatClock('2026-11-20T01:00:59.500Z')).toBe('01:00:59 UTC')
  expect(formatClock('2026-11-20T01:00:59.500Z', 'Asia/Kolkata')).toBe('06:30:59 +05:30')
})

test('names of zones are told from other texts', () => {
  expect(['Europe/Berlin', 'UTC', '+02:00'].map(isTimeZone)).toEqual([true, true, true])
  expect(['', 'Mars/Base', 'Berlin', 'CESTX', '../etc/passwd'].map(isTimeZone)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ])
  expect(isTimeZone(machineTimeZone())).toBe(true)
})
