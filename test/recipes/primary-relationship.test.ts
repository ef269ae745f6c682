import { expect, test } from 'vitest'
import type { JsonValue } from '../../src/connectors/json/cells.ts'
import { mapRecords } from './roster-of.ts'
import { readRecipeFile } from './systems.ts'

/** What Oracle HCM says of one worker with these work relationships. */
async function mapped(...workRelationships: JsonValue[]) {
  const recipe = await readRecipeFile('oracle-hcm-api')
  const [person] = await mapRecords([{ PersonNumber: '300001', workRelationships }], recipe)
  return person
}

function relationship(isPrimary: boolean, end: string | null): JsonValue {
  return {
    WorkerType: 'E',
    PrimaryFlag: isPrimary,
    StartDate: '2020-01-01',
    TerminationDate: end,
    assignments: [{ AssignmentName: 'Cook', AssignmentStatusType: 'INACTIVE', PrimaryFlag: false }],
  }
}

const [left, stays] = ['2024-01-31', null]

test.each([0, 1, 2, 3])('the primary relationship of Oracle HCM counts, at %i', async (at) => {
  const others = (end: string | null) =>
    Array.from({ length: 4 }, (_, index) => relationship(index === at, index === at ? end : left))

  expect(await mapped(...others(stays))).toMatchObject({ statesDeparture: false, fields: { jobTitle: 'Cook' } })
  expect(await mapped(...others('2025-06-30'))).toMatchObject({ leavingDate: expect.stringMatching(/^2025-0[67]/) })
})

test.each([
  ['none', [relationship(false, left), relationship(false, stays)]],
  ['several', [relationship(true, stays), relationship(true, left)]],
  ['the fifth', [...Array.from({ length: 4 }, () => relationship(false, left)), relationship(true, stays)]],
])('nobody is read by a guess where %s is primary', async (_case, relationships) => {
  expect(await mapped(...relationships)).toMatchObject({ reason: expect.stringMatching(/expression failed/) })
})
