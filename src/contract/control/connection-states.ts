/** In what state a connection is, as lists of states show them. */
export const connectionStates = [
  'blocked',
  'waiting',
  'reading',
  'planned',
  'held',
  'delivering',
  'paused',
  'new',
  'failed',
  'rejected',
  'cancelled',
  'problems',
  'pending',
  'inDoubt',
  'inSync',
] as const

/** The name of a state. */
export type ConnectionStateName = (typeof connectionStates)[number]

/** Alerts that say nothing of whether the people of a connection are in sync. */
const unrelatedAlerts: ReadonlySet<string> = new Set(['hr_mail', 'settings_differ'])

/** Whether an open alert of this kind means that a connection is not in sync. */
export function concernsSync(kind: string): boolean {
  return !unrelatedAlerts.has(kind)
}
