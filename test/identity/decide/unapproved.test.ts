import { describe, expect, test } from 'vitest'
import type { Decision, PlanContext } from '../../../src/identity/decide/decide.ts'
import { watchUnapproved } from '../../../src/identity/decide/unapproved.ts'
import { noNews } from '../../../src/identity/guards/facts.ts'
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
const reject = {} as Reject

describe('a person who was left out waits no longer', () => {
  test.each<[string, boolean, Partial<Parameters<ReturnType<typeof watchUnapproved>['add']>[1]>, Partial<PlanContext>]>(
    [
      ['if a row states the person without a change', true, {}, {}],
      ['if a row states a leaving date to come', true, { rows: [{ ...row, leavingDate: '2027-06-30' }] }, {}],
      ['but not if it states the change', false, { decision: { ...unchanged, change: leave } }, {}],
      ['but not if the row cannot be used', false, { rows: 'untouched' }, {}],
      [
        'but not if a cell that may state a departure is unreadable',
        false,
        { rows: [{ ...row, isUncertain: true }] },
        {},
      ],
      ['but not if another cell is unreadable', false, { rows: [{ ...row, badCells: [reject] }] }, {}],
      ['but not if the row states a departure', false, { rows: [{ ...row, statesDeparture: true }] }, {}],
      ['but not if a leaving date has come', false, { rows: [{ ...row, leavingDate: '2026-11-12' }] }, {}],
      ['but not if newer facts are known', false, { decision: { ...unchanged, overtaken: [] } }, {}],
      ['but not if an employed person is missing', false, { rows: 'absent' }, {}],
      ['if a leaver is missing', true, { rows: 'absent', entry: leaver }, {}],
      ['but not if events do not name a leaver', false, { rows: 'absent', entry: leaver }, { mode: 'delta' }],
      ['but not if a departure is held back', false, { entry: { ...employed, heldDeparture } }, {}],
      ['but not if a departure waits for its day', false, { entry: { ...employed, deferredTo: '2026-11-30' } }, {}],
      ['but not if an operator states the departure', false, { entry: { ...leaver, isByOperator: true } }, {}],
    ],
  )('%s', (_, ends, decided, other) => {
    const watch = watchUnapproved(new Map([['A', { departs: true }]]), { ...context, ...other })
    watch.add('A', { entry: employed, decision: unchanged, rows: [row], ...decided })
    watch.add('B', { entry: employed, decision: unchanged, rows: [row] })

    const stated = watch.statedOtherwise(() => false)

    expect(stated).toEqual(ends ? [{ identityId: 'A', asOf: context.asOf }] : [])
  })

  test.each<[string, boolean, boolean, object]>([
    ['a departure for a departure', true, true, { kind: 'leave' }],
    ['another date for a departure', true, true, { kind: 'correct' }],
    ['other values for other values', false, true, { kind: 'update' }],
    ['a departure for other values', false, false, { kind: 'leave' }],
    ['other values for a departure', true, false, { kind: 'update' }],
    ['a joiner who has left for a joiner', false, true, { kind: 'join', record: { separatedAt: '2026-11-01' } }],
    ['a joiner for one who had left', true, true, { kind: 'join', record: { separatedAt: null } }],
    ['nothing that is only sent again', true, false, { kind: 'leave', carried: true }],
  ])('unless it is held: %s', (_, departs, isHeld, other) => {
    const watch = watchUnapproved(new Map([['A', { departs }]]), context)
    const change = { identityId: 'A', carried: false, ...other } as Decision['change']

    const { news } = watch.counted('A', { ...unchanged, change }, employed)

    expect(news.kinds).toEqual(isHeld ? ['leftUnapproved'] : [])
  })

  test('if the last row decides so, and waits again if the decision is taken back', () => {
    const watch = watchUnapproved(new Map([['A', { departs: true }]]), context)
    watch.add('A', { entry: employed, decision: unchanged, rows: [row] })
    watch.takeBack('A')
    const takenBack = watch.statedOtherwise(() => false)
    watch.add('A', { entry: employed, decision: { ...unchanged, change: leave }, rows: [row] })

    expect(takenBack).toEqual([])
    expect(watch.statedOtherwise(() => false)).toEqual([])
  })

  test('if an export no longer lists a joiner, about whom nothing is decided', () => {
    const watch = watchUnapproved(new Map(['A', 'N1', 'N2'].map((key) => [key, { departs: false }])), context)
    watch.add('A', { entry: employed, decision: unchanged, rows: 'absent' })

    expect(watch.statedOtherwise((key) => key !== 'N2')).toEqual([{ identityId: 'N1', asOf: context.asOf }])
  })
})
