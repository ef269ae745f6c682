import type { Change } from '../change.ts'
import type { RosterEntry } from '../record.ts'
import type { Decision } from './decide.ts'

/** Which changes a plan sends. */
export type Sending = {
  /** Whether everybody of the roster is sent, also people without a row. */
  readonly includesEverybody: boolean
  /** The change to send for a decision; null for none. */
  readonly changeFor: (entry: RosterEntry | undefined, decision: Decision) => Change | null
}

/** Sends what differs from the platform. */
export const sendDifferences: Sending = { includesEverybody: false, changeFor: (_entry, { change }) => change }

/** Sends people without a difference as well. */
export const sendEverybody: Sending = {
  includesEverybody: true,
  changeFor: (entry, decision) => decision.change ?? sendAgain(entry, decision),
}

function sendAgain(entry: RosterEntry | undefined, decision: Decision): Change | null {
  const record = decision.entry?.desired ?? entry?.desired ?? null
  if (record === null || entry === undefined || entry.retracted !== null) return null
  return { kind: 'update', identityId: entry.identityId, record, fields: {}, inferred: false, carried: true }
}
