import type { PlanContext } from '../../src/identity/decide/decide.ts'
import type { IdentityRecord, Observation, Reject, RosterEntry } from '../../src/identity/record.ts'

/** A person in the platform's format; employed by default. */
export function record(identityId: string, fields: Partial<IdentityRecord> = {}): IdentityRecord {
  return { identityId, email: `${identityId}@example.com`, jobTitle: 'Engineer', separatedAt: null, ...fields }
}

/** The observation of a row with the fields of `record` and no leaving date. */
export function observation(identityId: string, overrides: Partial<Observation> = {}): Observation {
  return {
    identityId,
    fields: { email: `${identityId}@example.com`, jobTitle: 'Engineer' },
    leavingDate: null,
    statesDeparture: false,
    statesEmployed: false,
    isUncertain: false,
    hasEmploymentCell: true,
    origin: { file: 'people.csv', line: 2 },
    ...overrides,
  }
}

/** A row that was rejected whole, for what stands in its only faulty cell. */
export function reject(identityId: string | null, overrides: Partial<Reject> = {}): Reject {
  const fault = { line: 2, column: 'Hire Date', reason: 'what the cell holds is not a date', ...overrides }
  return {
    ...fault,
    identityId,
    cause: 'noDate',
    cellOnly: false,
    mayLeave: false,
    fingerprint: `${identityId} ${fault.column} ${fault.reason}`,
    ...overrides,
  }
}

/** A person in sync with HR, whose facts all have the same time. */
export function entry(identityId: string, known: Partial<RosterEntry> = {}): RosterEntry {
  const { desired = record(identityId), asOf = '2026-11-19T01:00:00.000Z' } = known
  return {
    identityId,
    desired,
    inferred: false,
    deferredTo: null,
    clearedDate: null,
    deferredZone: null,
    heldDeparture: null,
    heldBackUntil: null,
    statedDeparture: null,
    isByOperator: false,
    asOf,
    employmentAsOf: asOf,
    exportIsSilent: false,
    fieldTimes: null,
    absences: 0,
    confirmed: desired,
    retracted: null,
    ...known,
  }
}

/** A nightly snapshot of 20 November 2026 under the default rules. */
export function nightly(rules: Partial<PlanContext> = {}): PlanContext {
  return {
    mode: 'snapshot',
    absence: 'separate',
    graceRuns: 1,
    asOf: '2026-11-20T01:00:00.000Z',
    exportDate: '2026-11-20',
    now: '2026-11-20T03:00:00.000Z',
    timeZone: 'UTC',
    today: '2026-11-20',
    future: 'defer',
    ...rules,
  }
}
