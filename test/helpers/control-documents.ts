import type {
  BlockedPerson,
  ChangeView,
  Counts,
  PlanDocument,
  Problem,
  Run,
} from '../../src/contract/control/shapes.ts'
import { tally } from '../../src/identity/decide/tally.ts'

/** Counts of a plan; zero unless said otherwise. */
export function counts(overrides: Partial<Counts> = {}): Counts {
  return { ...tally().counts(), ...overrides }
}

/** A plan as the control API gives it; without changes unless said otherwise. */
export function planDocument(overrides: Partial<PlanDocument> = {}): PlanDocument {
  return {
    connection: 'acme',
    mode: 'snapshot',
    source: { name: 'people.csv', bytes: 52_100 },
    asOf: '2026-11-20T01:00:00.000Z',
    digest: 'sha256:abc',
    kept: { digest: 'sha256:abc', version: '1', basis: 'b', accepted: null },
    rows: 1000,
    records: 1000,
    counts: counts({ unchanged: 1000 }),
    guards: [],
    warnings: [],
    changes: [],
    rejects: [],
    ...overrides,
  }
}

/** A change of a plan; a leave unless said otherwise. */
export function changeView(overrides: Partial<ChangeView> = {}): ChangeView {
  return { kind: 'leave', identityId: '1222', carried: false, ...overrides }
}

/** A run as the control API gives it; a finished one unless said otherwise. */
export function runDocument(overrides: Partial<Run> = {}): Run {
  const none = { requests: 0, people: 0 }
  return {
    id: '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
    connection: 'acme',
    trigger: 'operator',
    feed: 'source',
    mode: 'snapshot',
    state: 'finished',
    options: {},
    digest: 'sha256:abc',
    configuration: null,
    moved: null,
    heldPart: null,
    wentOn: null,
    partOf: null,
    parts: [],
    asOf: '2026-11-20T01:00:00.000Z',
    source: { name: 'people.csv', bytes: 52_100 },
    rows: 1000,
    records: 997,
    counts: counts({ join: 3, leave: 1, unchanged: 993, rejected: 3 }),
    guards: [],
    warnings: [],
    also: [],
    ridesWith: null,
    verification: null,
    blockedPeople: null,
    inDoubt: null,
    sent: { upsert: { requests: 1, people: 3 }, update: { requests: 1, people: 1 }, delete: none, session: none },
    confirmed: 4,
    problems: 0,
    remaining: 0,
    reason: null,
    failure: null,
    createdAt: '2026-11-20T02:00:00.000Z',
    startedAt: '2026-11-20T02:00:00.100Z',
    finishedAt: '2026-11-20T02:00:01.400Z',
    valuesRemovedAt: null,
    requestedBy: [],
    expiresAt: null,
    decidedBy: null,
    decidedAt: null,
    decidedReason: null,
    durationMs: 1300,
    ...overrides,
  }
}

/** A problem as the control API gives it; a leave that the platform refused unless said otherwise. */
export function problemDocument(overrides: Partial<Problem> = {}): Problem {
  return {
    connection: 'acme',
    identityId: '1222',
    state: 'refused',
    runId: '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
    kind: 'leave',
    leaver: true,
    status: 400,
    code: 'item_refused',
    message: 'separatedAt must be a date',
    firstAt: '2026-11-18T02:00:00.000Z',
    ageSeconds: 2 * 86_400,
    lastAt: '2026-11-20T02:00:00.000Z',
    nextAt: '2026-11-21T02:00:00.000Z',
    times: 3,
    ...overrides,
  }
}

/** A blocked person; one with an unreadable leaving date unless said otherwise. */
export function blockedPersonDocument(overrides: Partial<BlockedPerson> = {}): BlockedPerson {
  return {
    connection: 'acme',
    identityId: '1222',
    leaver: true,
    cellOnly: true,
    column: 'Leaving Date',
    reason: 'not a date',
    source: 'people.csv',
    line: 41,
    rows: 1,
    runId: '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
    accepted: true,
    firstAt: '2026-11-18T02:00:00.000Z',
    ageSeconds: 2 * 86_400,
    lastAt: '2026-11-20T02:00:00.000Z',
    ...overrides,
  }
}
