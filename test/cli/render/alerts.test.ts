import { expect, test } from 'vitest'
import { alertLines } from '../../../src/cli/render/alerts.ts'
import { plain } from '../../../src/cli/render/text.ts'
import type { Alert } from '../../../src/contract/control/alerts.ts'

function alert(given: Partial<Alert>): Alert {
  return {
    id: '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
    connection: 'acme',
    kind: 'blocked',
    code: 'key_refused',
    reason: 'the platform does not accept the API key (401)',
    since: '2026-11-20T02:00:00.000Z',
    people: 3,
    leavers: 1,
    runId: null,
    raisedAt: '2026-11-20T02:00:05.000Z',
    notifiedAt: '2026-11-20T02:01:00.000Z',
    lastFailure: null,
    ...given,
  }
}

test('each alert is a line that says what, since when and whether it was sent', () => {
  const lines = alertLines(
    [
      alert({}),
      alert({ kind: 'held', reason: 'a run waits for an approval: \u001b[2Jleavers', notifiedAt: null }),
      alert({
        connection: 'beta',
        kind: 'problems',
        reason: 'the platform refuses',
        lastFailure: 'a.example answers 500',
      }),
    ],
    plain,
  )

  expect(lines).toEqual([
    'alert     acme: blocked since 2026-11-20 02:00 UTC: the platform does not accept the API key (401) (sent 2026-11-20 02:01 UTC)',
    'alert     acme: held since 2026-11-20 02:00 UTC: a run waits for an approval: \\u001b[2Jleavers (not sent yet)',
    'alert     beta: problems since 2026-11-20 02:00 UTC: the platform refuses (not sent: a.example answers 500)',
  ])
})
