import type { AlertChange, Message } from '../../src/daemon/config/channel.ts'
import type { Alert } from '../../src/store/alerts/alerts.ts'

export const noticed = new Date('2026-11-20T03:00:07.000Z')

/** An alert as the store holds it. */
export function storedAlert(overrides: Partial<Alert> = {}): Alert {
  return {
    id: '5f0c5a52-7d0a-4c19-9d5c-0a2f2b8a1c11',
    connection: 'acme',
    kind: 'held',
    code: 'leavers',
    reason: 'a run waits for an approval: leavers: 91 of 2000 people would be separated; the limit is 100',
    since: new Date('2026-11-20T03:00:01.000Z'),
    people: 93,
    leavers: 91,
    runId: '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
    raisedAt: noticed,
    clearedAt: null,
    ...overrides,
  }
}

/** The message that an alert was raised. */
export function raised(
  overrides: Partial<Alert> = {},
  { sentBefore = 0 }: { sentBefore?: number } = {},
): Extract<Message, { alert: Alert }> {
  const alert = storedAlert(overrides)
  return { type: 'raised', alert, sentBefore, id: `${alert.id}_${sentBefore + 1}`, now: noticed }
}

/** The message that it is over. */
export function cleared(overrides: Partial<Alert> = {}): Extract<Message, { alert: Alert }> {
  const over = { clearedAt: new Date('2026-11-20T05:00:00.000Z'), ...overrides }
  return { ...raised(over, { sentBefore: 1 }), type: 'cleared' }
}

export const testNotice: Message = { type: 'test', id: 'test_1', now: noticed }

/** One message about several alerts. */
export function groupNotice(changes: readonly AlertChange[]): Message {
  return { type: 'group', changes, id: 'group_1', now: noticed }
}
