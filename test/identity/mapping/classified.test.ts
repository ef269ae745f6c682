import { expect, test } from 'vitest'
import { type ClassifiedValue, withClassified } from '../../../src/identity/mapping/classified.ts'
import { compileMapping, Mapping } from '../../../src/identity/mapping/mapping.ts'

const status = { column: 'status', leftWhen: ['Left'], employedWhen: ['Active'] }
const headers = ['id', 'status', 'type']

/** What a row with this status, or this value of the contractor column, says once some values are classed. */
function mapClassified(
  { cells, map }: { readonly cells: { readonly status?: string; readonly type?: string }; readonly map?: object },
  ...classified: readonly ClassifiedValue[]
) {
  const isContractor = { column: 'type', ...(map && { map }) }
  const mapping = Mapping.parse({ fields: { identityId: 'id', isContractor }, status })
  const compiled = compileMapping(withClassified(mapping, classified), headers)
  if (!compiled.ok) throw new Error(compiled.missing.join())
  const { status: state = 'Active', type = 'no' } = cells
  return compiled.map({ values: ['1', state, type], origin: { file: 'people.csv', line: 2 } })
}

test.each([
  ['left', { statesDeparture: true, statesEmployed: false }],
  ['employed', { statesDeparture: false, statesEmployed: true }],
] as const)('a status that a person has classified as %s has this meaning in any spelling', (meaning, facts) => {
  const row = mapClassified({ cells: { status: ' EXITED ' } }, { field: 'status', value: 'exited', meaning })

  expect(row).toMatchObject(facts)
  expect(row).not.toHaveProperty('badCells')
})

test('a blank status can be classified', () => {
  expect(mapClassified({ cells: { status: '' } }, { field: 'status', value: '', meaning: 'employed' })).toMatchObject({
    statesEmployed: true,
  })
})

test('the lists of the configuration take precedence over the classification by a person', () => {
  expect(
    mapClassified({ cells: { status: 'Left' } }, { field: 'status', value: 'left', meaning: 'employed' }),
  ).toMatchObject({
    statesDeparture: true,
  })
  expect(
    mapClassified({ cells: { status: 'Active' } }, { field: 'status', value: 'active', meaning: 'left' }),
  ).toMatchObject({
    statesEmployed: true,
  })
})

test.each([[undefined], [{ yes: true, no: false }]])(
  'a value of the contractor column is added to its map %j',
  (map) => {
    const extern: ClassifiedValue = { field: 'isContractor', value: 'extern', meaning: 'contractor' }
    const student: ClassifiedValue = { field: 'isContractor', value: 'student', meaning: 'employee' }
    const mapType = (type: string) => mapClassified({ cells: { type }, ...(map && { map }) }, extern, student)

    expect(['Extern', 'Student', 'no', 'YES'].map((type) => mapType(type))).toMatchObject([
      { fields: { isContractor: true } },
      { fields: { isContractor: false } },
      { fields: { isContractor: false } },
      { fields: { isContractor: true } },
    ])
    expect(mapType('Temp')).toMatchObject({ badCells: [{ unlisted: { field: 'isContractor', value: 'Temp' } }] })
  },
)
