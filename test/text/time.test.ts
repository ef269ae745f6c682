import { afterEach, expect, test } from 'vitest'
import { formatClock, formatTime, isTimeZone, machineTimeZone, useTimeZone, utc } from '../../src/text/time.ts'

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
