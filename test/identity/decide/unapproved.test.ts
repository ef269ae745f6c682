import { describe, expect, test } from 'vitest'
import type { Decision, PlanContext } from '../../../src/identity/decide/decide.ts'
import { type UnapprovedChange, watchUnapproved } from '../../../src/identity/decide/unapproved.ts'
import { type NewsKind, noNews } from '../../../src/identity/guards/facts.ts'
import type { Observation, Reject, RosterEntry } from '../../../src/identity/record.ts'

const context = {
  mode: 'snapshot',
  today: '2026-11-12',
  asOf: '2026-11-12T01:00:00.000Z',
} as PlanContext
const entryOf = (separatedAt: string | null) =>
  ({
    desired: { identityId: 'A', separatedAt },
    inferred: false,
    heldDeparture: null,
    deferredTo: null,
    clearedDate: null,
  }) as RosterEntry
const employed = entryOf(null)
const leaver = entryOf('2026-11-01T00:00:00.000Z')
const heldDeparture = {
  separatedAt: '2026-11-01T00:00:00.000Z',
  inferred: false,
  until: '2026-12-01',
  timeZone: 'UTC',
}
const row: Observation = {
  identityId: 'A',
  fields: {},
  leavingDate: null,
  statesDeparture: false,
  statesEmployed: true,
  isUncertain: false,
  hasEmploymentCell: true,
  origin: { file: 'a.csv', line: 2 },
}
const unchanged: Decision = { entry: null, change: null, isAbsent: false, news: noNews }
const leave = { kind: 'leave', identityId: 'A', carried: false } as Decision['change']
const title = { kind: 'update', identityId: 'A', carried: false } as Decision['change']
const reject = { mayLeave: false } as Reject
const mayLeave = { mayLeave: true } as Reject

const leftOut = { kind: 'leave', isOfMissing: false, deferredBefore: null } as const
const missing = { ...leftOut, isOfMissing: true }
const update = { ...leftOut, kind: 'update' } as const
const comeBack = { ...leftOut, kind: 'return' } as const
const deferred = { ...employed, deferredTo: '2026-11-30' }
type Added = Partial<Parameters<ReturnType<typeof watchUnapproved>['add']>[1]>

describe('a change that was left out waits no longer', () => {
  test.each<[string, UnapprovedChange, boolean, Added, Partial<PlanContext>]>([
    ['if a row states the person without it', leftOut, true, {}, {}],
    ['but not if it states the change', leftOut, false, { decision: { ...unchanged, change: leave } }, {}],
    ['but not if the row cannot be used', leftOut, false, { rows: 'untouched' }, {}],
    ['but not if a departure may be stated for later', leftOut, false, { rows: [{ ...row, isUncertain: true }] }, {}],
    ['but not if a cell may state a departure', missing, false, { rows: [{ ...row, badCells: [mayLeave] }] }, {}],
    ['if another cell is unreadable', leftOut, true, { rows: [{ ...row, badCells: [reject] }] }, {}],
    ['but not if the row states a departure', missing, false, { rows: [{ ...row, statesDeparture: true }] }, {}],
    ['but not if a leaving date has come', missing, false, { rows: [{ ...row, leavingDate: '2026-11-12' }] }, {}],
    ['but not if newer facts are known', leftOut, false, { decision: { ...unchanged, overtaken: [] } }, {}],
    ['but not if an employed person is missing', missing, false, { rows: 'absent' }, {}],
    ['if a leaver is missing', leftOut, true, { rows: 'absent', entry: leaver }, {}],
    ['but not if events do not name a leaver', leftOut, false, { rows: 'absent', entry: leaver }, { mode: 'delta' }],
    ['but not if a departure is held back', missing, false, { entry: { ...employed, heldDeparture } }, {}],
    ['but not if an operator states the departure', missing, false, { entry: { ...leaver, isByOperator: true } }, {}],
    ['but not if its day was moved', leftOut, false, { entry: deferred }, {}],
    ['if its day is the one before', { ...leftOut, deferredBefore: '2026-11-30' }, true, { entry: deferred }, {}],
    ['if somebody who was missing is listed with a day to come', missing, true, { entry: deferred }, {}],
    ['if somebody who was missing has another title', missing, true, { decision: { ...unchanged, change: title } }, {}],
    ['whatever day waits, if values were left out', update, true, { entry: deferred }, {}],
    ['but not if values cannot be read', update, false, { rows: [{ ...row, badCells: [reject] }] }, {}],
    ['but not if the row brings nobody back', comeBack, false, { rows: [{ ...row, isUncertain: true }] }, {}],
  ])('%s', (_, change, ends, decided, other) => {
    const watch = watchUnapproved(new Map([['A', [change]]]), { ...context, ...other })
    watch.add('A', { entry: employed, decision: unchanged, rows: [row], ...decided })
    watch.add('B', { entry: employed, decision: unchanged, rows: [row] })

    const stated = watch.statedOtherwise(() => false)

    expect(stated).toEqual(ends ? [{ identityId: 'A', kind: change.kind, asOf: context.asOf }] : [])
  })

  test('if the last row decides so, and waits again if the decision is taken back', () => {
    const watch = watchUnapproved(new Map([['A', [leftOut]]]), context)
    watch.add('A', { entry: employed, decision: unchanged, rows: [row] })
    watch.takeBack('A')
    const takenBack = watch.statedOtherwise(() => false)
    watch.add('A', { entry: employed, decision: { ...unchanged, change: leave }, rows: [row] })

    expect(takenBack).toEqual([])
    expect(watch.statedOtherwise(() => false)).toEqual([])
  })

  test('if an export no longer lists a joiner, about whom nothing is decided', () => {
    const join = { ...leftOut, kind: 'join' } as const
    const watch = watchUnapproved(new Map(['A', 'N1', 'N2'].map((key) => [key, [join]])), context)
    watch.add('A', { entry: employed, decision: unchanged, rows: 'absent' })

    expect(watch.statedOtherwise((key) => key !== 'N2')).toEqual([
      { identityId: 'N1', kind: 'join', asOf: context.asOf },
    ])
  })
})

describe('a change is held again', () => {
  const come = { record: { separatedAt: '2026-11-12T00:00:00.000Z' } }
  const later = { record: { separatedAt: '2027-06-30T00:00:00.000Z' } }
  test.each<[string, UnapprovedChange, boolean, object, NewsKind[]]>([
    ['a departure', leftOut, true, { kind: 'leave', ...come }, ['leavers']],
    ['another date', leftOut, true, { kind: 'correct', ...later }, ['redates']],
    ['a departure that has come', missing, true, { kind: 'correct', ...come }, ['redates']],
    ['not a day to come of somebody who was missing', missing, false, { kind: 'correct', ...later }, ['redates']],
    ['a deletion that is a departure too', leftOut, true, { kind: 'retract' }, ['retractions', 'leavers']],
    ['not a deletion alone', leftOut, false, { kind: 'retract' }, ['retractions']],
    ['other values', update, true, { kind: 'update' }, []],
    ['not a departure for other values', update, false, { kind: 'leave', ...come }, ['leavers']],
    ['not a return for other values', update, false, { kind: 'return' }, []],
    ['not other values for a departure', leftOut, false, { kind: 'update' }, []],
    ['a joiner in whatever state', { ...leftOut, kind: 'join' }, true, { kind: 'join', ...come }, []],
    ['not what is only sent again', leftOut, false, { kind: 'leave', ...come, carried: true }, []],
  ])('%s', (_, waiting, isHeld, other, kinds) => {
    const watch = watchUnapproved(new Map([['A', [waiting]]]), context)
    const change = { identityId: 'A', carried: false, inferred: false, ...other } as Decision['change']

    const { news } = watch.counted('A', { ...unchanged, change, news: { ...noNews, kinds } }, employed)

    expect(news.kinds.includes('leftUnapproved')).toBe(isHeld)
    expect(watch.heldAgain()).toEqual(isHeld ? [{ identityId: 'A', kind: waiting.kind }] : [])
  })

  test('of one person each change for itself', () => {
    const watch = watchUnapproved(new Map([['A', [missing, update]]]), context)
    const change = { kind: 'update', identityId: 'A', carried: false } as Decision['change']

    watch.counted('A', { ...unchanged, change }, employed)

    expect(watch.heldAgain()).toEqual([{ identityId: 'A', kind: 'update' }])
  })
})
