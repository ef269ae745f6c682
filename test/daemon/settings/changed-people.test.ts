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
