import { expect, test } from 'vitest'
import { mapRecords } from './roster-of.ts'
import { readRecipeFile } from './systems.ts'

test.each([
  ['whose only termination took effect before they came back', false, [['2020-01-31', true]], null],
  [
    'who came back and leaves again',
    false,
    [
      ['2020-01-31', true],
      ['2027-01-31', false],
    ],
    '2027-01-31',
  ],
  ['who leaves for the first time', false, [['2027-01-31', false]], '2027-01-31'],
  [
    'who left twice',
    true,
    [
      ['2020-01-31', true],
      ['2026-01-31', true],
    ],
    '2026-01-31',
  ],
] as const)('Gusto: somebody %s', async (_case, isTerminated, stated, leavingDate) => {
  const terminations = stated.map(([date, isActive]) => ({ effective_date: date, active: isActive }))
  const jobs = [{ primary: true, title: 'Cook', hire_date: '2015-03-01' }]

  const [person] = await mapRecords(
    [{ uuid: 'a', terminated: isTerminated, jobs, terminations }],
    await readRecipeFile('gusto-api'),
  )

  expect(person).toMatchObject({ identityId: 'a', leavingDate })
})
