import { describe, expect, test } from 'vitest'
import { alertLinks } from '../../../src/daemon/alerts/links.ts'

const consoleUrl = new URL('https://rollcall.example')
const alert = { id: 'a1', connection: 'acme', kind: 'stale', runId: null } as const

describe('a link of the configuration', () => {
  test('is filled in, and values are encoded so that they stay within their part of the address', () => {
    const linkOf = alertLinks({ link: 'https://wiki.example/{kind}?c={connection}&run={run}', consoleUrl: null })

    expect(linkOf({ ...alert, connection: 'a&b=c/../d' })).toBe('https://wiki.example/stale?c=a%26b%3Dc%2F..%2Fd&run=')
  })

  test('has empty values in a message about no alert', () => {
    expect(alertLinks({ link: 'https://wiki.example/{kind}', consoleUrl })(null)).toBe('https://wiki.example/')
  })

  test('leads to the console, or is left out, if its path names a run that the alert does not have', () => {
    const link = 'https://wiki.example/runs/{run}'

    expect(alertLinks({ link, consoleUrl })(alert)).toBe('https://rollcall.example/runs?connection=acme')
    expect(alertLinks({ link, consoleUrl: null })(alert)).toBeNull()
    expect(alertLinks({ link, consoleUrl })({ ...alert, runId: 'r1' })).toBe('https://wiki.example/runs/r1')
  })
})

test.each([
  ['held', 'r1', '/runs/r1/decision'],
  ['expiring', 'r1', '/runs/r1/decision'],
  ['run_failed', 'r1', '/runs/r1'],
  ['repeated', 'r1', '/runs/r1'],
  ['run_failed', null, '/runs?connection=a%26b'],
  ['stale', null, '/runs?connection=a%26b'],
  ['problems', null, '/problems?connection=a%26b'],
  ['blockedPeople', null, '/problems?connection=a%26b'],
  ['overdue', null, '/problems?connection=a%26b'],
  ['leaver_late', null, '/problems?connection=a%26b'],
  ['emergency', null, '/problems?connection=a%26b#stated'],
  ['stated_departures', null, '/problems?connection=a%26b#stated'],
  ['unaccounted', null, '/connections/a%26b/statement'],
  ['not_effective', null, '/effective?connection=a%26b'],
  ['directory', null, '/effective?connection=a%26b'],
  ['directory', 'refused', '/effective?connection=a%26b'],
  ['paused', null, '/schedules'],
  ['blocked', null, '/'],
  ['hr_mail', null, '/problems/hr'],
  ['settings_differ', null, '/'],
] as const)('without a link of the configuration, "%s" of run %s leads to %s of the console', (kind, runId, page) => {
  const linkOf = alertLinks({ link: null, consoleUrl })

  expect(linkOf({ ...alert, connection: 'a&b', kind, runId })).toBe(`https://rollcall.example${page}`)
})

test('without a link and without an address of the console there is no link', () => {
  expect(alertLinks({ link: null, consoleUrl: null })(alert)).toBeNull()
})
