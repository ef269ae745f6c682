import { describe, expect, test } from 'vitest'
import { type AlertLink, alertLinks } from '../../../src/daemon/alerts/links.ts'
import { noticeText } from '../../../src/daemon/alerts/text.ts'
import { conditionKinds } from '../../../src/store/alerts/condition.ts'
import { cleared, groupNotice, raised, testNotice } from '../../helpers/notices.ts'

const noLink: AlertLink = () => null

test('the text of a held plan has its reason, counts, the command and the link', () => {
  const linkOf = alertLinks({ link: 'https://wiki.example/rollcall?run={run}', consoleUrl: null })
  const text = noticeText(raised(), linkOf)

  expect(text).toEqual({
    subject: '[Rollcall] acme: a plan waits for an approval',
    lines: [
      'Since 2026-11-20 03:00 UTC.',
      'a run waits for an approval: leavers: 91 of 2000 people would be separated; the limit is 100',
      'Concerns 93 people, 91 leavers among them.',
      'If nobody acts: The held changes are not sent, and later ones of the same people may wait behind them.',
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

test('an alert that was over before it could be sent says so, and not what happens if nobody acts', () => {
  const { lines } = noticeText(raised({ clearedAt: new Date('2026-11-20T05:00:00.000Z') }), noLink)

  expect(lines[0]).toBe('Over since 2026-11-20 05:00 UTC. It had been so since 2026-11-20 03:00 UTC.')
  expect(lines.join()).not.toContain('If nobody acts')
})

describe('a message about several alerts', () => {
  const { reason } = raised().alert

  test('says of each what a message of its own would say, grouped by connection', () => {
    const changes = [
      raised({ connection: 'hr' }, { sentBefore: 1 }),
      raised({ kind: 'stale' }),
      cleared({ connection: 'hr', kind: 'blocked' }),
    ]

    const linkOf = alertLinks({ link: null, consoleUrl: new URL('https://rollcall.example/') })
    const text = noticeText(groupNotice(changes), linkOf)

    expect(text).toEqual({
      subject: '[Rollcall] 2 connections: 3 alerts',
      lines: [
        'acme: HR was not read',
        'Since 2026-11-20 03:00 UTC.',
        reason,
        'Concerns 93 people, 91 leavers among them.',
        'If nobody acts: Whoever left since then stays employed on the platform.',
        'See: rollcall runs --connection acme',
        'https://rollcall.example/connections/acme/sync',
        '',
        'hr: the platform refuses all requests',
        'Over since 2026-11-20 05:00 UTC. It had been so since 2026-11-20 03:00 UTC.',
        reason,
        'Concerns 93 people, 91 leavers among them.',
        'See: rollcall status',
        'https://rollcall.example/connections/hr/unblock',
        '',
        'hr: a plan waits for an approval',
        'Reminder: this is so since 2026-11-20 03:00 UTC.',
        reason,
        'Concerns 93 people, 91 leavers among them.',
        'If nobody acts: The held changes are not sent, and later ones of the same people may wait behind them.',
        'See: rollcall run 0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
        'https://rollcall.example/runs/0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f/decision',
        '',
        'See: rollcall alerts',
      ],
      link: 'https://rollcall.example/',
    })
  })

  test('names the connection in the subject if all are of one', () => {
    const { subject } = noticeText(groupNotice([raised(), raised({ kind: 'stale' })]), noLink)

    expect(subject).toBe('[Rollcall] acme: 2 alerts')
  })

  test('stays short enough for a chat, and says how many more there are', () => {
    const changes = Array.from({ length: 40 }, (_, index) => raised({ connection: 'x'.repeat(200) + index }))

    const { lines } = noticeText(groupNotice(changes), noLink)

    const named = lines.filter((line) => line.startsWith('xxx')).length
    expect(named).toBeGreaterThan(2)
    expect(lines.slice(-2)).toEqual([`And ${40 - named} more alerts.`, 'See: rollcall alerts'])
    expect(lines.join('\n').length).toBeLessThan(3000)
  })
})

test('a test says that nothing is wrong', () => {
  expect(noticeText(testNotice, noLink).lines[0]).toContain('Nothing is wrong')
})

test.each(conditionKinds)('an alert of the kind %s has a subject and a command of its own', (kind) => {
  const { subject, lines } = noticeText(raised({ kind, runId: null, people: null }), noLink)

  expect(subject).toMatch(/^\[Rollcall\] acme: \w/)
  expect(lines.at(-1)).toMatch(
    /^See: rollcall (?:report leavers|leave|check|effective|statement|status|problems|runs|run|resume acme)/,
  )
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

  test('keeps what people write, and is cut to a maximum length', () => {
    expect(reasonLine('Zoë 山田 😀')).toBe('Zoë 山田 😀')
    expect(reasonLine('x'.repeat(1000))).toBe(`${'x'.repeat(600)}…`)
  })
})

function reasonLine(reason: string): string | undefined {
  return noticeText(raised({ reason }), noLink).lines[1]
}
