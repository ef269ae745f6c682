import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PlanContext } from '../../../src/identity/decide/decide.ts'
import { isLeaver } from '../../../src/identity/employment.ts'
import type { Observation, Reject } from '../../../src/identity/record.ts'
import { plan, planRows, unusable } from '../../helpers/model/plan.ts'
import { applyPlan, type Roster } from '../../helpers/model/roster.ts'
import { entry, nightly, observation } from '../../helpers/records.ts'
import { isFull } from '../../helpers/tier.ts'

const runs = { numRuns: isFull ? 3000 : 600 }

/** What an export has of a person, by what docs/configure.md says of it: whether it states that the person is employed, has left, or neither. */
const rowKinds = ['employed', 'left', 'cannot be read', 'is rejected', 'stands twice', 'is missing'] as const
type RowKind = (typeof rowKinds)[number]

/** What an event states: a last day that has come, one that lies ahead, a hire, or another title. */
const eventKinds = ['leaves', 'leaves ahead', 'is hired', 'is promoted'] as const
type EventKind = (typeof eventKinds)[number]

const exportAt = '2026-11-20T01:00:00.000Z'
const rules = fc.record({
  graceRuns: fc.constantFrom(1, 2),
  future: fc.constantFrom('defer' as const, 'send' as const),
})
/** Events of the hours around the export, each at a time of its own. */
const events = fc.uniqueArray(
  fc.record({ hour: fc.integer({ min: 0, max: 8 }), kind: fc.constantFrom<EventKind>(...eventKinds) }),
  { selector: ({ hour }) => hour, minLength: 1, maxLength: 4 },
)

function rowsOf(kind: RowKind): (Observation | Reject)[] {
  const row = observation('ana')
  if (kind === 'employed') return [{ ...row, statesEmployed: true }]
  if (kind === 'left') return [{ ...row, statesDeparture: true }]
  if (kind === 'cannot be read') return [{ ...row, leavingDate: undefined, isUncertain: true }]
  if (kind === 'is rejected') return [unusable('ana')]
  return kind === 'stands twice' ? [row, { ...row, origin: { file: 'people.csv', line: 3 } }] : []
}

/** Whether an export states anything of the person's employment. */
function states(kind: RowKind, graceRuns: number): boolean {
  return kind === 'employed' || kind === 'left' || (kind === 'is missing' && graceRuns === 1)
}

/**
 * A last day that has come and one that lies ahead contradict each other: the person stays gone, whatever the newer one is. Such a
 * contradiction is no part of this.
 */
function isContradiction(kind: RowKind, graceRuns: number, stated: readonly { readonly kind: EventKind }[]): boolean {
  const hasKind = (searched: EventKind) => stated.some((event) => event.kind === searched)
  return hasKind('leaves ahead') && (hasKind('leaves') || (kind !== 'employed' && states(kind, graceRuns)))
}

function eventOf(kind: EventKind): Observation {
  const base = { fields: {}, leavingDate: undefined, hasEmploymentCell: true } as const
  if (kind === 'leaves') return observation('ana', { ...base, action: 'leave', leavingDate: '2026-11-18' })
  if (kind === 'leaves ahead')
    return observation('ana', { ...base, action: 'leave', isUncertain: true, leavingDate: '2026-12-24' })
  if (kind === 'is hired') return observation('ana', { ...base, action: 'join', statesEmployed: true })
  return observation('ana', { ...base, action: 'change', fields: { jobTitle: 'Lead' }, hasEmploymentCell: false })
}

type Delivery = { readonly at: string; readonly accept: (roster: Roster) => Roster }

function exportOf(kind: RowKind, context: PlanContext): Delivery {
  return { at: exportAt, accept: (roster) => applyPlan(roster, planRows(rowsOf(kind), roster, context)) }
}

function deliveryOf(kind: EventKind, hour: number, context: PlanContext): Delivery {
  const at = `2026-11-19T${String(21 + Math.min(hour, 2)).padStart(2, '0')}:30:00.000Z`
  const time = hour < 3 ? at : `2026-11-20T0${hour - 3}:30:00.000Z`
  const delta = { ...context, mode: 'delta' as const, asOf: time }
  return { at: time, accept: (roster) => applyPlan(roster, plan([eventOf(kind)], roster, delta)) }
}

function endOf(tellings: readonly Delivery[]) {
  const start: Roster = new Map([['ana', entry('ana', { asOf: '2026-11-19T01:00:00.000Z' })]])
  const ana = tellings.reduce((roster, { accept }) => accept(roster), start).get('ana')
  const { desired = null, deferredTo = null, inferred = false } = ana ?? {}
  const separatedAt = desired?.separatedAt ?? null
  if (isLeaver({ separatedAt, inferred }, nightly().today)) return { isGone: true, ahead: null, title: null }
  return { isGone: false, ahead: deferredTo ?? separatedAt?.slice(0, 10) ?? null, title: desired?.jobTitle }
}

test('the employment of a person depends on the times of the statements, not on their order of arrival', () => {
  fc.assert(
    fc.property(fc.constantFrom<RowKind>(...rowKinds), rules, events, (kind, ruled, stated) => {
      fc.pre(!isContradiction(kind, ruled.graceRuns, stated))
      const context = nightly(ruled)
      const all = [exportOf(kind, context), ...stated.map((event) => deliveryOf(event.kind, event.hour, context))]
      const inOrder = all.toSorted((a, b) => (a.at < b.at ? -1 : 1))

      const arrived = endOf(all)

      // An absence that counts makes every older fact about the person old.
      const isOld = kind === 'is missing' && ruled.graceRuns === 1
      expect({ ...arrived, ...(isOld && { title: null }) }).toEqual({
        ...endOf(inOrder),
        ...(isOld && { title: null }),
      })
    }),
    runs,
  )
})

type End = readonly [isGone: boolean, ahead: string | null]
const ends: Readonly<Record<string, End>> = { leaves: [true, null], 'leaves ahead': [false, '2026-12-24'] }

test('the newest statement decides whether a person has left or will leave', () => {
  fc.assert(
    fc.property(fc.constantFrom<RowKind>(...rowKinds), rules, events, (kind, ruled, stated) => {
      fc.pre(!isContradiction(kind, ruled.graceRuns, stated))
      const context = nightly(ruled)
      const all = [exportOf(kind, context), ...stated.map((event) => deliveryOf(event.kind, event.hour, context))]
      const speaks = states(kind, ruled.graceRuns)
      const facts = [
        ...(speaks ? [{ at: exportAt, event: kind === 'employed' ? 'is hired' : 'leaves' }] : []),
        ...stated.map((event) => ({ at: deliveryOf(event.kind, event.hour, context).at, event: event.kind })),
      ].filter(({ event }) => event !== 'is promoted')

      const { isGone, ahead } = endOf(all)

      const newest = facts.toSorted((a, b) => (a.at < b.at ? -1 : 1)).at(-1)
      expect([isGone, ahead]).toEqual(ends[newest?.event ?? ''] ?? [false, null])
    }),
    runs,
  )
})
