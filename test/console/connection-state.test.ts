import { expect, test } from 'vitest'
import { connectionState } from '../../src/console/pages/connection-state.ts'
import type { Alert } from '../../src/contract/control/alerts.ts'
import type { ConnectionStatus, Run } from '../../src/contract/control/shapes.ts'
import { type StateFacts, stateOf } from '../../src/daemon/control/connection-state.ts'

const now = new Date('2026-11-21T03:00:00.000Z')
const nobody = { people: 0, leavers: 0 }
const lastRun = { id: 'r1', state: 'finished', reason: null, counts: null } as Run
const healthy = {
  name: 'acme',
  people: { desired: 40, separated: 2, due: 0 },
  problems: { refused: nobody, undelivered: nobody },
  blockedPeople: { people: 0, leavers: 0, rows: 0 },
  foreign: { people: 0, separated: 3 },
  inDoubt: null,
  inbox: { pending: 0, held: 0, rejected: 0 },
  blocked: null,
  paused: null,
  active: null,
  last: lastRun,
} as unknown as ConnectionStatus

/** What the console shows of a connection for which the control API finds the state. */
function shown(connection: ConnectionStatus, alerts: readonly Alert[] = [], delay?: string) {
  const { active, last } = connection
  const own = alerts.filter((alert) => alert.connection === connection.name)
  const facts = { ...connection, runs: { active, last }, alerts: own } as StateFacts
  return connectionState({ ...connection, state: stateOf(facts) }, { now, alerts, delay })
}

test('a connection is in sync when nothing waits, nobody differs and no alert is open', () => {
  const alert = (kind: Alert['kind'], connection: string) => ({ kind, connection, reason: 'a run failed' }) as Alert
  const beside = [alert('run_failed', 'other'), alert('settings_differ', 'acme')]

  expect(shown(healthy, beside)).toMatchObject({ state: 'In sync', tone: 'good' })
  const failing = shown(healthy, [...beside, alert('run_failed', 'acme')])
  expect(failing).toMatchObject({ state: 'With problems', tone: 'wait' })
  expect(String(failing.text)).toBe('A run failed.')
})

test.each<[string, Partial<ConnectionStatus>]>([
  ['New', { last: null }],
  ['Rejected', { last: { ...lastRun, state: 'rejected', reason: 'a test export' } }],
  ['Cancelled', { last: { ...lastRun, state: 'cancelled' } }],
  ['Failed', { last: { ...lastRun, state: 'failed' } }],
  ['With problems', { blockedPeople: { people: 1, leavers: 1, rows: 0 } }],
  ['With problems', { blockedPeople: { people: 0, leavers: 0, rows: 1 } }],
  ['With problems', { problems: { refused: nobody, undelivered: { people: 1, leavers: 0 } } }],
  ['With problems', { foreign: { people: 1, separated: 0 } }],
  ['With problems', { inbox: { pending: 0, held: 0, rejected: 1 } }],
  ['Pending', { inbox: { pending: 1, held: 0, rejected: 0 } }],
  ['Pending', { people: { desired: 40, wanted: 40, separated: 2, due: 1 } }],
  ['In doubt', { inDoubt: { people: 1, leavers: 1, until: '2026-11-21T03:15:00.000Z' } }],
  ['Held', { active: { ...lastRun, state: 'held', createdAt: '2026-11-20T03:00:00.000Z' } }],
  ['Waiting', { active: { ...lastRun, state: 'waiting' } }],
])('a connection is "%s", and not in sync, with %o', (state, differing) => {
  const result = shown({ ...healthy, ...differing })

  expect(result).toMatchObject({ state })
  expect(String(result.text)).not.toBe('')
})

test('a delivery that does not move says why', () => {
  const delay = 'the platform has not answered since 13:30 UTC (connection refused)'
  const active = { ...lastRun, state: 'delivering', confirmed: 0, counts: null } as Run

  const { text } = shown({ ...healthy, active }, [], delay)

  expect(String(text)).toContain('The platform has not answered since 13:30 UTC (connection refused).')
})

test('people whose departure is held back are not called unreadable', () => {
  const { text } = shown({ ...healthy, blockedPeople: { people: 2, leavers: 1, rows: 1 } })

  expect(String(text)).toBe('2 people and 1 row without a readable key need attention; the others are delivered.')
})
