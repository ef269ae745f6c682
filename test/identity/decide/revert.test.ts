import { describe, expect, test } from 'vitest'
import { type RunEffect, undo } from '../../../src/identity/decide/revert.ts'
import { changeTo } from '../../../src/identity/difference.ts'
import type { IdentityRecord, RosterEntry } from '../../../src/identity/record.ts'
import { entry, record } from '../../helpers/records.ts'

const leavingDate = '2026-11-10T00:00:00.000Z'
const earlier = '2026-10-10T00:00:00.000Z'

/** What a run did that found `before` on the platform and left `after` there. */
function done(
  before: IdentityRecord | null,
  after: IdentityRecord,
  overrides: Partial<RunEffect> & { inferred?: boolean } = {},
): RunEffect {
  const { inferred = false, ...others } = overrides
  const change = changeTo(after, { confirmed: before, inferred, carried: false })
  if (change === null) throw new Error('nothing was done')
  return { change, isDelivered: true, wasInferred: false, changedBy: null, ...others }
}

const undone = (known: RosterEntry | undefined, effect: RunEffect, repairs = false) => undo(known, effect, { repairs })

test('a leaver is employed again without absences, and the times of all facts stay', () => {
  const after = record('ana', { separatedAt: leavingDate })
  const known = entry('ana', { desired: after, inferred: true, absences: 1, clearedDate: '2020-01-01' })

  expect(undone(known, done(record('ana'), after, { inferred: true }))).toEqual({
    kind: 'back',
    state: {
      desired: record('ana'),
      inferred: false,
      isByOperator: false,
      deferredTo: null,
      deferredZone: null,
      clearedDate: '2020-01-01',
      heldDeparture: null,
      asOf: known.asOf,
      employmentAsOf: known.employmentAsOf,
      exportIsSilent: false,
      fieldTimes: null,
      absences: 0,
    },
  })
})

test('a person who came back is separated on the former day, inferred as before and no longer cleared by a start', () => {
  const before = record('ana', { separatedAt: leavingDate })
  const known = entry('ana', { clearedDate: '2026-11-10', deferredTo: '2027-01-01', deferredZone: 'UTC' })

  expect(undone(known, done(before, record('ana'), { wasInferred: true }))).toMatchObject({
    kind: 'back',
    state: { desired: before, inferred: true, deferredTo: null, deferredZone: null, clearedDate: null },
  })
})

test('a corrected date is restored, and another date that a start has cleared stays cleared', () => {
  const after = record('ana', { separatedAt: earlier })
  const known = entry('ana', { desired: after, clearedDate: '2020-01-01' })

  expect(undone(known, done(record('ana', { separatedAt: leavingDate }), after))).toMatchObject({
    kind: 'back',
    state: { desired: { separatedAt: leavingDate }, clearedDate: '2020-01-01', inferred: false },
  })
})

test('a changed field is restored, and employment stays', () => {
  const after = record('ana', { jobTitle: 'Wrong', separatedAt: leavingDate })
  const known = entry('ana', { desired: after, inferred: true, absences: 3 })

  expect(undone(known, done(record('ana', { separatedAt: leavingDate }), after))).toMatchObject({
    kind: 'back',
    state: { desired: { jobTitle: 'Engineer', separatedAt: leavingDate }, inferred: true, absences: 3 },
  })
})

test.each<[string, RosterEntry | undefined, RunEffect, boolean, string]>([
  [
    'of whom nothing is known',
    undefined,
    done(record('ana'), record('ana', { jobTitle: 'Lead' })),
    false,
    'nothing is known',
  ],
  [
    'who was retracted',
    entry('ana', { desired: record('ana', { jobTitle: 'Lead' }), retracted: { reason: 'x', at: leavingDate } }),
    done(record('ana'), record('ana', { jobTitle: 'Lead' })),
    false,
    'they were retracted since',
  ],
  [
    'of whom newer facts are known',
    entry('ana', { desired: record('ana', { jobTitle: 'Head' }) }),
    done(record('ana'), record('ana', { jobTitle: 'Lead' })),
    false,
    'newer facts about them are known',
  ],
  [
    'whom a newer run changed, though it came to the same in the end',
    entry('ana', { desired: record('ana', { jobTitle: 'Lead' }) }),
    done(record('ana'), record('ana', { jobTitle: 'Lead' }), { changedBy: 'R2' }),
    false,
    'run R2 accepted a change of them since',
  ],
  [
    'whose inferred date HR has stated since',
    entry('ana', { desired: record('ana', { separatedAt: leavingDate }), inferred: false }),
    done(record('ana'), record('ana', { separatedAt: leavingDate }), { inferred: true }),
    false,
    'HR has stated their leaving date since',
  ],
])('a person %s is skipped', (_who, known, effect, repairs, reason) => {
  expect(undone(known, effect, repairs)).toMatchObject({ kind: 'skipped', reason: expect.stringContaining(reason) })
})

test('a joiner needs a retraction, and a retraction that still applies needs a restoration', () => {
  const retraction: RunEffect = {
    change: { kind: 'retract', identityId: 'ana', reason: 'x', carried: false },
    isDelivered: true,
    wasInferred: false,
    changedBy: null,
  }

  expect(undone(entry('ana'), done(null, record('ana')))).toEqual({ kind: 'retract' })
  expect(undone(entry('ana', { retracted: { reason: 'x', at: leavingDate } }), retraction)).toEqual({ kind: 'restore' })
  expect(undone(entry('ana'), retraction)).toMatchObject({ kind: 'skipped' })
})

test('changes sent again without a difference, or to repair the platform, are not undone', () => {
  const again: RunEffect = done(record('ana'), record('ana', { jobTitle: 'Lead' }))
  const resent = { ...again, change: { ...again.change, fields: {}, carried: true } as RunEffect['change'] }
  const repaired = { ...again, change: { ...again.change, carried: true } as RunEffect['change'] }
  const known = entry('ana', { desired: record('ana', { jobTitle: 'Lead' }) })

  expect(undone(known, resent)).toEqual({ kind: 'nothing' })
  expect(undone(known, repaired, true)).toMatchObject({
    kind: 'skipped',
    reason: expect.stringContaining('lost or changed'),
  })
})

describe('a change that an earlier run accepted and this one delivered', () => {
  const gone = record('ana', { separatedAt: leavingDate })
  const refused = (desired: IdentityRecord, after: IdentityRecord, confirmed: IdentityRecord | null = record('ana')) =>
    ({
      ...done(confirmed, after),
      change: changeTo(after, { confirmed, inferred: false, carried: desired === after, desiredBefore: desired }),
    }) as RunEffect

  test("stays, and the run's own changes are undone", () => {
    const after = { ...gone, jobTitle: 'Wrong' }

    expect(undone(entry('ana', { desired: after }), refused(gone, after))).toMatchObject({
      kind: 'back',
      state: { desired: { separatedAt: leavingDate, jobTitle: 'Engineer' } },
    })
  })

  test('returns to the accepted value if the run changed it again', () => {
    const after = record('ana', { separatedAt: earlier })

    expect(undone(entry('ana', { desired: after }), refused(gone, after))).toMatchObject({
      kind: 'back',
      state: { desired: { separatedAt: leavingDate } },
    })
  })

  test('stays if the run did nothing else', () => {
    expect(undone(entry('ana', { desired: gone }), refused(gone, gone))).toMatchObject({
      kind: 'skipped',
      reason: 'the run sent again what an earlier one had accepted',
    })
  })

  test('does not count as a joiner of the run that delivered it', () => {
    const after = record('ana', { jobTitle: 'Wrong' })

    expect(
      undone(entry('ana', { desired: after, confirmed: after }), refused(record('ana'), after, null)),
    ).toMatchObject({ kind: 'back', state: { desired: { jobTitle: 'Engineer' } } })
  })
})
