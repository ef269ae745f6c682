import { expect, test } from 'vitest'
import { compareArrival, type OnPlatform } from '../../../src/cli/demo/arrival.ts'
import { company, nextNight, type Person } from '../../../src/cli/demo/company.ts'
import type { Identity } from '../../../src/contract/platform/hris-user-identities.ts'

const today = '2026-11-20'
const before = company({ seed: 1, size: 60, today: '2026-11-19' })
const now = nextNight(before, { seed: 2, today })
const [absentee = ''] = now.story.absentee

function identityOf(person: Person): Identity {
  const { workerId, contractor, hireDate, terminationDate, ...names } = person
  const separatedAt = terminationDate && `${terminationDate}T00:00:00.000Z`
  return {
    ...names,
    identityId: workerId,
    isContractor: contractor,
    startedAt: `${hireDate}T00:00:00.000Z`,
    separatedAt: separatedAt || null,
  } as Identity
}

/** A platform that has everybody as HR says, with these differences. */
function platform(...differences: readonly Partial<Identity>[]): OnPlatform {
  const unread = new Set([...now.story.brokenRow, ...now.story.absentee])
  const people = [
    ...now.people.filter(({ workerId }) => !unread.has(workerId)),
    ...before.filter(({ workerId }) => unread.has(workerId)),
  ]
  const identities = new Map(people.map((person) => [person.workerId, identityOf(person)]))
  const changed = [
    { identityId: absentee, separatedAt: `${today}T00:00:00.000Z` },
    ...now.story.futureLeaver.map((identityId) => ({ identityId, separatedAt: null })),
    ...differences,
  ]
  for (const change of changed) {
    const identityId = change.identityId ?? ''
    identities.set(identityId, { ...identities.get(identityId), ...change } as Identity)
  }
  return { identities, statuses: new Map() }
}

test.each<[string, Partial<Identity>[], object]>([
  ['everybody is there as HR says', [], { missing: [], unexpected: [], arrived: 66 }],
  [
    'a person who is missing from the export has another date than that of the export',
    [{ identityId: absentee, separatedAt: '2026-11-19T00:00:00.000Z' }],
    { missing: [absentee], unexpected: [], arrived: 65 },
  ],
  [
    'a person whom no export names is there',
    [{ identityId: 'X1', separatedAt: null }],
    { missing: [], unexpected: ['X1'], arrived: 66 },
  ],
  [
    'an employed person was separated',
    [{ identityId: now.story.mover[0] ?? '', separatedAt: '2026-11-19T00:00:00.000Z' }],
    { missing: [now.story.mover[0]], unexpected: [], arrived: 65 },
  ],
])('the demo compares the platform with the exports: %s', (_what, differences, expected) => {
  expect(compareArrival(platform(...differences), { before, now, today })).toMatchObject(expected)
})
