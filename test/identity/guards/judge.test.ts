import { describe, expect, test } from 'vitest'
import { decide } from '../../../src/identity/decide/decide.ts'
import { tally } from '../../../src/identity/decide/tally.ts'
import { type GuardFacts, noPeople, type PeopleCounts } from '../../../src/identity/guards/facts.ts'
import { judge } from '../../../src/identity/guards/judge.ts'
import { Guards, limitDefinitions } from '../../../src/identity/guards/limits.ts'
import type { FieldName } from '../../../src/identity/record.ts'
import { calm } from '../../helpers/guards/calm.ts'
import { companySizes, tripPoints } from '../../helpers/guards/trip-points.ts'
import { entry, nightly, observation, record, reject } from '../../helpers/records.ts'

function sizes({ rows, bytes = [0, 0] }: { rows: [number, number]; bytes?: [number, number] }): GuardFacts['size'] {
  const shrink = ([before, now]: [number, number]) => ({ before, now })
  return { rows: shrink(rows), bytes: shrink(bytes) }
}

function verdict(name: string, facts: Partial<GuardFacts>, limits: unknown = {}) {
  return judge({ ...calm, ...facts }, Guards.parse(limits)).find((one) => one.name === name)
}

describe('the verdicts', () => {
  test('are always complete, each with its result', () => {
    const verdicts = judge(calm, Guards.parse({}))

    expect(verdicts).toEqual([
      { name: 'zeroRows', actual: 1000, limit: null, ok: true },
      { name: 'missingColumn', actual: 0, limit: null, ok: true },
      { name: 'rejectedRows', actual: 0, limit: 20, ok: true },
      { name: 'unlistedValues', actual: 0, limit: 0, ok: true },
      { name: 'unreadableKeys', actual: 0, limit: null, ok: true },
      { name: 'leavers', actual: 0, limit: 50, ok: true },
      { name: 'absentUnderHold', actual: 0, limit: null, ok: true },
      { name: 'joiners', actual: 0, limit: 250, ok: true },
      { name: 'returns', actual: 0, limit: 20, ok: true },
      { name: 'redates', actual: 0, limit: 20, ok: true },
      { name: 'contractorFlips', actual: 0, limit: 50, ok: true },
      { name: 'emailChanges', actual: 0, limit: 100, ok: true },
      { name: 'fieldChanges', actual: 0, limit: 200, ok: true },
      { name: 'blanks', actual: 0, limit: 50, ok: true },
      { name: 'retractions', actual: 0, limit: 0, ok: true },
      { name: 'pinned', actual: 0, limit: 0, ok: true },
      { name: 'reusedKeys', actual: 0, limit: 0, ok: true },
      { name: 'rekeyed', actual: 0, limit: 0, ok: true },
      { name: 'shrinkRows', actual: 0, limit: 5, ok: true },
      { name: 'shrinkBytes', actual: 0, limit: 0, ok: true },
      { name: 'endMissing', actual: 0, limit: null, ok: true },
    ])
  })

  test('of a delta leave out the guards for snapshots', () => {
    const verdicts = judge({ ...calm, mode: 'delta', rows: 0 }, Guards.parse({}))

    expect(verdicts.map(({ name }) => name)).toEqual([
      'missingColumn',
      'rejectedRows',
      'unlistedValues',
      'leavers',
      'joiners',
      'returns',
      'redates',
      'contractorFlips',
      'emailChanges',
      'fieldChanges',
      'blanks',
      'retractions',
      'pinned',
      'reusedKeys',
      'rekeyed',
    ])
  })

  test.each<[string, Partial<GuardFacts>, number, boolean]>([
    ['leavers', { leavers: 50 }, 50, true],
    ['leavers', { leavers: 51 }, 50, false],
    ['leavers', { leavers: 5, headcount: 6 }, 5, true],
    ['leavers', { leavers: 6, headcount: 6 }, 5, false],
    ['leavers', { leavers: 6, headcount: 0 }, 5, false],
    ['rejectedRows', { rejected: 20 }, 20, true],
    ['rejectedRows', { rejected: 21 }, 20, false],
    ['rejectedRows', { rejected: 6, rows: 10 }, 5, false],
    ['rejectedRows', { rejected: 50, incomplete: 20, knownFaulty: 50 }, 20, true],
    ['rejectedRows', { rejected: 50, incomplete: 21, knownFaulty: 50 }, 20, false],
    ['emailChanges', { emailChanges: 101 }, 100, false],
    ['emailChanges', { emailChanges: 10, headcount: 20 }, 10, true],
    ['retractions', { retractions: 1 }, 0, false],
    ['leavers', { leavers: 1, recent: { ...noPeople, leavers: 50 } }, 50, false],
    ['leavers', { leavers: 0, recent: { ...noPeople, leavers: 90 } }, 50, true],
    ['emailChanges', { emailChanges: 1, recent: { ...noPeople, emailChanges: 100 } }, 100, false],
    ['emailChanges', { emailChanges: 1, recent: { ...noPeople, emailChanges: 99 } }, 100, true],
    ['emailChanges', { emailChanges: 0, recent: { ...noPeople, emailChanges: 101 } }, 100, true],
    ['shrinkRows', { size: sizes({ rows: [1000, 800] }) }, 200, true],
    ['shrinkRows', { size: sizes({ rows: [1000, 799] }) }, 200, false],
    ['shrinkRows', { size: sizes({ rows: [8, 3] }) }, 5, true],
    ['shrinkRows', { size: sizes({ rows: [8, 2] }) }, 5, false],
    ['shrinkRows', { size: sizes({ rows: [10, 5000] }) }, 5, true],
    ['shrinkBytes', { size: sizes({ rows: [1000, 1000], bytes: [90_000, 71_000] }) }, 18_000, false],
    ['shrinkBytes', { size: sizes({ rows: [10, 9], bytes: [1000, 600] }) }, 500, true],
  ])('%s: %o against a limit of %d', (name, facts, limit, ok) => {
    expect(verdict(name, facts)).toMatchObject({ limit, ok })
  })

  test('count no more people whose field changes within a day than there are', () => {
    const facts = { headcount: 12, changed: { jobTitle: 12 }, recent: { ...noPeople, changed: { jobTitle: 12 } } }
    const of = (share: number) => verdict('fieldChanges', facts, { fieldChanges: { count: 5, share } })

    expect(of(1)).toMatchObject({ actual: 12, ok: true })
    expect(of(0.9)).toMatchObject({ actual: 12, ok: false })
  })

  test('say how many of how many, and the limit', () => {
    const { reason } = verdict('leavers', { leavers: 51 }) ?? {}

    expect(reason).toBe('51 of 1000 people would be separated; the limit is 50')
  })

  test('say how many rows are rejected and how many of those are new', () => {
    const { actual, reason } = verdict('rejectedRows', { rows: 20, rejected: 9, incomplete: 2, knownFaulty: 5 }) ?? {}

    expect(actual).toBe(6)
    expect(reason).toBe(
      '11 of 20 rows are rejected or hold a cell that cannot be read, of which 6 are new; the limit is 5',
    )
  })

  test.each<[string, Partial<GuardFacts>, boolean]>([
    ['zeroRows', { rows: 0 }, false],
    ['missingColumn', { missingColumns: ['column "Hire Date" (startedAt) is not in the header'] }, false],
    ['unreadableKeys', { unreadableKeys: 1, absent: 1 }, false],
    ['unreadableKeys', { unreadableKeys: 1 }, true],
    ['unreadableKeys', { absent: 1 }, true],
    ['unreadableKeys', { unreadableKeys: 2, knownUnreadableKeys: 2, absent: 1 }, true],
    ['unreadableKeys', { unreadableKeys: 2, knownUnreadableKeys: 1, absent: 1 }, false],
    ['absentUnderHold', { absent: 1, absence: 'hold' }, false],
    ['absentUnderHold', { absence: 'hold' }, true],
    ['absentUnderHold', { absent: 1 }, true],
    ['endMissing', { endMissing: true }, false],
    ['endMissing', { endMissing: true, absence: 'ignore' }, true],
  ])('%s with %o', (name, facts, ok) => {
    const result = verdict(name, facts)

    expect(result?.ok).toBe(ok)
    expect(result?.reason === undefined).toBe(ok)
  })
})

describe('a first plan', () => {
  const first = { isFirst: true, headcount: 0, joiners: 1000, leavers: 600, leftJoiners: 600 }

  test('may hold the leavers of ten years, whom its own guards judge', () => {
    expect(verdict('leavers', first)).toEqual({ name: 'leavers', actual: 0, limit: null, ok: true })
    expect(verdict('leftJoiners', first)).toMatchObject({ actual: 600, limit: 750, ok: true })
    expect(verdict('leftJoiners', { ...first, isFirst: false })).toBeUndefined()
  })

  test.each<[string, Partial<GuardFacts>, string]>([
    ['leftJoiners', { leavers: 999, leftJoiners: 999 }, '999 of 1000 people have left already; the limit is 750'],
    [
      'unnamedJoiners',
      { unnamedJoiners: 300 },
      '300 of 400 people who are employed have no name or no e-mail address; the limit is 200',
    ],
    [
      'sameStart',
      { sameStart: { date: '1900-01-01', people: 900, base: 1000 } },
      '900 of 1000 people start on 1900-01-01; the limit is 500',
    ],
    [
      'sameLeaving',
      { sameLeaving: { date: '2001-01-01', people: 590, base: 600 } },
      '590 of 600 people who have left did so on 2001-01-01; the limit is 300',
    ],
  ])('is held by %s, with the reason and its usual cause', (name, facts, reason) => {
    expect(verdict(name, { ...first, ...facts })).toMatchObject({ ok: false, reason, hints: [expect.any(String)] })
  })

  test('is followed by others, whose leavers include joiners who have left already', () => {
    const { ok, reason } = verdict('leavers', { leavers: 60, leftJoiners: 55, joiners: 70 }) ?? {}

    expect({ ok, reason }).toEqual({
      ok: false,
      reason: '60 of 1000 people would be separated, 55 of them as they join; the limit is 50',
    })
  })
})

describe('the trip points', () => {
  const cases = Object.entries(tripPoints).flatMap(([name, most]) =>
    companySizes.flatMap((size, at) => {
      const passes = most[at] ?? null
      return passes === null ? [] : [{ name, size, most: passes }]
    }),
  )

  test.each(cases)('of $name in a company of $size: $most pass, and one more does not', ({ name, size, most }) => {
    const judged = (actual: number) => verdict(name, factsOf(name, { size, actual }))

    expect(judged(most)).toMatchObject({ actual: most, ok: true })
    expect(judged(most + 1)).toMatchObject({ actual: most + 1, limit: most, ok: false })
  })

  test('are exceeded by 26 of 27 in every limit', () => {
    const passing = Object.keys(tripPoints).filter((name) => verdict(name, factsOf(name, { size: 27, actual: 26 }))?.ok)

    expect(passing).toEqual([])
  })

  test('are those of every limit', () => {
    const shrink = ['shrinkRows']
    expect(Object.keys(tripPoints).toSorted()).toEqual(
      [...Object.keys(limitDefinitions).filter((name) => name !== 'shrink'), ...shrink].toSorted(),
    )
  })

  test('of joiners do not exist for a connection without people', () => {
    expect(verdict('joiners', { joiners: 100_000, headcount: 0 })).toEqual({
      name: 'joiners',
      actual: 100_000,
      limit: null,
      ok: true,
    })
  })

  test('of fields apply to each field separately, and the sentence names each field over the limit', () => {
    const changed = { ...noPeople.changed, jobTitle: 150, managerId: 150, startedAt: 201, lastName: 240 }

    expect(verdict('fieldChanges', { changed: { ...changed, startedAt: 150, lastName: 150 } })?.ok).toBe(true)
    expect(verdict('fieldChanges', { changed })?.reason).toBe(
      '240 of 1000 people would get another lastName (the limit is 200), 201 of 1000 people would get another startedAt (the limit is 200)',
    )
  })
})

function factsOf(name: string, { size, actual }: { size: number; actual: number }): Partial<GuardFacts> {
  const jobTitle = { ...noPeople.changed, jobTitle: actual }
  if (name === 'fieldChanges') return { headcount: size, changed: jobTitle }
  if (name === 'blanks') return { headcount: size, blanked: jobTitle }
  if (name === 'rejectedRows') return { rows: size, rejected: actual }
  const first = { isFirst: true, joiners: size }
  if (name === 'leftJoiners' || name === 'unnamedJoiners') return { ...first, [name]: actual }
  if (name === 'sameStart' || name === 'sameLeaving')
    return { ...first, [name]: { date: '2020-01-06', people: actual, base: size } }
  // Small companies cannot lose as many rows as would pass.
  if (name === 'shrinkRows') return { size: sizes({ rows: [size, size - actual] }) }
  return { headcount: size, [name]: actual }
}

describe('what is usual', () => {
  const usual = (runs: number, most: Partial<PeopleCounts> = {}) => ({ runs, most: { ...noPeople, ...most } })
  const large = { headcount: 10_000 }

  test.each<[string, Partial<GuardFacts>, boolean]>([
    ['leavers', { ...large, leavers: 28, usual: usual(60, { leavers: 7 }) }, true],
    ['leavers', { ...large, leavers: 29, usual: usual(60, { leavers: 7 }) }, false],
    ['leavers', { ...large, leavers: 29, usual: usual(13, { leavers: 7 }) }, true],
    ['leavers', { ...large, leavers: 29, usual: null }, true],
    ['leavers', { ...large, leavers: 10, usual: usual(14) }, true],
    ['leavers', { ...large, leavers: 11, usual: usual(14) }, false],
    ['joiners', { ...large, joiners: 11, usual: usual(14) }, false],
    ['returns', { ...large, returns: 11, usual: usual(14) }, false],
    ['redates', { ...large, redates: 11, usual: usual(14) }, false],
    ['contractorFlips', { ...large, contractorFlips: 11, usual: usual(14) }, false],
    ['emailChanges', { ...large, emailChanges: 41, usual: usual(14, { emailChanges: 10 }) }, false],
    ['fieldChanges', { ...large, changed: { ...noPeople.changed, jobTitle: 11 }, usual: usual(14) }, false],
    ['blanks', { ...large, blanked: { ...noPeople.blanked, jobTitle: 11 }, usual: usual(14) }, false],
  ])('of %s with %o passes: %s', (name, facts, ok) => {
    expect(verdict(name, facts)?.ok).toBe(ok)
  })

  test('is a sentence with both numbers', () => {
    const facts = { ...large, leavers: 91, usual: usual(60, { leavers: 7 }) }
    const changed = { ...noPeople.changed, jobTitle: 50 }

    expect(verdict('leavers', facts)).toEqual({
      name: 'leavers',
      actual: 91,
      limit: 28,
      ok: false,
      reason: '91 people would be separated; in 60 runs there were never more than 7',
    })
    expect(verdict('fieldChanges', { ...large, changed, usual: usual(60) })?.reason).toBe(
      '50 people would get another jobTitle (in 60 runs there were never more than 0)',
    )
  })

  test('is ignored if disabled, and an exceeded limit takes precedence', () => {
    const facts = { ...large, leavers: 501, usual: usual(60) }

    expect(verdict('leavers', { ...facts, leavers: 91 }, { unusual: { enabled: false } })?.ok).toBe(true)
    expect(verdict('leavers', facts)?.reason).toBe('501 of 10000 people would be separated; the limit is 500')
  })
})

describe('limits', () => {
  test('keep the defaults of omitted settings', () => {
    const { leavers } = Guards.parse({ leavers: { count: 20 } })

    expect(leavers).toEqual({ count: 20, share: 0.05 })
  })

  test.each([{ leavers: { count: -1 } }, { leavers: { share: 5 } }, { leavers: 5 }, { movers: {} }])(
    'refuse %o',
    (limits) => {
      expect(Guards.safeParse(limits).success).toBe(false)
    },
  )
})

describe('a tally', () => {
  const leaver = observation('ana', { statesDeparture: true })
  const about = {
    mode: 'snapshot',
    rows: 9,
    size: null,
    endMissing: false,
    recent: noPeople,
    usual: null,
    headcount: 7,
    missingColumns: [],
    keyChangeCandidates: [],
    absence: 'separate',
  } as const

  test('counts changes for the account and news for the guards', () => {
    const tallied = tally()
    const formerEntry = entry('cy', {
      desired: record('cy', { separatedAt: '2026-06-30T00:00:00.000Z' }),
      confirmed: record('cy'),
    })

    tallied.add(decide(entry('ana'), leaver, nightly()), leaver)
    tallied.add(decide(formerEntry, 'absent', nightly()), 'absent')
    tallied.add(decide(entry('bo'), 'absent', nightly()), 'absent')
    tallied.add(decide(entry('di'), observation('di'), nightly()), observation('di'))
    tallied.add(decide(entry('eve'), 'untouched', nightly()), 'untouched')
    tallied.reject(reject('eve'))
    tallied.reject(reject(null, { column: null, reason: 'damaged' }))
    tallied.incomplete([reject('flo', { cellOnly: true, unlisted: { field: 'status', value: 'Furlough' } })])
    tallied.retract({ identityId: '1001', isPinned: false })

    expect(tallied.counts()).toEqual({
      join: 0,
      update: 0,
      leave: 3,
      return: 0,
      correct: 0,
      retract: 1,
      unchanged: 1,
      rejected: 2,
      incomplete: 1,
    })
    const { unnamedJoiners, sameStart, sameLeaving } = calm
    expect(tallied.facts(about)).toEqual({
      ...about,
      ...{ leftJoiners: 0, unnamedJoiners, sameStart, sameLeaving },
      ...noPeople,
      leavers: 2,
      absent: 1,
      retractions: 1,
      pinned: 0,
      reusedKeys: 0,
      rejected: 2,
      incomplete: 1,
      unlisted: { values: [{ field: 'status', value: 'Furlough', rows: 1, line: 2 }], count: 1, known: 0 },
      unreadableKeys: 1,
      knownFaulty: 0,
      knownUnreadableKeys: 0,
    })
  })

  test('recognises faults of an accepted export, as often as the export had them', () => {
    const faults = ['ana', 'ana', 'bo'].map((key) => reject(key))
    const known = new Map(faults.map(({ fingerprint }) => [fingerprint, 1]))
    const tallied = tally({ rejects: known, values: new Set() })

    for (const fault of [...faults, reject(null)]) tallied.reject(fault)
    tallied.incomplete([reject('cy', { cellOnly: true }), ...faults.slice(2)])

    expect(tallied.facts(about)).toMatchObject({ rejected: 4, incomplete: 1, knownFaulty: 2, knownUnreadableKeys: 0 })
  })

  test('recognises a row whose only faults are accepted unlisted values', () => {
    const tallied = tally({ rejects: new Map(), values: new Set(['status furlough']) })
    const unlisted = (key: string, value: string) =>
      reject(key, { cellOnly: true, unlisted: { field: 'status', value }, fingerprint: `${key} ${value}` })

    tallied.incomplete([unlisted('ana', 'Furlough')])
    tallied.incomplete([unlisted('bo', 'Sabbatical')])

    expect(tallied.facts(about)).toMatchObject({
      incomplete: 2,
      knownFaulty: 1,
      unlisted: { values: [{ field: 'status', value: 'Sabbatical', rows: 1 }], count: 1, known: 1 },
    })
  })

  test('distinguishes fields with commas in their names', () => {
    const tallied = tally()
    const moving = (fields: readonly FieldName[]) => {
      const moves = fields.map((field) => ({ field, from: 'a', to: 'b' }))
      const news = { identityId: 'ana', kinds: [], moves }
      return { ...decide(entry('ana'), 'untouched', nightly()), news }
    }

    for (const fields of [['.a', '.b'], ['.a,.b']] as const) tallied.add(moving(fields), 'untouched')

    expect(tallied.people().changed).toEqual({ '.a': 1, '.b': 1, '.a,.b': 1 })
  })

  test('forgets removed decisions', () => {
    const tallied = tally()
    const before = { counts: tallied.counts(), facts: tallied.facts(about) }
    const moved = observation('bo', { fields: { email: 'bo@example.org' } })

    const added = [
      tallied.add(decide(entry('ana'), leaver, nightly()), leaver),
      tallied.add(decide(entry('bo'), moved, nightly()), moved),
      tallied.add(decide(entry('cy'), 'absent', nightly()), 'absent'),
      tallied.add(decide(entry('di'), 'untouched', nightly()), 'untouched'),
    ]
    for (const one of added) tallied.remove(one)

    expect({ counts: tallied.counts(), facts: tallied.facts(about) }).toEqual(before)
    expect(added.at(-1)).toEqual({ kind: null, news: [], changed: [], blanked: [] })
  })
})

describe('pairs of keys', () => {
  const pair = (at: number, clear = true) => ({ former: `A${at}`, identityId: `B${at}`, by: 'email' as const, clear })

  test('hold a plan from the first one on, and are named', () => {
    const result = verdict('rekeyed', { keyChangeCandidates: [pair(1)] })

    expect(result).toEqual({
      name: 'rekeyed',
      actual: 1,
      limit: 0,
      ok: false,
      reason:
        '1 person seems to have got a new key; `rollcall alias` lists the pairs; say there whether each is one person or two',
      people: ['A1', 'B1'],
      hints: ['A1 → B1: the same e-mail address'],
    })
  })

  test('are counted if there are many, and so are unclear ones', () => {
    const result = verdict('rekeyed', { keyChangeCandidates: Array.from({ length: 90 }, (_, at) => pair(at, at > 1)) })

    expect(result).toMatchObject({ actual: 90, people: { length: 20 }, hints: { length: 11, 10: '80 more' } })
    expect(result?.reason).toContain('90 people seem to have got a new key, of which 2 could be several;')
  })
})
