import { expect, test } from 'vitest'
import { alertLines, renderAlerts, renderAlertTests } from '../../../src/cli/render/alerts.ts'
import { plain } from '../../../src/cli/render/text.ts'
import type { Alert } from '../../../src/contract/control/alerts.ts'

type Notified = Alert['notified'][number]

function notified(channel: string, values: Partial<Notified> = {}): Notified {
  const sent = { sent: 1, notifiedAt: '2026-11-20T02:01:00.000Z', lastFailure: null }
  return { channel, ...sent, nextAt: '2026-11-21T02:01:00.000Z', ...values }
}

const unsent = { sent: 0, notifiedAt: null }

function alert(values: Partial<Alert>): Alert {
  return {
    id: '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
    connection: 'acme',
    kind: 'blocked',
    code: 'key_refused',
    reason: 'the platform does not accept the API key (401)',
    consequence: 'Nothing is sent.',
    since: '2026-11-20T02:00:00.000Z',
    people: 3,
    leavers: 1,
    runId: null,
    raisedAt: '2026-11-20T02:00:05.000Z',
    link: null,
    notified: [notified('log'), notified('pager')],
    ...values,
  }
}

test('each alert is a line with its subject, its start and whether it was sent', () => {
  const lines = alertLines(
    [
      alert({}),
      alert({ kind: 'held', reason: 'a run waits for an approval: \u001b[2Jleavers', notified: [] }),
      alert({
        connection: 'beta',
        kind: 'problems',
        reason: 'the platform refuses',
        notified: [notified('chat'), notified('pager', { ...unsent, lastFailure: 'a.example answers 500' })],
      }),
      alert({ notified: [notified('log')] }),
    ],
    plain,
  )

  expect(lines).toEqual([
    'alert     acme: blocked since 2026-11-20 02:00 UTC: the platform does not accept the API key (401) (sent 2026-11-20 02:01 UTC)',
    'alert     acme: held since 2026-11-20 02:00 UTC: a run waits for an approval: \\u001b[2Jleavers (not sent yet)',
    'alert     beta: problems since 2026-11-20 02:00 UTC: the platform refuses (not sent: pager: a.example answers 500)',
    'alert     acme: blocked since 2026-11-20 02:00 UTC: the platform does not accept the API key (401) (logged 2026-11-20 02:01 UTC)',
  ])
})

test('the list of alerts shows what was sent to which channel, and the channels', () => {
  const text = renderAlerts(
    {
      data: [
        alert({
          link: 'https://wiki.example/blocked',
          notified: [
            notified('log', { sent: 2 }),
            notified('mail', { ...unsent, lastFailure: 'mail.example:25 refuses connections' }),
          ],
        }),
      ],
      channels: [
        { name: 'log', type: 'log', connections: null, kinds: null, perHour: null },
        { name: 'mail', type: 'smtp', connections: ['acme'], kinds: ['held', 'blocked'], perHour: 30 },
      ],
    },
    plain,
  )

  expect(text.split('\n')).toEqual([
    'alert     acme: blocked since 2026-11-20 02:00 UTC: the platform does not accept the API key (401)',
    '  If nobody acts: Nothing is sent.',
    '  log: 2 messages, the last 2026-11-20 02:01 UTC, next 2026-11-21 02:01 UTC',
    '  mail: nothing sent yet, next 2026-11-21 02:01 UTC; mail.example:25 refuses connections',
    '  https://wiki.example/blocked',
    '',
    'Channels',
    '  log (log): all alerts',
    '  mail (smtp): held, blocked of acme, at most 30 messages an hour',
  ])
})

test('a test of the channels has a line for each', () => {
  const text = renderAlertTests(
    {
      data: [
        { channel: 'pager', type: 'webhook', failure: null },
        { channel: 'chat', type: 'slack', failure: 'hooks.example answers 403 (invalid_token)' },
      ],
    },
    plain,
  )

  expect(text).toBe('✔ pager (webhook): sent\n✖ chat (slack): hooks.example answers 403 (invalid_token)')
})
