import { describe, expect, test } from 'vitest'
import { decide, type PersonInput, type PlanContext, retractChange } from '../../../src/identity/decide/decide.ts'
import { tally } from '../../../src/identity/decide/tally.ts'
import { type News, noPeople } from '../../../src/identity/guards/facts.ts'
import type { IdentityRecord, Observation, RosterEntry } from '../../../src/identity/record.ts'
import { plan } from '../../helpers/model/plan.ts'
import { entry, nightly, observation, record } from '../../helpers/records.ts'

const june = '2026-06-30T00:00:00.000Z'
const july = '2026-07-31T00:00:00.000Z'
const exportDay = '2026-11-20T00:00:00.000Z'

describe('the effect of a row on a person', () => {
  test('somebody new joins with everything that is known', () => {
    const row = observation('ana', { fields: { email: 'ana@example.com', managerId: null } })

    const { change, entry: stored } = decide(undefined, row, nightly())

    const desired = { identityId: 'ana', email: 'ana@example.com', managerId: null, separatedAt: null }
    expect(change).toEqual({
      kind: 'join',
      identityId: 'ana',
      record: desired,
      fields: { email: { from: null, to: 'ana@example.com' } },
      inferred: false,
      carried: false,
    })
    const { asOf } = nightly()
    expect(stored).toEqual({
      desired,
      inferred: false,
      deferredTo: null,
      clearedDate: null,
      deferredZone: null,
      heldDeparture: null,
      isByOperator: false,
      asOf,
      employmentAsOf: asOf,
      exportIsSilent: false,
      fieldTimes: null,
      absences: 0,
    })
  })

  test('the same row again changes nothing', () => {
    const { change, entry: stored } = decide(entry('ana'), observation('ana'), nightly())

    expect(change).toBeNull()
    expect(stored?.desired).toEqual(record('ana'))
  })

  test('a change names the fields that differ and carries the whole record', () => {
    const row = observation('ana', { fields: { email: 'ana@example.com', jobTitle: 'Director' } })

    const { change } = decide(entry('ana'), row, nightly())

    expect(change).toEqual({
      kind: 'update',
      identityId: 'ana',
      record: record('ana', { jobTitle: 'Director' }),
      fields: { jobTitle: { from: 'Engineer', to: 'Director' } },
      inferred: false,
      carried: false,
    })
  })

  test('a leaver whose title also changed is one change', () => {
    const row = observation('ana', { fields: { email: 'ana@example.com', jobTitle: null }, leavingDate: '2026-06-30' })

    const { change } = decide(entry('ana'), row, nightly())

    expect(change).toMatchObject({
      kind: 'leave',
      fields: { jobTitle: { from: 'Engineer', to: null }, separatedAt: { from: null, to: june } },
    })
  })

  test('a field that the row does not state keeps its value', () => {
    const row = observation('ana', { fields: { jobTitle: 'Director' } })

    const { change } = decide(entry('ana'), row, nightly())

    expect(change).toMatchObject({ record: { email: 'ana@example.com', jobTitle: 'Director' } })
  })

  test('a field that is no longer mapped is dropped without a change', () => {
    const row = observation('ana', { fields: { email: 'ana@example.com' } })

    const { change, entry: stored } = decide(entry('ana'), row, nightly({ mapped: new Set(['email']) }))

    expect(change).toBeNull()
    expect(stored?.desired).toEqual({ identityId: 'ana', email: 'ana@example.com', separatedAt: null })
  })

  test('a newly mapped field starts without a value', () => {
    const row = observation('ana', { fields: { managerId: '7', managerName: null } })

    const { change } = decide(entry('ana'), row, nightly())

    expect(change).toMatchObject({ kind: 'update', fields: { managerId: { from: null, to: '7' } } })
    expect(change).not.toHaveProperty('fields.managerName')
  })
})

describe('leaving, returning and correcting', () => {
  const employed = {}
  const juneLeaver = { desired: record('ana', { separatedAt: june }) }
  const inferredInJune = { ...juneLeaver, inferred: true }
  const leavesInDecember = { deferredTo: '2026-12-31' }

  type Case = {
    readonly name: string
    readonly known: Partial<RosterEntry>
    readonly input: PersonInput
    readonly rules?: Partial<PlanContext>
    readonly kind: string | null
    readonly separatedAt: string | null
    readonly inferred?: boolean
    readonly deferredTo?: string | null
  }
  const cases: Case[] = [
    {
      name: 'a stated date is the date',
      known: employed,
      input: observation('ana', { leavingDate: '2026-06-30' }),
      kind: 'leave',
      separatedAt: june,
    },
    {
      name: 'the last day of employment itself counts as reached',
      known: employed,
      input: observation('ana', { leavingDate: '2026-11-20' }),
      kind: 'leave',
      separatedAt: exportDay,
    },
    {
      name: 'a date ahead waits for its day',
      known: employed,
      input: observation('ana', { leavingDate: '2026-11-21' }),
      kind: null,
      separatedAt: null,
      deferredTo: '2026-11-21',
    },
    {
      name: 'a date ahead is sent at once where the source says so',
      known: employed,
      input: observation('ana', { leavingDate: '2026-12-31' }),
      rules: { future: 'send' },
      kind: 'leave',
      separatedAt: '2026-12-31T00:00:00.000Z',
    },
    {
      name: 'a date ahead that was sent already stays when the source now defers',
      known: { desired: record('ana', { separatedAt: '2026-12-31T00:00:00.000Z' }) },
      input: observation('ana', { leavingDate: '2026-12-31' }),
      kind: null,
      separatedAt: '2026-12-31T00:00:00.000Z',
    },
    {
      name: 'a date ahead brings back who was taken for gone',
      known: inferredInJune,
      input: observation('ana', { leavingDate: '2026-12-31' }),
      kind: 'return',
      separatedAt: null,
      deferredTo: '2026-12-31',
    },
    {
      name: 'a status without a date infers the day of the export',
      known: employed,
      input: observation('ana', { statesDeparture: true }),
      kind: 'leave',
      separatedAt: exportDay,
      inferred: true,
    },
    {
      name: 'a status without a date keeps the date that is known',
      known: juneLeaver,
      input: observation('ana', { statesDeparture: true }),
      kind: null,
      separatedAt: june,
    },
    {
      name: 'an inferred date is set once',
      known: inferredInJune,
      input: observation('ana', { statesDeparture: true }),
      kind: null,
      separatedAt: june,
      inferred: true,
    },
    {
      name: 'a status that says left before a stated day has come infers the day of the export',
      known: leavesInDecember,
      input: observation('ana', { statesDeparture: true }),
      kind: 'leave',
      separatedAt: exportDay,
      inferred: true,
    },
    {
      name: 'a stated date replaces an inferred one',
      known: inferredInJune,
      input: observation('ana', { leavingDate: '2026-07-31', statesDeparture: true }),
      kind: 'correct',
      separatedAt: july,
    },
    {
      name: 'a stated date that equals the inferred one sends nothing and is no longer inferred',
      known: inferredInJune,
      input: observation('ana', { leavingDate: '2026-06-30' }),
      kind: null,
      separatedAt: june,
    },
    {
      name: 'a corrected date is a correction',
      known: juneLeaver,
      input: observation('ana', { leavingDate: '2026-07-31' }),
      kind: 'correct',
      separatedAt: july,
    },
    {
      name: 'a person whom the source says to be employed again returns',
      known: juneLeaver,
      input: observation('ana'),
      kind: 'return',
      separatedAt: null,
    },
    {
      name: 'a deferred date that is taken back leaves the person employed',
      known: leavesInDecember,
      input: observation('ana'),
      kind: null,
      separatedAt: null,
    },
    {
      name: 'standing in a snapshot that says nothing of employment means employed',
      known: juneLeaver,
      input: observation('ana', { hasEmploymentCell: false }),
      kind: 'return',
      separatedAt: null,
    },
    {
      name: 'a delta that says nothing of employment keeps a stated date',
      known: juneLeaver,
      input: observation('ana', { hasEmploymentCell: false }),
      rules: { mode: 'delta' },
      kind: null,
      separatedAt: june,
    },
    {
      name: 'a delta that says nothing of employment keeps an inferred date',
      known: inferredInJune,
      input: observation('ana', { hasEmploymentCell: false }),
      rules: { mode: 'delta' },
      kind: null,
      separatedAt: june,
      inferred: true,
    },
    {
      name: 'who is absent leaves on the day of the export',
      known: employed,
      input: 'absent',
      kind: 'leave',
      separatedAt: exportDay,
      inferred: true,
    },
    {
      name: 'who is absent and has left already stays as he is',
      known: juneLeaver,
      input: 'absent',
      kind: null,
      separatedAt: june,
    },
    {
      name: 'absence under hold plans the same; a guard holds it',
      known: employed,
      input: 'absent',
      rules: { absence: 'hold' },
      kind: 'leave',
      separatedAt: exportDay,
      inferred: true,
    },
    {
      name: 'absence that is to be ignored says nothing',
      known: employed,
      input: 'absent',
      rules: { absence: 'ignore' },
      kind: null,
      separatedAt: null,
    },
    {
      name: 'in a delta nobody is absent',
      known: employed,
      input: 'absent',
      rules: { mode: 'delta' },
      kind: null,
      separatedAt: null,
    },
    {
      name: 'a date ahead does not keep a person who is absent',
      known: leavesInDecember,
      input: 'absent',
      kind: 'leave',
      separatedAt: exportDay,
      inferred: true,
    },
    {
      name: 'who is absent before a stated day stays as long as the grace lasts',
      known: leavesInDecember,
      input: 'absent',
      rules: { graceRuns: 2 },
      kind: null,
      separatedAt: null,
      deferredTo: '2026-12-31',
    },
    {
      name: 'a date ahead that was sent does not keep a person who is absent either',
      known: { desired: record('ana', { separatedAt: '2026-12-31T00:00:00.000Z' }) },
      input: 'absent',
      rules: { future: 'send' },
      kind: 'leave',
      separatedAt: exportDay,
      inferred: true,
    },
    {
      name: 'a date ahead does not outvote a status that says left',
      known: leavesInDecember,
      input: observation('ana', { leavingDate: '2026-12-31', statesDeparture: true }),
      kind: 'leave',
      separatedAt: exportDay,
      inferred: true,
    },
    {
      name: 'who has left does not come back for a date that moves ahead while the status says left',
      known: juneLeaver,
      input: observation('ana', { leavingDate: '2027-06-30', statesDeparture: true }),
      kind: null,
      separatedAt: june,
    },
    {
      name: 'who has left does not come back by a row that leaves it open',
      known: juneLeaver,
      input: observation('ana', { isUncertain: true }),
      kind: null,
      separatedAt: june,
    },
    {
      name: 'who has left on a date that HR stated does not come back by a row that says nothing of dates',
      known: juneLeaver,
      input: observation('ana', { leavingDate: undefined }),
      kind: null,
      separatedAt: june,
    },
    {
      name: 'who has left on a date that HR stated comes back by a status that says employed',
      known: juneLeaver,
      input: observation('ana', { leavingDate: undefined, statesEmployed: true }),
      kind: 'return',
      separatedAt: null,
    },
    {
      name: 'a later start clears the date that HR still states',
      known: juneLeaver,
      input: observation('ana', { leavingDate: '2026-06-30', fields: { startedAt: '2026-11-01T00:00:00.000Z' } }),
      kind: 'return',
      separatedAt: null,
    },
    {
      name: 'a date that a later start has cleared stays cleared',
      known: { clearedDate: '2026-06-30' },
      input: observation('ana', { leavingDate: '2026-06-30', fields: { startedAt: '2026-11-01T00:00:00.000Z' } }),
      kind: 'update',
      separatedAt: null,
    },
    {
      name: 'a later start and a status that says employed clear the date of a person who joins so',
      known: { desired: null, confirmed: null },
      input: observation('ana', {
        leavingDate: '2026-06-30',
        statesEmployed: true,
        fields: { startedAt: '2026-11-01T00:00:00.000Z' },
      }),
      kind: 'join',
      separatedAt: null,
    },
    {
      name: 'a start that lies ahead clears nothing',
      known: juneLeaver,
      input: observation('ana', {
        leavingDate: '2026-06-30',
        statesEmployed: true,
        fields: { startedAt: '2026-12-01T00:00:00.000Z' },
      }),
      kind: 'update',
      separatedAt: june,
    },
    {
      name: 'a start after the leaving date of a person who had not left hides nothing',
      known: employed,
      input: observation('ana', { leavingDate: '2026-06-30', fields: { startedAt: '2026-11-01T00:00:00.000Z' } }),
      kind: 'leave',
      separatedAt: june,
    },
    {
      name: 'who is absent when the stated day has come leaves on that day',
      known: { deferredTo: '2026-06-30' },
      input: 'absent',
      kind: 'leave',
      separatedAt: june,
    },
    {
      name: 'a deferred day comes also for a person whose row cannot be used',
      known: { deferredTo: '2026-11-20' },
      input: 'untouched',
      kind: 'leave',
      separatedAt: exportDay,
    },
    {
      name: 'a person whose row cannot be used is as before',
      known: employed,
      input: 'untouched',
      kind: null,
      separatedAt: null,
    },
    {
      name: 'a leaving date that cannot be read leaves the one that was sent ahead of its day',
      known: { desired: record('ana', { separatedAt: '2027-11-20T00:00:00.000Z' }) },
      input: observation('ana', { leavingDate: undefined, isUncertain: true }),
      rules: { future: 'send' },
      kind: null,
      separatedAt: '2027-11-20T00:00:00.000Z',
    },
    {
      name: 'a blank leaving date withdraws the one that was sent ahead of its day',
      known: { desired: record('ana', { separatedAt: '2027-11-20T00:00:00.000Z' }) },
      input: observation('ana'),
      rules: { future: 'send' },
      kind: 'return',
      separatedAt: null,
    },
    {
      name: 'who was to start on the first day gone has left',
      known: employed,
      input: observation('ana', {
        leavingDate: '2026-11-19',
        isFirstDayGone: true,
        statesEmployed: true,
        fields: { startedAt: '2026-11-20T00:00:00.000Z' },
      }),
      kind: 'leave',
      separatedAt: '2026-11-19T00:00:00.000Z',
    },
    {
      name: 'who started a day after the first day gone is employed again',
      known: { desired: record('ana', { separatedAt: '2026-11-18T00:00:00.000Z' }) },
      input: observation('ana', {
        leavingDate: '2026-11-18',
        isFirstDayGone: true,
        statesEmployed: true,
        fields: { startedAt: '2026-11-20T00:00:00.000Z' },
      }),
      kind: 'return',
      separatedAt: null,
    },
    {
      name: 'a person known only from the platform whom the snapshot lacks has left',
      known: { desired: null, confirmed: record('ana') },
      input: 'absent',
      kind: 'leave',
      separatedAt: exportDay,
      inferred: true,
    },
  ]

  test.each(cases)('$name', ({ known, input, rules, kind, separatedAt, inferred = false, deferredTo = null }) => {
    const ana = entry('ana', known)

    const { change, entry: stored } = decide(ana, input, nightly(rules))

    const after = { ...ana, ...stored }
    expect(change?.kind ?? null).toBe(kind)
    expect(after.desired?.separatedAt).toBe(separatedAt)
    expect(after).toMatchObject({ inferred, deferredTo })
    expect(change && 'inferred' in change && change.inferred).toBe(kind === null ? null : inferred)
  })
})

describe('absences in a row', () => {
  const rules = { graceRuns: 2 }

  test('the first one within the grace is counted without a change', () => {
    const decision = decide(entry('ana'), 'absent', nightly(rules))

    expect(decision).toMatchObject({ change: null, isAbsent: true, entry: { absences: 1 } })
  })

  test('the one that uses up the grace separates', () => {
    const decision = decide(entry('ana', { absences: 1 }), 'absent', nightly(rules))

    expect(decision).toMatchObject({
      change: { kind: 'leave', inferred: true },
      isAbsent: true,
      entry: { absences: 2 },
    })
  })

  test('the same export again is not another absence', () => {
    const missedOnce = entry('ana', { absences: 1, exportIsSilent: true })

    const decision = decide(missedOnce, 'absent', nightly({ ...rules, acceptedAsOf: nightly().asOf }))

    expect(decision).toMatchObject({ change: null, isAbsent: false, entry: null })
  })

  test.each<[string, PersonInput]>([
    ['a row', observation('ana')],
    ['a row that cannot be used', 'untouched'],
  ])('%s ends the series', (_, input) => {
    const { entry: stored } = decide(entry('ana', { absences: 1 }), input, nightly(rules))

    expect(stored?.absences).toBe(0)
  })

  const update = observation('ana', { hasEmploymentCell: false, fields: { jobTitle: 'Director' } })
  test.each<[string, Observation, number]>([
    ['an event about a job title does not end the series', update, 1],
    ['an event that says that the person is employed ends it', { ...update, hasEmploymentCell: true }, 0],
  ])('%s', (_, event, absences) => {
    const { entry: stored } = decide(entry('ana', { absences: 1 }), event, nightly({ ...rules, mode: 'delta' }))

    expect(stored?.absences).toBe(absences)
  })

  test('a leaver is not reported as absent, but a person with a future leaving date is', () => {
    const leaver = entry('ana', { desired: record('ana', { separatedAt: june }) })
    const leaving = entry('bo', { deferredTo: '2026-12-31' })

    const absent = [leaver, leaving].map((known) => decide(known, 'absent', nightly()).isAbsent)

    expect(absent).toEqual([false, true])
  })
})

describe('the age of facts', () => {
  const newer = { asOf: '2026-11-20T01:30:00.000Z', desired: record('ana', { separatedAt: june }) }

  test.each<[string, PersonInput]>([
    ['a row', observation('ana', { fields: { jobTitle: 'Director' } })],
    ['an absence', 'absent'],
  ])('%s older than what is known changes nothing', (_, input) => {
    const decision = decide(entry('ana', newer), input, nightly())

    expect(decision).toMatchObject({ change: null, entry: null, isAbsent: false })
  })

  test('moments are compared independently of their spelling', () => {
    const known = entry('ana', { asOf: '2026-11-20T01:00:00Z' })

    const { change } = decide(known, observation('ana', { statesDeparture: true }), nightly())

    expect(change?.kind).toBe('leave')
  })

  test('a person known only from the platform has no facts that could be newer', () => {
    const known = entry('ana', { desired: null, confirmed: record('ana'), asOf: newer.asOf })

    const { change } = decide(known, observation('ana', { statesDeparture: true }), nightly())

    expect(change?.kind).toBe('leave')
  })
})

describe('undelivered changes of an earlier run', () => {
  const undelivered: [string, IdentityRecord | null, string][] = [
    ['join', null, 'join'],
    ['update', record('ana', { jobTitle: 'Trainee' }), 'update'],
    ['return', record('ana', { separatedAt: june }), 'return'],
  ]

  test.each(undelivered)('a %s is planned again and marked as carried', (_, confirmed, kind) => {
    const known = entry('ana', { confirmed })

    const decisions = [observation('ana'), 'untouched' as const].map((input) => decide(known, input, nightly()))

    for (const { change } of decisions) expect(change).toMatchObject({ kind, carried: true })
  })

  test('a leave is carried while the person stays absent', () => {
    const known = entry('ana', {
      desired: record('ana', { separatedAt: june }),
      inferred: true,
      confirmed: record('ana'),
    })

    const decision = decide(known, 'absent', nightly())

    expect(decision).toMatchObject({
      change: { kind: 'leave', carried: true, inferred: true },
      news: { kinds: [] },
    })
  })

  test('a difference with a new fact is not carried', () => {
    const known = entry('ana', { confirmed: record('ana', { jobTitle: 'Trainee' }) })

    const { change } = decide(known, observation('ana', { statesDeparture: true }), nightly())

    expect(change).toMatchObject({ kind: 'leave', carried: false })
  })
})

describe('what the guards count as new', () => {
  test.each([
    ['a leave', entry('ana'), observation('ana', { statesDeparture: true })],
    ['a leave before the join was delivered', entry('ana', { confirmed: null }), 'absent' as const],
    [
      'a leave of a person known only from the platform',
      entry('ana', { desired: null, confirmed: record('ana') }),
      'absent' as const,
    ],
  ])('%s', (_, known, input) => {
    const { news } = decide(known, input, nightly())

    expect(news.kinds).toContain('leavers')
  })

  test.each([
    ['another address', 'ana@example.org', true],
    ['a cleared address', null, true],
    ['the same address', 'ana@example.com', false],
  ])('%s', (_, email, emailChanged) => {
    const { news } = decide(entry('ana'), observation('ana', { fields: { email } }), nightly())

    expect(news.kinds).toEqual(emailChanged ? ['emailChanges'] : [])
  })

  test('a first address does not count as changed', () => {
    const known = entry('ana', { desired: record('ana', { email: null }) })

    const { news } = decide(known, observation('ana'), nightly())

    expect(news.kinds).not.toContain('emailChanges')
  })

  test('a new person who has already left joins, and also counts as a leaver', () => {
    const { news, change } = decide(undefined, observation('ana', { leavingDate: '2026-06-30' }), nightly())

    expect(change).toMatchObject({ kind: 'join', record: { separatedAt: june } })
    expect(news.kinds).toEqual(['joiners', 'leavers', 'leftJoiners'])
  })
})

describe('what the limits count as new', () => {
  const gone = { separatedAt: june }
  const full = { jobTitle: 'Engineer', managerName: 'Bo', isContractor: false }
  /** What has a limit of its own is named by it. */
  const kindFields = ['separatedAt', 'email', 'isContractor']
  const known = (fields: Partial<IdentityRecord> = {}, overrides: Partial<RosterEntry> = {}) =>
    entry('ana', { desired: record('ana', { ...full, ...fields }), ...overrides })
  const row = (overrides: Partial<Observation> = {}) =>
    observation('ana', { ...overrides, fields: { ...observation('ana').fields, ...full, ...overrides.fields } })

  test.each<[string, RosterEntry | undefined, Observation, Partial<News>]>([
    ['nothing where nothing is', known(), row(), {}],
    ['a joiner', undefined, row(), { kinds: ['joiners'] }],
    ['a leaver', known(), row({ leavingDate: '2026-06-30' }), { kinds: ['leavers'] }],
    ['a return', known(gone), row(), { kinds: ['returns'] }],
    ['another leaving date', known(gone), row({ leavingDate: '2026-07-31' }), { kinds: ['redates'] }],
    ['no stated date for an inferred one', known(gone, { inferred: true }), row({ leavingDate: '2026-07-31' }), {}],
    ['another address', known(), row({ fields: { email: 'b@example.com' } }), { kinds: ['emailChanges'] }],
    [
      'an employee who is a contractor',
      known(),
      row({ fields: { isContractor: true } }),
      { kinds: ['contractorFlips'] },
    ],
    [
      'another title',
      known(),
      row({ fields: { jobTitle: 'Lead' } }),
      { moves: [{ field: 'jobTitle', from: 'Engineer', to: 'Lead' }] },
    ],
    [
      'a manager who is gone',
      known(),
      row({ fields: { managerName: null } }),
      { moves: [{ field: 'managerName', from: 'Bo', to: null }] },
    ],
    ['no first value', known({ managerName: null }), row(), {}],
    ['no field that is newly mapped', known(), row({ fields: { lastName: 'Diaz' } }), {}],
    [
      'a leaver with another title as both',
      known(),
      row({ leavingDate: '2026-06-30', fields: { jobTitle: 'Former' } }),
      { kinds: ['leavers'], moves: [{ field: 'jobTitle', from: 'Engineer', to: 'Former' }] },
    ],
  ])('is %s', (_what, before, input, news) => {
    const { kinds, moves } = decide(before, input, nightly()).news

    expect({ kinds, moves: moves.filter(({ field }) => !kindFields.includes(field)) }).toEqual({
      kinds: [],
      moves: [],
      ...news,
    })
  })

  test('is counted by each guard, and removed again', () => {
    const input = row({ leavingDate: '2026-06-30', fields: { jobTitle: 'Former', managerName: null } })
    const tallied = tally()

    const added = tallied.add(decide(known(), input, nightly()), input)
    const counts = tallied.people()
    tallied.remove(added)

    expect(counts).toMatchObject({ leavers: 1, changed: { jobTitle: 1 }, blanked: { managerName: 1 } })
    expect(
      ['leavers', 'fieldChanges', 'blanks', 'returns'].map((name) => tallied.isCountedBy(added, new Set([name]))),
    ).toEqual([...[true, true, true, false]])
    expect(tallied.people()).toEqual(noPeople)
  })
})

describe('data sent in error', () => {
  const withheld = { confirmed: null, retracted: { reason: 'trial row', at: '2026-11-19T12:00:00.000Z' } }

  test('a withheld person is not sent again, though HR is still followed', () => {
    const row = observation('ana', { fields: { jobTitle: 'Director' } })

    const { change, entry: stored } = decide(entry('ana', withheld), row, nightly())

    expect(change).toBeNull()
    expect(stored?.desired?.jobTitle).toBe('Director')
  })

  test('no guard counts the absence of a withheld person', () => {
    const decision = decide(entry('ana', withheld), 'absent', nightly())

    expect(decision).toMatchObject({ change: null, isAbsent: false, news: { kinds: [] } })
  })

  test('a retraction names the person and the reason', () => {
    const change = retractChange(entry('ana'), 'trial row')

    expect(change).toEqual({ kind: 'retract', identityId: 'ana', reason: 'trial row', carried: false })
  })
})

describe('a whole plan', () => {
  test('is ordered by the bytes of the keys', () => {
    const keys = ['b', '\u{1F600}', 'a', '\uFB00', 'B']

    const { changes } = plan(
      keys.map((key) => observation(key)),
      new Map(),
      nightly(),
    )

    expect(changes.map(({ identityId }) => identityId)).toEqual(['B', 'a', 'b', '\uFB00', '\u{1F600}'])
  })

  test('counts everybody once', () => {
    const roster = new Map(['ana', 'bo', 'cy', 'di'].map((key) => [key, entry(key)]))
    const rows = [observation('ana'), observation('bo', { fields: { jobTitle: 'Director' } }), observation('eve')]

    const { counts, absent } = plan(rows, roster, nightly(), new Set(['cy']))

    expect(counts).toEqual({
      join: 1,
      update: 1,
      leave: 1,
      return: 0,
      correct: 0,
      retract: 0,
      unchanged: 1,
      rejected: 1,
      incomplete: 0,
    })
    expect(absent).toBe(1)
  })

  test('treats a repeated key as present and unchanged', () => {
    const rows = [observation('ana'), observation('ana', { statesDeparture: true })]

    const { changes } = plan(rows, new Map([['ana', entry('ana')]]), nightly())

    expect(changes).toEqual([])
  })
})
