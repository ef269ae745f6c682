import { expect, test } from 'vitest'
import { statusChanges } from '../../../src/cli/commands/status.ts'
import { renderPerson } from '../../../src/cli/render/person.ts'
import { renderBlockedPeople, renderProblems, renderStatus } from '../../../src/cli/render/status.ts'
import { plain } from '../../../src/cli/render/text.ts'
import type { Person, Status } from '../../../src/contract/control/shapes.ts'
import { blockedPersonDocument, counts, problemDocument, runDocument } from '../../helpers/control-documents.ts'

const id = '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f'
const short = '0198c5d1'

test('the status shows what runs and the state of each connection', () => {
  const status = {
    version: '1.2.3',
    daemon: { pid: 4711, startedAt: '2026-11-20T00:00:00.000Z' },
    configuration: '/etc/rollcall/rollcall.yaml',
    database: 'the embedded database in data/store',
    queue: 'Redis at localhost:6379',
    platform: 'https://platform.example/public/v2',
    platformDelay: 'the platform has not answered since 01:55 UTC (connection refused); next attempt 02:01 UTC',
    alerts: [],
    processes: [
      {
        roles: ['scheduler'] as const,
        host: 'alpha',
        pid: 4711,
        version: '1.2.3',
        since: '2026-11-20T00:00:00.000Z',
        seenAt: '2026-11-20T02:00:00.000Z',
        differs: ['acme', 'general'],
      },
      {
        roles: ['api'] as const,
        host: 'beta',
        pid: 12,
        version: '1.2.3',
        since: '2026-11-20T01:00:00.000Z',
        seenAt: '2026-11-20T02:00:00.000Z',
        differs: ['acme', 'general'],
      },
    ],
    reload: { at: '2026-11-20T01:30:00.000Z', refused: 'server.port cannot change while the daemon runs: restart it' },
    unsigned: 'entry 7, the last one, is not what was signed',
    states: { inSync: 1 } as const,
    totals: { employed: 1, problems: 0, blockedPeople: 0, foreign: 0, leftOut: 0, stated: [], inDoubt: [] },
    next: null,
    connections: [
      {
        name: 'acme',
        state: 'inSync' as const,
        asOf: null,
        target: 'Acme HRIS',
        people: { desired: 1000, separated: 12, due: 2 },
        problems: { refused: { people: 1, leavers: 0 }, undelivered: { people: 1200, leavers: 1 } },
        blockedPeople: { people: 3, leavers: 1, rows: 0 },
        foreign: { people: 2, separated: 1 },
        twoPeople: false,
        inDoubt: { people: 30, leavers: 3, until: '2026-11-20T02:31:00.000Z' },
        inbox: { pending: 3, held: 0, rejected: 1 },
        pushed: { users: 1010, active: 988, withoutKey: 3, lastAt: '2026-11-20T01:00:00.000Z' },
        blocked: {
          status: 401,
          code: 'key_refused',
          reason: 'the platform does not accept the API key (401)',
          since: '2026-11-20T02:00:00.000Z',
          probeAt: '2026-11-20T02:30:00.000Z',
        },
        paused: {
          since: '2026-11-20T01:00:00.000Z',
          until: '2026-11-21T02:00:00.000Z',
          reason: 'HR moves to another system',
          by: 'ana',
        },
        active: runDocument({ state: 'delivering', finishedAt: null, counts: counts({ leave: 2 }) }),
        last: null,
        nextAt: '2026-11-21T02:00:00.000Z',
        nextVerifyAt: '2026-11-22T03:00:00.000Z',
        nextSampleAt: '2026-11-21T04:00:00.000Z',
      },
    ],
  }

  const text = renderStatus(status, plain)

  expect(text).toBe(`rollcall 1.2.3 · daemon 4711 since 2026-11-20 00:00 UTC
  configuration  /etc/rollcall/rollcall.yaml
  database       the embedded database in data/store
  queue          Redis at localhost:6379
  platform       https://platform.example/public/v2
  ! the platform has not answered since 01:55 UTC (connection refused); next attempt 02:01 UTC
  process   alpha 4711: scheduler; since 2026-11-20 00:00 UTC, seen 2026-11-20 02:00 UTC
  process   beta 12: api; since 2026-11-20 01:00 UTC, seen 2026-11-20 02:00 UTC
  ! no process has the role worker: nothing is read or delivered
  ✖ processes have different settings: acme, general
  ✖ configuration refused 2026-11-20 01:30 UTC: server.port cannot change while the daemon runs: restart it
  ✖ audit entries cannot be signed: entry 7, the last one, is not what was signed

acme → Acme HRIS
  1,000 people, 12 of them have left, 2 not delivered yet
  1,010 users pushed, 988 of them active (3 without a key); last request 2026-11-20 01:00 UTC
  1 person refused by the platform
  1,200 people cannot be delivered, among them 1 leaver
  3 people need attention, 1 of them may have left: rollcall problems
  2 people are on the platform but unknown to HR, and may have left (1 more is separated there): rollcall problems
  30 people are in doubt, 3 leavers among them: the outcome of a request about them is unknown, and it may still take effect; the daemon or the next sync checks them until 2026-11-20 02:31 UTC at least
  3 events waiting
  1 event rejected
  blocked since 2026-11-20 02:00 UTC: the platform does not accept the API key (401)
          tried again 2026-11-20 02:30 UTC; rollcall unblock tries now
  paused since 2026-11-20 01:00 UTC until 2026-11-21 02:00 UTC by ana: HR moves to another system
          no schedule, watched folder or event starts a run; rollcall resume ends it
  now   delivering (2026-11-20 02:00 UTC, run ${short}, 2 leavers)
  next  2026-11-21 02:00 UTC, verification 2026-11-22 03:00 UTC, sample 2026-11-21 04:00 UTC`)
})

test('without a daemon no next run is promised', () => {
  const status = {
    version: '1.2.3',
    daemon: null,
    configuration: '/etc/rollcall/rollcall.yaml',
    database: 'the embedded database in data/store',
    queue: 'the database',
    platform: 'https://platform.example/public/v2',
    alerts: [],
    processes: [],
    states: { inSync: 1 } as const,
    totals: { employed: 1, problems: 0, blockedPeople: 0, foreign: 0, leftOut: 0, stated: [], inDoubt: [] },
    next: null,
    connections: [
      {
        name: 'acme',
        state: 'inSync' as const,
        asOf: null,
        target: 'Acme HRIS',
        people: { desired: 2, separated: 0, due: 0 },
        problems: { refused: { people: 0, leavers: 0 }, undelivered: { people: 0, leavers: 0 } },
        blockedPeople: { people: 0, leavers: 0, rows: 0 },
        foreign: { people: 0, separated: 4 },
        twoPeople: false,
        inDoubt: null,
        inbox: null,
        pushed: { users: 0, active: 0, withoutKey: 0, lastAt: null },
        blocked: null,
        paused: null,
        active: null,
        last: null,
        nextAt: '2026-11-21T02:00:00.000Z',
        nextVerifyAt: null,
        nextSampleAt: null,
      },
    ],
  }

  const text = renderStatus(status, plain)

  expect(text).toContain('no daemon is running')
  expect(text).toContain('nothing was pushed yet')
  expect(text).not.toContain('next')
  expect(text).not.toContain('only to the platform')
})

test('problems stand in a table with what they wait for and the message of the platform', () => {
  const problems = [
    problemDocument(),
    problemDocument({
      identityId: '1223',
      state: 'undelivered',
      kind: 'join',
      status: null,
      code: 'timed_out',
      message: 'the platform cannot be reached (timeout)',
      ageSeconds: 1500,
      nextAt: null,
      times: 12,
    }),
  ]

  const text = renderProblems(problems, plain)

  expect(
    text,
  ).toBe(`CONNECTION  KEY   CHANGE  STATE        RESPONSE          ATTEMPTS  FOR     NEXT                  MESSAGE
acme        1222  leave   refused      item_refused 400  3×        2 d     2026-11-21 02:00 UTC  separatedAt must be a date
acme        1223  join    undelivered  timed_out         12×       25 min  next run              the platform cannot be reached (timeout)`)
})

test('blocked people stand in a table with what cannot be read, what it costs and for how long', () => {
  const blockedPeople = [
    blockedPersonDocument(),
    blockedPersonDocument({
      identityId: '1223',
      leaver: false,
      cellOnly: false,
      column: null,
      reason: 'too few cells',
    }),
    blockedPersonDocument({
      identityId: null,
      leaver: false,
      cellOnly: false,
      column: 'Worker ID',
      rows: 3,
      source: null,
    }),
    blockedPersonDocument({
      identityId: '1224',
      leaver: false,
      contradicts: true,
      column: null,
      reason: 'the status says …',
    }),
  ]

  const text = renderBlockedPeople(blockedPeople, plain)

  expect(text).toBe(`CONNECTION  KEY   LEAVER         IGNORED  FOR  LINE           REASON
acme        1222  may have left  field    2 d  people.csv:41  Leaving Date: not a date
acme        1223  -              row      2 d  people.csv:41  too few cells
acme        -     -              3 rows   2 d  source:41      Worker ID: not a date
acme        1224  -              nothing  2 d  people.csv:41  the status says …`)
})

test('each key has the name beside it if names were requested, and a dash if none is known', () => {
  const problems = [problemDocument({ name: 'Ada Fox' }), problemDocument({ identityId: '1223', name: null })]

  const [head, ...rows] = renderProblems(problems, plain).split('\n')
  const [blockedHead, blockedPeople] = renderBlockedPeople([blockedPersonDocument({ name: 'Ada Fox' })], plain).split(
    '\n',
  )

  expect(head).toMatch(/^CONNECTION {2}KEY +NAME +CHANGE /)
  expect(rows).toEqual([expect.stringMatching(/ 1222 +Ada Fox +\w/), expect.stringMatching(/ 1223 +- +\w/)])
  expect([blockedHead, blockedPeople]).toEqual([
    expect.stringMatching(/ KEY +NAME +LEAVER /),
    expect.stringMatching(/ 1222 +Ada Fox +may have left/),
  ])
})

test('the first two hundred problems are shown, and the number of the others', () => {
  const problems = Array.from({ length: 1300 }, (_, i) => problemDocument({ identityId: `K${i}` }))

  const lines = renderProblems(problems, plain).split('\n')

  expect(lines).toHaveLength(202)
  expect(lines.at(-1)).toBe('… and 1,100 more; --json lists them all')
})

test('a person is shown with what HR says beside what the platform has, and every change with its answer', () => {
  const person: Person = {
    connection: 'acme',
    identityId: '1222',
    desired: { identityId: '1222', jobTitle: { hidden: true as const }, separatedAt: '2026-11-20T00:00:00.000Z' },
    confirmed: { identityId: '1222', jobTitle: { hidden: true as const }, separatedAt: null },
    due: ['separatedAt'],
    asOf: '2026-11-20T01:00:00.000Z',
    inferred: true,
    deferredTo: null,
    absences: 1,
    leavers: [],
    retracted: null,
    changes: [
      {
        runId: id,
        kind: 'leave' as const,
        state: 'problem',
        fields: { separatedAt: { from: null, to: '2026-11-20T00:00:00.000Z', inferred: true as const } },
        source: null,
        plannedAt: '2026-11-20T02:00:00.000Z',
        sentAt: '2026-11-20T02:00:01.000Z',
        answeredAt: '2026-11-20T02:00:02.000Z',
        answer: { status: 400, message: 'not today' },
      },
      {
        runId: id,
        kind: 'join' as const,
        state: 'confirmed',
        fields: { jobTitle: { hidden: true as const } },
        source: 'people.csv:41',
        plannedAt: '2026-01-05T02:00:00.000Z',
        sentAt: '2026-01-05T02:00:01.000Z',
        answeredAt: '2026-01-05T02:00:02.000Z',
        answer: { status: 201 },
      },
    ],
    waiting: [{ effectiveOn: '2027-01-31', leaves: true, leavingDate: null, fields: [] }],
    keys: ['2001'],
    overtaken: [
      {
        ...{ id: '7', eventId: null, runId: id, receivedAt: '2026-11-20T02:00:00.000Z' },
        reason: 'older than what is known of 1222',
      },
    ],
    statedDeparture: null,
    heldBack: {
      ...{ until: '2026-12-01', reason: 'HR mends it', by: 'ana', at: '2026-11-20T03:00:00.000Z' },
      leaving: { separatedAt: '2026-11-20T00:00:00.000Z', inferred: true },
    },
  }

  const text = renderPerson(person, plain)

  expect(text).toBe(`1222 · acme · as of 2026-11-20 01:00 UTC
  HR says that this person left on 2026-11-20; the departure is held back until 2026-12-01 by ana: HR mends it
  HR now uses the key 2001 for this person
  the leaving date was inferred; no row states it
  a row of HR about a departure takes effect on 2027-01-31
  event 7, received 2026-11-20 02:00 UTC: older than what is known of 1222
  missing from the last export

  FIELD        HR SAYS     PLATFORM HAS
  jobTitle     hidden      hidden
  separatedAt  2026-11-20  -

Changes
  2026-11-20 02:00 UTC  leave  separatedAt → 2026-11-20 (inferred)
    run ${short}
    problem, the platform answered 400 on 2026-11-20 02:00 UTC: not today
  2026-01-05 02:00 UTC  join  jobTitle
    run ${short} from people.csv:41
    confirmed, the platform answered 201 on 2026-01-05 02:00 UTC`)
})

test('a live view prints once why the platform takes nothing, and once that it responds again', () => {
  const status = { connections: [], alerts: [] } as unknown as Status
  const failing = (nextAt: string) => ({
    ...status,
    platformDelay: `the platform has not answered since 01:55 UTC (connection refused); next attempt ${nextAt}`,
  })

  const begins = statusChanges(failing('02:01 UTC'), status, plain)
  const lasts = statusChanges(failing('02:07 UTC'), failing('02:01 UTC'), plain)
  const ends = statusChanges(status, failing('02:07 UTC'), plain)

  expect(begins).toEqual([failing('02:01 UTC').platformDelay])
  expect(lasts).toEqual([])
  expect(ends).toEqual(['the platform answers again'])
})
