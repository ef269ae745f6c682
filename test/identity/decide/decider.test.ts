import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type DesiredState, decide, type PlanContext } from '../../../src/identity/decide/decide.ts'
import { createDecider } from '../../../src/identity/decide/decider.ts'
import { maxKnownFaults } from '../../../src/identity/decide/faults.ts'
import { eventRows, exportRows } from '../../../src/identity/decide/row-models.ts'
import { sendEverybody } from '../../../src/identity/decide/sending.ts'
import { noPeople } from '../../../src/identity/guards/facts.ts'
import { isReject } from '../../../src/identity/mapping/rows.ts'
import type { Observation, Reject } from '../../../src/identity/record.ts'
import { contextOf, history, keys, night, rosterAfter, row } from '../../helpers/model/histories.ts'
import { type Plan, planRows, unusable } from '../../helpers/model/plan.ts'
import { applyPlan, type Roster } from '../../helpers/model/roster.ts'
import { entry, nightly, observation, record, reject } from '../../helpers/records.ts'
import { isFull } from '../../helpers/tier.ts'

const runs = { numRuns: isFull ? 500 : 150 }

type Row = Observation | Reject

const keyOf = fc.constantFrom(...keys)

/** Rows as a source may hold them: keys that stand there several times, with ranks and without, and rows that cannot be used. */
const messyRows: fc.Arbitrary<readonly Row[]> = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.record({ said: row(fc.boolean()), rank: fc.option(fc.constantFrom('1', '2', '3')) }) },
      { weight: 1, arbitrary: fc.record({ rejected: fc.option(keyOf) }) },
    ),
    { maxLength: 14 },
  )
  .map((rows) =>
    rows.map((one, at): Row => {
      if ('rejected' in one) return { ...unusable(''), line: at + 2, identityId: one.rejected }
      const origin = { file: 'people.csv', line: at + 2 }
      return { ...one.said, origin, ...(one.rank !== null && { rank: one.rank }) }
    }),
  )

/** A source in disorder, with the roster and the context that it meets. */
const messyNight = fc
  .record({ past: history, tonight: night, rows: messyRows, slice: fc.integer({ min: 1, max: 5 }) })
  .map(({ past, tonight, rows, slice }) => {
    return { roster: rosterAfter(past), context: contextOf(tonight, past.length), rows, slice }
  })

/** Events of some people in the order of their times, among them some that cannot be understood. */
const events: fc.Arbitrary<readonly Row[]> = messyRows.map((rows) =>
  rows.map((one, at): Row => {
    if (isReject(one)) return one
    const { rank: _, ...unranked } = one
    return { ...unranked, asOf: `2026-11-30T10:${String(at).padStart(2, '0')}:00.000Z` }
  }),
)

/** The one row that counts for each person, and the people without such a row. */
function applicableRows(rows: readonly Row[]): {
  readonly counting: Observation[]
  readonly none: ReadonlySet<string>
} {
  const counting: Observation[] = []
  const none = new Set<string>()
  for (const [key, all] of Map.groupBy(rows, ({ identityId }) => identityId)) {
    if (key === null) continue
    const observations = all.filter((one): one is Observation => !isReject(one))
    const isRanked = observations.length === all.length && observations.every(({ rank }) => rank !== undefined)
    const most = observations
      .map(({ rank = '' }) => rank)
      .toSorted()
      .at(-1)
    const best = all.length === 1 || isRanked ? observations.filter(({ rank = '' }) => rank === most) : []
    const [only] = best
    if (only && best.length === 1) counting.push(only)
    else none.add(key)
  }
  return { counting, none }
}

/** The departures of people none of whose rows counts, as one row would tell them: where all of the rows that could count say "left". */
function departing(rows: readonly Row[], roster: Roster, { today }: PlanContext): ReadonlyMap<string, Observation> {
  const departures = new Map<string, Observation>()
  for (const [key, all] of Map.groupBy(rows, ({ identityId }) => identityId ?? '')) {
    const observations = all.filter((one): one is Observation => !isReject(one))
    const ranks = observations.map(({ rank = '' }) => rank).toSorted()
    const best = observations.filter(({ rank = '' }) => rank === ranks.at(-1))
    const isMixed = ranks.includes('') && ranks.at(-1) !== ''
    const known = roster.get(key)
    const former = known?.desired ?? known?.confirmed
    const isGone = former?.separatedAt && (known?.inferred || former.separatedAt.slice(0, 10) <= today)
    const dates = best.flatMap(({ leavingDate }) => (leavingDate && leavingDate <= today ? [leavingDate] : []))
    const haveAllLeft = best.every(
      ({ statesDeparture, leavingDate }) => statesDeparture || (leavingDate && leavingDate <= today),
    )
    if (!former || isMixed || !haveAllLeft || best.length < 2 || observations.length < all.length) continue
    const departure = isGone
      ? { statesDeparture: true, leavingDate: undefined }
      : { statesDeparture: best.some((one) => one.statesDeparture), leavingDate: dates.toSorted()[0] }
    departures.set(key, observation(key, { fields: {}, ...departure }))
  }
  return departures
}

function shuffled<T>(items: readonly T[]): fc.Arbitrary<T[]> {
  return fc.shuffledSubarray([...items], { minLength: items.length })
}

function contentOf({ changes, entries }: Plan) {
  return { changes, entries }
}

function desiredStates(roster: Roster) {
  return new Map([...roster].map(([key, { confirmed: _, ...side }]) => [key, side]))
}

test('rows with a start on or after the leaving date are counted, except for people who were hired again', () => {
  const decider = createDecider({
    context: nightly(),

    rows: exportRows,
    rejectsKept: 10,
  })
  const leaver = (line: number, start: string, overrides: Partial<Observation> = {}) =>
    observation(`W${line}`, {
      leavingDate: '2026-11-01',
      fields: { startedAt: `${start}T00:00:00.000Z` },
      origin: { file: 'people.csv', line },
      ...overrides,
    })

  decider.book.add(leaver(2, '2026-11-10', { statesEmployed: true }))
  decider.book.add(leaver(3, '2026-12-01', { statesEmployed: true }))
  decider.book.add(leaver(4, '2026-11-01', { statesEmployed: true }))
  decider.book.add(leaver(5, '2026-11-10'))
  decider.book.add(leaver(6, '2020-01-06'))

  expect(decider.book.counts.startsAfterLeaving).toEqual({ count: 3, line: 3 })
})

describe('several rows of a person', () => {
  test('give the plan of the row with the highest rank, of an unusable row, or of a row that states only a departure', () => {
    fc.assert(
      fc.property(messyNight, ({ roster, context, rows, slice }) => {
        const { counting, none } = applicableRows(rows)
        const departures = departing(rows, roster, context)

        const plan = planRows(rows, roster, context, { slice })

        const others = [...none].map((key) => departures.get(key) ?? unusable(key))
        const expected = planRows([...counting, ...others], roster, context)
        expect(contentOf(plan)).toEqual(contentOf(expected))
        expect({ ...plan.news, rejected: 0, unreadableKeys: 0 }).toEqual({ ...expected.news, rejected: 0 })
        const changed = new Set(expected.changes.map(({ identityId }) => identityId))
        const unchanged = expected.counts.unchanged - [...departures.keys()].filter((key) => !changed.has(key)).length
        expect({ ...plan.counts, rejected: 0 }).toEqual({ ...expected.counts, rejected: 0, unchanged })
      }),
      runs,
    )
  })

  test('are each counted once: as a record, as rejected, or as older', () => {
    fc.assert(
      fc.property(messyNight, ({ roster, context, rows, slice }) => {
        const { records, older, rejects, counts } = planRows(rows, roster, context, { slice })

        expect(records).toBe(applicableRows(rows).counting.length)
        expect(records + older + counts.rejected).toBe(rows.length)
        expect(rejects.length).toBe(counts.rejected)
      }),
      runs,
    )
  })

  test('mean the same in every order', () => {
    const twoOrders = messyNight.chain((one) => shuffled(one.rows).map((other) => ({ ...one, other })))
    fc.assert(
      fc.property(twoOrders, ({ roster, context, rows, other, slice }) => {
        expect(contentOf(planRows(other, roster, context, { slice }))).toEqual(
          contentOf(planRows(rows, roster, context)),
        )
      }),
      runs,
    )
  })

  test('of which two are equally old are replaced by a newer third one', () => {
    const older = { rank: '1', fields: { jobTitle: 'Trainee' } }
    const rows = [
      observation('ana', older),
      observation('ana', older),
      observation('ana', { rank: '2', statesDeparture: true }),
    ]

    const { changes, rejects, records } = planRows(rows, new Map([['ana', entry('ana')]]), nightly(), { slice: 1 })

    expect(changes).toMatchObject([{ kind: 'leave', identityId: 'ana' }])
    expect({ records, rejected: rejects.length }).toEqual({ records: 1, rejected: 2 })
  })
})

describe('several rows of a person that all say that the person has left', () => {
  const known = new Map([['ana', entry('ana')]])
  const rowOfAna = (line: number, overrides: Partial<Observation>) =>
    observation('ana', { fields: { jobTitle: 'Trainee' }, origin: { file: 'people.csv', line }, ...overrides })
  const june = { leavingDate: '2026-06-30' }
  const july = { leavingDate: '2026-07-31' }
  const status = { statesDeparture: true, leavingDate: undefined }
  const employed = { statesEmployed: true }
  const retracted = { reason: 'sent in error', at: '2026-11-01T09:00:00.000Z' }

  /** What each order of the rows makes of a person, in slices of each size: they are all the same. */
  function planOf(facts: readonly Partial<Observation>[], roster = known, rules: Partial<PlanContext> = {}) {
    const plans = orders(facts.map((one, at) => rowOfAna(at + 2, one))).flatMap((rows) =>
      [1, 2, 3].map((slice) => planRows(rows, roster, nightly(rules), { slice })),
    )
    const [plan] = plans
    if (!plan) throw new Error('no rows')
    for (const other of plans) expect(summary(other)).toEqual(summary(plan))
    return plan
  }

  // A row that gives way to a newer one may have been rejected before it came.
  const summary = ({ counts, older, ...plan }: Plan) => [
    contentOf({ counts, older, ...plan }),
    { ...counts, rejected: counts.rejected + older },
  ]

  function orders<T>(items: readonly T[]): T[][] {
    return items.length < 2
      ? [[...items]]
      : items.flatMap((item, at) => orders(items.toSpliced(at, 1)).map((rest) => [item, ...rest]))
  }

  test.each([
    ['two dates', [july, june], '2026-06-30', false],
    ['the same date', [june, june], '2026-06-30', false],
    ['two statuses', [status, status], '2026-11-20', true],
    ['a date and a status', [status, july], '2026-07-31', false],
    ['three rows', [july, status, june], '2026-06-30', false],
    ['a status with a date ahead', [{ statesDeparture: true, leavingDate: '2027-01-31' }, july], '2026-07-31', false],
    ['a date, though a status cannot be read', [{ ...june, isUncertain: true }, july], '2026-06-30', false],
  ])('separate the person on the earliest day, and have no other effect: %s', (_, rows, date, inferred) => {
    const { changes, counts, news, records } = planOf(rows)

    const separatedAt = { from: null, to: `${date}T00:00:00.000Z`, ...(inferred && { inferred }) }
    expect(changes).toMatchObject([{ kind: 'leave', identityId: 'ana', inferred, record: { jobTitle: 'Engineer' } }])
    expect(changes[0]).toHaveProperty('fields', { separatedAt })
    expect(counts).toMatchObject({ leave: 1, rejected: rows.length, unchanged: 0 })
    expect({ leavers: news.leavers, rejected: news.rejected, records }).toEqual({
      leavers: 1,
      rejected: rows.length,
      records: 0,
    })
  })

  test.each([
    ['employed', [june, employed]],
    ['employed, in one row of three', [june, july, employed]],
    ['leaving on a day ahead', [june, { leavingDate: '2027-01-31' }]],
    ['hired again', [june, { ...june, ...employed, fields: { startedAt: '2026-09-01T00:00:00.000Z' } }]],
    ['nothing that can be read', [june, { isUncertain: true, leavingDate: undefined }]],
    ['something of another rank than none', [june, { ...june, rank: '1' }]],
  ])('are a contradiction if one of them states %s', (_, facts) => {
    const { changes, entries, counts } = planOf(facts)

    const stored = [...entries.values()].map(({ desired, exportIsSilent }) => ({ desired, exportIsSilent }))
    expect([changes, stored, counts.rejected]).toEqual([
      [],
      [{ desired: record('ana'), exportIsSilent: true }],
      facts.length,
    ])
  })

  test.each([false, true])('are a contradiction if another row was rejected, even the first: %s', (isFirst) => {
    const rows = [rowOfAna(2, june), rowOfAna(3, june)]
    const other = reject('ana', { line: 4, mayLeave: true })

    const { changes, counts } = planRows(isFirst ? [other, ...rows] : [...rows, other], known, nightly(), { slice: 1 })

    expect([changes, counts.rejected]).toEqual([[], 3])
  })

  test.each([
    ['who is not known', new Map(), []],
    ['who was known from events in error', new Map([['ana', entry('ana', { desired: null })]]), []],
    ['who is withheld', new Map([['ana', entry('ana', { confirmed: null, retracted })]]), []],
    ['who has left', new Map([['ana', entry('ana', { desired: record('ana', { separatedAt: '2026-08-31' }) })]]), []],
    [
      'whom the platform alone knows',
      new Map([['ana', entry('ana', { desired: null, confirmed: record('ana') })]]),
      ['leave'],
    ],
    ['whose date was ahead', new Map([['ana', entry('ana', { deferredTo: '2026-12-31' })]]), ['leave']],
  ])('and a person %s', (_, roster, kinds) => {
    const { changes, counts } = planOf([june, july], roster)

    expect(changes.map(({ kind }) => kind)).toEqual(kinds)
    expect(counts).toMatchObject({ rejected: 2, unchanged: 0 })
  })

  test('of one rank are replaced by a newer row, and an older row has no effect', () => {
    const ranked = [
      { ...june, rank: '2' },
      { ...july, rank: '2' },
    ]
    const older = { ...employed, rank: '1' }

    expect(planOf([...ranked, older]).changes).toMatchObject([{ kind: 'leave' }])
    expect(planOf([...ranked, older, { ...employed, rank: '3' }]).changes).toMatchObject([{ kind: 'update' }])
  })

  test('state the departure in a delta too', () => {
    expect(planOf([june, status], known, { mode: 'delta' }).changes).toMatchObject([{ kind: 'leave' }])
  })

  test.each([
    [
      'that the leaving alone counts',
      july,
      / in line \d+; all of its rows say that the person has left, and nothing else of them is used$/,
    ],
    ['that the key is repeated', employed, / in line \d+$/],
  ])('are listed one by one, with the reason: %s', (_, second, reason) => {
    const decider = createDecider({
      ...{ context: nightly(), rows: exportRows, rejectsKept: 10 },
    })

    decider.book.add(rowOfAna(2, { ...second, badCells: [reject('ana', { line: 2, cellOnly: true })] }))
    decider.book.add(rowOfAna(3, june))

    const repeated = [
      { line: 2, reason: expect.stringMatching(reason) },
      { line: 3, reason: expect.stringMatching(reason) },
    ]
    expect(decider.rejects().filter(({ cellOnly }) => !cellOnly)).toMatchObject(repeated)
    expect(decider.knownFaults()).toMatchObject([
      { cellOnly: true, reason: reject('ana').reason },
      { ...repeated[0], mayLeave: true, times: 2, isBlocking: true },
    ])
  })
})

describe('the end of a slice of rows', () => {
  test.each([
    ['in any order', exportRows],
    ['in the order of their times', eventRows],
  ])('changes nothing about rows %s', (_, rowModel) => {
    fc.assert(
      fc.property(messyNight, ({ roster, context, rows, slice }) => {
        expect(planRows(rows, roster, context, { slice, rows: rowModel })).toEqual(
          planRows(rows, roster, context, { rows: rowModel }),
        )
      }),
      runs,
    )
  })
})

describe('the counts of a plan', () => {
  test('match its changes, and count everybody once', () => {
    fc.assert(
      fc.property(messyNight, ({ roster, context, rows, slice }) => {
        const { changes, counts, records } = planRows(rows, roster, context, { slice })

        const kinds = { join: 0, update: 0, leave: 0, return: 0, correct: 0, retract: 0 }
        for (const { kind } of changes) kinds[kind]++
        expect(counts).toMatchObject(kinds)
        expect(counts.unchanged).toBeLessThanOrEqual(records)
        expect(counts.unchanged + changes.length).toBeGreaterThanOrEqual(records)
      }),
      runs,
    )
  })
})

describe('events of one run', () => {
  const delta = (context: PlanContext): PlanContext => ({ ...context, mode: 'delta', asOf: '2026-11-30T12:00:00.000Z' })

  test('have the same effect together as one after the other', () => {
    fc.assert(
      fc.property(messyNight, events, ({ roster, context, slice }, rows) => {
        const options = { rows: eventRows, slice }

        const together = applyPlan(roster, planRows(rows, roster, delta(context), options))

        const oneByOne = rows.reduce<Roster>(
          (known, event) => applyPlan(known, planRows([event], known, delta(context), options)),
          applyPlan(roster, planRows([], roster, delta(context), options)),
        )
        expect(desiredStates(together)).toEqual(desiredStates(oneByOne))
      }),
      runs,
    )
  })

  test('that cannot be understood do not affect other events', () => {
    fc.assert(
      fc.property(messyNight, events, ({ roster, context }, rows) => {
        const understood = rows.filter((event) => !isReject(event))

        const plan = planRows(rows, roster, delta(context), { rows: eventRows })

        expect(contentOf(plan)).toEqual(contentOf(planRows(understood, roster, delta(context), { rows: eventRows })))
        expect(plan.counts.rejected).toBe(rows.length - understood.length)
      }),
      runs,
    )
  })
})

describe('a plan that sends everybody', () => {
  test('has the changes of an ordinary plan, and the desired record of everybody else', () => {
    fc.assert(
      fc.property(messyNight, ({ roster, context, rows, slice }) => {
        const usual = planRows(rows, roster, context, { slice })

        const full = planRows(rows, roster, context, { slice, sending: sendEverybody })

        const after = applyPlan(roster, usual)
        const due = new Map(usual.changes.map((change) => [change.identityId, change]))
        const desired = [...after.values()].filter((person) => person.desired !== null && person.retracted === null)
        expect(full.changes.map(({ identityId }) => identityId)).toEqual(
          expect.arrayContaining(desired.map(({ identityId }) => identityId)),
        )
        for (const change of full.changes) {
          const { identityId } = change
          const again = { kind: 'update', carried: true, fields: {}, record: after.get(identityId)?.desired }
          expect(change).toMatchObject(due.get(identityId) ?? again)
        }
        expect({ ...full, changes: [] }).toEqual({ ...usual, changes: [] })
      }),
      runs,
    )
  })
})

describe('a plan that sends everybody, and a person who is withheld', () => {
  test('does not send the person', () => {
    const retracted = { reason: 'sent in error', at: '2026-11-19T12:00:00.000Z' }
    const roster = new Map([['ana', entry('ana', { confirmed: null, retracted })]])

    const { changes } = planRows([observation('ana')], roster, nightly(), { sending: sendEverybody })

    expect(changes).toEqual([])
  })
})

describe('the people whom a source names last', () => {
  function decided(rows: readonly Row[]) {
    const decider = createDecider({
      context: nightly(),

      rows: exportRows,
      rejectsKept: 10,
    })
    for (const one of rows) {
      if (isReject(one)) decider.book.reject(one)
      else decider.book.add(one)
    }
    return decider
  }

  test('are the last fifty who stay employed, in order', () => {
    const many = Array.from({ length: 3000 }, (_, at) => observation(`p${at}`))

    const endKeys = decided([...many, observation('gone', { statesDeparture: true })]).lastEmployedKeys(new Map())

    expect(endKeys).toEqual(many.slice(-50).map(({ identityId }) => identityId))
  })

  test('are looked up in the roster if their row is unusable', () => {
    const decider = decided([observation('ana'), unusable('bo'), unusable('cy')])
    const leaver = entry('cy', { desired: record('cy', { separatedAt: '2026-06-30T00:00:00.000Z' }) })

    const endKeys = decider.lastEmployedKeys(
      new Map([
        ['bo', entry('bo')],
        ['cy', leaver],
      ]),
    )

    expect(decider.lastUnusableKeys()).toEqual(['bo', 'cy'])
    expect(endKeys).toEqual(['ana', 'bo'])
    expect(decider.book.lacks('bo')).toBe(false)
  })
})

describe('the faults of a source', () => {
  const rules = { context: nightly(), rows: exportRows, rejectsKept: 10 }

  test('are listed once each with their number of rows, whether or not all rejects are kept', () => {
    const decider = createDecider(rules)

    for (let at = 0; at < 40; at++) decider.book.reject(reject(`p${at % 20}`, { line: at + 2 }))

    const faults = decider.knownFaults()
    expect(decider.rejects()).toHaveLength(10)
    expect(faults.map(({ identityId }) => identityId)).toEqual(Array.from({ length: 20 }, (_, at) => `p${at}`))
    expect(new Set(faults.map(({ times, isBlocking }) => `${times} ${isBlocking}`))).toEqual(new Set(['2 true']))
  })

  test('are remembered up to a limit, and count as new beyond it', () => {
    const faults = Array.from({ length: maxKnownFaults + 7 }, (_, at) => reject(`p${at}`))
    const first = createDecider(rules)
    for (const fault of faults) first.book.reject(fault)

    const known = new Map(first.knownFaults().map(({ fingerprint, times }) => [fingerprint, times]))
    const second = createDecider({ ...rules, known: { rejects: known, values: new Set() } })
    for (const fault of faults) second.book.reject(fault)

    const { rejected, knownFaulty } = second.facts({
      ...{
        mode: 'snapshot',
        rows: faults.length,
        size: null,
        endMissing: false,
        headcount: 0,
        missingColumns: [],
        keyChangeCandidates: [],
      },
      ...{ recent: noPeople, usual: null, absence: 'separate' },
    })
    expect(rejected - knownFaulty).toBe(7)
  })
})

describe('an accepted export', () => {
  test('that is stored once for all its people gives the same entries as storing each person', () => {
    fc.assert(
      fc.property(messyNight, ({ roster, context, rows }) => {
        const speaking = { ...context, absence: 'separate' as const }
        const { counting, none } = applicableRows(rows)
        const byPerson = new Map(counting.map((one) => [one.identityId, one]))

        const once = applyPlan(roster, planRows(rows, roster, speaking))

        const entries = new Map<string, DesiredState>()
        for (const key of new Set([...roster.keys(), ...byPerson.keys()])) {
          const side = decide(roster.get(key), byPerson.get(key) ?? 'absent', speaking).entry
          if (side && !none.has(key)) entries.set(key, side)
        }
        const each = applyPlan(roster, { changes: [], entries, spokenAsOf: null })
        for (const key of none) for (const known of [once, each]) (known as Map<string, unknown>).delete(key)
        expect(desiredStates(once)).toEqual(desiredStates(each))
      }),
      runs,
    )
  })

  test.each([
    ['older than the last accepted one', { acceptedAsOf: '2026-11-21T01:00:00.000Z' }],
    ['whose silence means nothing', { absence: 'ignore' as const }],
    ['that is a delta', { mode: 'delta' as const }],
  ])('is stored for each of its people: one %s', (_, rules) => {
    const known = entry('ana', { asOf: '2026-11-18T01:00:00.000Z' })

    const { entries, spokenAsOf } = planRows([observation('ana')], new Map([['ana', known]]), nightly(rules))

    expect(entries.get('ana')).toMatchObject({ asOf: nightly().asOf })
    expect(spokenAsOf).toBeNull()
  })

  test('is stored once if it is newer and covers everybody', () => {
    const { entries, spokenAsOf } = planRows([observation('ana')], new Map([['ana', entry('ana')]]), nightly())

    expect(entries.size).toBe(0)
    expect(spokenAsOf).toBe(nightly().asOf)
  })
})

test('a person whose row was taken for totals counts as present and unchanged', () => {
  const context = nightly()
  const decider = createDecider({ context, rows: exportRows, rejectsKept: 10 })

  decider.book.skip('SUM')
  decider.book.skip(null)
  const decided = decider.decideUnobserved([entry('SUM'), entry('W2')])

  expect(decided.map(({ identityId, change }) => [identityId, change?.kind])).toEqual([
    ['SUM', undefined],
    ['W2', 'leave'],
  ])
  expect([decider.book.lacks('SUM'), decider.book.lacks('W2')]).toEqual([false, true])
  expect(decider.book.unobserved(['SUM'])).toEqual(['SUM'])
})

test('an event is read again at the earliest time of its rejects, including those that are not kept', () => {
  const decider = createDecider({ context: nightly(), rows: eventRows, rejectsKept: 2 })
  const days = [undefined, '2026-12-09', '2026-12-02', '2026-12-01', '2026-12-05']

  for (const [at, day] of days.entries())
    decider.book.reject({ ...unusable(`p${at}`), event: '7', ...(day && { retryAt: `${day}T00:00:00.000Z` }) })

  expect(decider.rejects().map(({ retryAt }) => retryAt)).toEqual([
    '2026-12-01T00:00:00.000Z',
    '2026-12-09T00:00:00.000Z',
  ])
})
