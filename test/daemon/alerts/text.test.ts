import { describe, expect, test } from 'vitest'
import { type AlertLink, alertLinks } from '../../../src/daemon/alerts/links.ts'
import { noticeText } from '../../../src/daemon/alerts/text.ts'
import { conditionKinds } from '../../../src/store/alerts/conditions.ts'
import { cleared, raised, summaryNotice, testNotice } from '../../helpers/notices.ts'

const noLink: AlertLink = () => null

test('a held plan is told with its reason, counts, the command and the link', () => {
  const linkOf = alertLinks({ link: 'https://wiki.example/rollcall?run={run}', consoleUrl: null })
  const text = noticeText(raised(), linkOf)

  expect(text).toEqual({
    subject: '[Rollcall] acme: a plan waits for an approval',
    lines: [
      'Since 2026-11-20 03:00 UTC.',
      'a run waits for an approval: leavers: 91 of 2000 people would be separated; the limit is 100',
      '93 people wait, 91 leavers among them.',
      'See: rollcall run 0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
    ],
    link: 'https://wiki.example/rollcall?run=0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
  })
})

test.each([
  ['a reminder', raised({}, { sentBefore: 2 }), 'Reminder: this is so since 2026-11-20 03:00 UTC.'],
  ['an end', cleared(), 'Over since 2026-11-20 05:00 UTC. It had been so since 2026-11-20 03:00 UTC.'],
])('%s says so first, under the same subject', (_what, notice, expected) => {
  const text = noticeText(notice, noLink)

  expect(text.lines[0]).toBe(expected)
  expect(text.subject).toBe(noticeText(raised(), noLink).subject)
})

test('a summary says how many more alerts there are, and where to look', () => {
  const { lines } = noticeText(summaryNotice, noLink)

  expect(lines).toEqual([
    '7 more alerts, and 1 alert over.',
    'More than 30 messages in an hour are not sent one by one.',
    'See: rollcall alerts',
  ])
})

test('a test says that nothing is wrong', () => {
  expect(noticeText(testNotice, noLink).lines[0]).toContain('Nothing is wrong')
})

test.each(conditionKinds)('an alert of the kind %s has a subject and a command of its own', (kind) => {
  const { subject, lines } = noticeText(raised({ kind, runId: null, people: null }), noLink)

  expect(subject).toMatch(/^\[Rollcall\] acme: \w/)
  expect(lines.at(-1)).toMatch(/^See: rollcall (?:report leavers|status|problems|runs|run|resume acme)/)
})

describe('text from outside', () => {
  test.each([
    ['ends of lines', 'a\r\nBcc: eve@evil.example', 'a\\u000d\\u000aBcc: eve@evil.example'],
    ['escape sequences', '\u001b[2Jgone', '\\u001b[2Jgone'],
    ['turned directions', 'exe.\u202etxt', 'exe.\\u202etxt'],
    ['signs without width', 'a\u200bb\ufeff', 'a\\u200bb\\ufeff'],
    ['line separators', 'a\u2028b', 'a\\u2028b'],
    ['halves of signs', 'a\ud800b', 'a\\ud800b'],
  ])('shows %s as their codes', (_what, text, expected) => {
    expect(reasonLine(text)).toBe(expected)
  })

  test('keeps what people write, and ends in time', () => {
    expect(reasonLine('Zoë 山田 😀')).toBe('Zoë 山田 😀')
    expect(reasonLine('x'.repeat(1000))).toBe(`${'x'.repeat(600)}…`)
  })
})

function reasonLine(reason: string): string | undefined {
  return noticeText(raised({ reason }), noLink).lines[1]
}
