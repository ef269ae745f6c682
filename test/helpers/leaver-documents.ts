import type { Leaver, LeaverReport } from '../../src/contract/control/leavers.ts'

/** A departure as the control API gives it; effective by default. */
export function leaverDocument(overrides: Partial<Leaver> = {}): Leaver {
  return {
    connection: 'acme',
    identityId: '1222',
    state: 'effective',
    runId: '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
    effectiveOn: '2026-11-19',
    effectiveAt: '2026-11-19T23:00:00.000Z',
    inferred: false,
    joinedLeft: false,
    formerDates: [],
    statedBy: null,
    statedAt: '2026-11-20T01:00:00.000Z',
    firstSeenAt: '2026-11-20T03:00:00.000Z',
    acceptedAt: '2026-11-20T03:00:00.000Z',
    sentAt: '2026-11-20T03:04:00.000Z',
    acknowledgedAt: '2026-11-20T03:05:00.000Z',
    visibleAt: '2026-11-21T00:05:00.000Z',
    checkedAt: '2026-11-21T00:05:00.000Z',
    foundStatus: 'FORMER_EMPLOYEE',
    finding: null,
    findingDetail: null,
    findingText: null,
    helps: null,
    endedAt: null,
    dueAt: '2026-11-21T03:00:00.000Z',
    late: false,
    hrSeconds: 7200,
    ourSeconds: 300,
    platformSeconds: 75_600,
    ...overrides,
  }
}

/** A report on these departures. */
export function reportDocument(leavers: readonly Leaver[], overrides: Partial<LeaverReport> = {}): LeaverReport {
  const figures = { people: leavers.length, p50: 300, p95: 300, max: 300 }
  return {
    from: '2026-10-01',
    to: '2026-12-31',
    madeAt: '2026-12-31T12:00:00.000Z',
    version: '0.1.0',
    connections: [
      {
        connection: 'acme',
        timeZone: 'Europe/Berlin',
        boundHours: 24,
        people: leavers.length,
        acknowledged: leavers.length,
        effective: leavers.length,
        notEffective: 0,
        late: 0,
        lateOpen: 0,
        takenBack: 0,
        held: 0,
        hrSeconds: figures,
        ourSeconds: figures,
        platformSeconds: null,
      },
    ],
    leavers: [...leavers],
    ...overrides,
  }
}
