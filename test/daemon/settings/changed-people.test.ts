import { expect, test } from 'vitest'
import { changedPeople } from '../../../src/daemon/settings/changed-people.ts'
import { type ChangeKind, changeKinds } from '../../../src/identity/change.ts'
import type { StagedChange } from '../../../src/store/plans/plans.ts'
import { record } from '../../helpers/records.ts'

function staged(kind: Exclude<ChangeKind, 'retract'>, identityId: string, to = 'Cook'): StagedChange {
  const fields = { jobTitle: { from: null, to } }
  const change = { kind, identityId, record: record(identityId), fields, inferred: false, carried: false }
  return { change, origin: null }
}

/** A plan with these changes; `more`: how many it has besides those that were kept. */
function plan(changes: readonly StagedChange[], more: Partial<Record<ChangeKind, number>> = {}) {
  const kept = (kind: ChangeKind) => changes.filter(({ change }) => change.kind === kind).length
  const counts = Object.fromEntries(changeKinds.map((kind) => [kind, kept(kind) + (more[kind] ?? 0)]))
  return { changes, counts: { ...counts, unchanged: 0, rejected: 0, incomplete: 0 } as never }
}

test('new departures come first, then those that no longer happen, then others by kind, and equal changes are left out', () => {
  const before = plan([staged('leave', 'E1'), staged('update', 'E2'), staged('join', 'E3'), staged('leave', 'E5')])
  const after = plan([
    staged('update', 'E2', 'Chef'),
    staged('join', 'E3'),
    staged('leave', 'E5'),
    staged('return', 'E6'),
    staged('leave', 'E9'),
  ])

  const { people, more, uncompared } = changedPeople(before, after)

  expect(people.map(({ identityId }) => identityId)).toEqual(['E9', 'E1', 'E6', 'E2'])
  expect([more, uncompared]).toEqual([0, []])
})

test('at most 50 people are listed, and kinds with more changes than were kept are named', () => {
  const joiners = Array.from({ length: 60 }, (_, at) => staged('join', `E${at}`))

  const { people, more, uncompared } = changedPeople(plan([], { update: 1 }), plan(joiners, { join: 5 }))

  expect([people.length, more, uncompared]).toEqual([50, 10, ['join', 'update']])
})

test('whoever moves up among the changes that are kept is not taken for somebody whose change differs', () => {
  const joiners = [1, 2, 3, 4, 5].map((at) => staged('join', `J${at}`))
  const before = plan(joiners.slice(0, 3), { join: 2 })
  const after = plan(joiners.slice(1, 4), { join: 1 })
  const leaver = staged('leave', 'J9')

  const { people, more } = changedPeople(before, after)
  const withLeaver = changedPeople(before, plan([...after.changes, leaver], { join: 1 }))

  expect([people, more]).toEqual([[], 0])
  expect(withLeaver.people.map(({ identityId }) => identityId)).toEqual(['J9'])
})

test('a plan that was kept whole tells who has no change in it', () => {
  const joiners = [1, 2, 3, 4, 5].map((at) => staged('join', `J${at}`))

  const { people } = changedPeople(plan(joiners.slice(0, 3), { join: 2 }), plan(joiners.slice(1, 5)))
  const moreAfter = changedPeople(plan(joiners.slice(0, 2)), plan(joiners.slice(1, 4), { join: 1 }))

  expect(people.map(({ identityId }) => identityId)).toEqual(['J1'])
  expect(moreAfter.people.map(({ identityId }) => identityId)).toEqual(['J3', 'J4'])
})

test('departures on another day come before everybody who does not leave', () => {
  const movers = Array.from({ length: 60 }, (_, at) => staged('update', `M${at}`))
  const before = plan([staged('leave', 'L1', '2026-12-03')])
  const after = plan([...movers, staged('join', 'J1'), staged('leave', 'L1', '2026-03-12')])

  const { people } = changedPeople(before, after)

  expect(people.slice(0, 3).map(({ identityId }) => identityId)).toEqual(['L1', 'J1', 'M0'])
})

test('without a plan to compare with, everybody is counted', () => {
  const joiners = Array.from({ length: 60 }, (_, at) => staged('join', `E${at}`))

  const { people, more, uncompared } = changedPeople(null, plan(joiners, { join: 40 }))

  expect([people.length, more, uncompared]).toEqual([50, 50, []])
})
