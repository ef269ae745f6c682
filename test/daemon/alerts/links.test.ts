import { describe, expect, test } from 'vitest'
import { alertLinks } from '../../../src/daemon/alerts/links.ts'

const consoleUrl = new URL('https://rollcall.example')
const alert = { id: 'a1', connection: 'acme', kind: 'stale', code: null, runId: null } as const

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

    expect(alertLinks({ link, consoleUrl })(alert)).toBe('https://rollcall.example/connections/acme/sync')
    expect(alertLinks({ link, consoleUrl: null })(alert)).toBeNull()
    expect(alertLinks({ link, consoleUrl })({ ...alert, runId: 'r1' })).toBe('https://wiki.example/runs/r1')
  })
})

test.each([
  ['held', 'leavers', 'r1', '/runs/r1/decision'],
  ['held', 'leavers', null, '/runs?connection=a%26b'],
  ['expiring', 'expiring', 'r1', '/runs/r1/decision'],
  ['expiring', 'expired', 'r1', '/connections/a%26b/sync'],
  ['run_failed', null, 'r1', '/runs/r1'],
  ['repeated', null, 'r1', '/runs/r1'],
  ['run_failed', null, null, '/runs?connection=a%26b'],
  ['stale', null, null, '/connections/a%26b/sync'],
  ['stale', 'not_pushed', null, '/runs?connection=a%26b'],
  ['problems', null, null, '/problems?connection=a%26b'],
  ['blockedPeople', null, null, '/problems?connection=a%26b#blocked-people'],
  ['foreign', null, null, '/problems?connection=a%26b#foreign'],
  ['overdue', null, null, '/problems?connection=a%26b'],
  ['leaver_late', null, null, '/problems?connection=a%26b'],
  ['emergency', null, null, '/problems?connection=a%26b#stated'],
  ['stated_departures', null, null, '/problems?connection=a%26b#stated'],
  ['unaccounted', null, null, '/connections/a%26b/statement'],
  ['not_effective', null, null, '/effective?connection=a%26b'],
  ['directory', null, null, '/effective?connection=a%26b'],
  ['directory', 'refused', null, '/effective?connection=a%26b'],
  ['paused', null, null, '/schedules/a%26b/pause/end'],
  ['blocked', null, null, '/connections/a%26b/unblock'],
  ['hr_mail', null, null, '/problems/hr'],
  ['settings_differ', null, null, '/settings'],
] as const)(
  'without a link of the configuration, "%s" with code %s and run %s leads to %s',
  (kind, code, runId, page) => {
    const linkOf = alertLinks({ link: null, consoleUrl })

    expect(linkOf({ ...alert, connection: 'a&b', kind, code, runId })).toBe(`https://rollcall.example${page}`)
  },
)

test('without a link and without an address of the console there is no link', () => {
  expect(alertLinks({ link: null, consoleUrl: null })(alert)).toBeNull()
})
