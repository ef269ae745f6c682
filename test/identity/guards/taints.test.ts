import { expect, test } from 'vitest'
import { changeKinds, type Verdict } from '../../../src/identity/change.ts'
import { doubtsValues, withoutTainted, withTaints } from '../../../src/identity/guards/taints.ts'

const verdict = (name: string, overrides: Partial<Verdict> = {}): Verdict => ({
  name,
  actual: 9,
  limit: 5,
  ok: false,
  ...overrides,
})
const taintsOf = (...verdicts: Verdict[]) => withTaints(verdicts).map(({ taints }) => taints)

test.each([
  ['leavers', ['join', 'leave', 'return', 'correct']],
  ['returns', ['join', 'leave', 'return', 'correct']],
  ['redates', ['join', 'leave', 'return', 'correct']],
  ['joiners', ['leave', 'join']],
  ['absentUnderHold', ['leave']],
  ['contractorFlips', ['join', 'update']],
  ['blanks', ['join', 'update']],
  ['emailChanges', ['join', 'update']],
  ['fieldChanges', ['join', 'update']],
  ['retractions', ['retract']],
  ['rejectedRows', changeKinds],
  ['missingColumn', changeKinds],
  ['unreadableKeys', changeKinds],
  ['shrinkRows', changeKinds],
  ['endMissing', changeKinds],
  ['staleExport', changeKinds],
  ['a guard that is new', changeKinds],
])('%s puts %j in doubt', (name, taints) => {
  expect(taintsOf(verdict(name))).toEqual([taints])
})

test('a passed verdict puts nothing in doubt', () => {
  const verdicts = withTaints([verdict('leavers', { ok: true }), verdict('blanks')])

  expect(verdicts[0]).not.toHaveProperty('taints')
  expect(withoutTainted(verdicts, ['leave', 'join', 'return'])).toEqual(['leave', 'return'])
  expect(withoutTainted([verdict('leavers')], changeKinds)).toEqual([])
})

test.each(['fieldChanges', 'blanks'])(
  '%s of the start put in doubt who leaves, comes back or left on which day',
  (name) => {
    const everyKind = changeKinds.filter((kind) => kind !== 'retract')

    expect(taintsOf(verdict(name, { fields: ['jobTitle', 'startedAt'] }))).toEqual([everyKind])
    expect(taintsOf(verdict(name, { fields: ['jobTitle', 'managerId'] }))).toEqual([['join', 'update']])
  },
)

test('one sorted column puts its values in doubt; two put the keys and everything else in doubt', () => {
  const sorted = (field: string) => `${field}: 9 of 9 values are those of other people. The column may have been sorted`

  expect(taintsOf(verdict('fieldChanges', { hints: [sorted('firstName')] }))).toEqual([['join', 'update']])
  expect(taintsOf(verdict('fieldChanges', { hints: [sorted('firstName'), sorted('jobTitle')] }))).toEqual([changeKinds])
  expect(
    taintsOf(
      verdict('fieldChanges', { hints: [sorted('firstName')] }),
      verdict('emailChanges', { hints: [sorted('email')] }),
    ),
  ).toEqual([changeKinds, changeKinds])
})

test('only guards of values put values in doubt', () => {
  expect(doubtsValues([verdict('returns'), verdict('blanks', { ok: true })])).toBe(false)
  expect(doubtsValues([verdict('returns'), verdict('blanks')])).toBe(true)
})
