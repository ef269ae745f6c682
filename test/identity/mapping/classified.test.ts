import { expect, test } from 'vitest'
import { type ClassifiedValue, withClassified } from '../../../src/identity/mapping/classified.ts'
import { compileMapping, Mapping } from '../../../src/identity/mapping/mapping.ts'

const status = { column: 'status', leftWhen: ['Left'], employedWhen: ['Active'] }
const headers = ['id', 'status', 'type']

/** What a row with this status, or this value of the contractor column, says once some values are classed. */
function told(
  { cells, map }: { readonly cells: { readonly status?: string; readonly type?: string }; readonly map?: object },
  ...classed: readonly ClassifiedValue[]
) {
  const isContractor = { column: 'type', ...(map && { map }) }
  const mapping = Mapping.parse({ fields: { identityId: 'id', isContractor }, status })
  const compiled = compileMapping(withClassified(mapping, classed), headers)
  if (!compiled.ok) throw new Error(compiled.missing.join())
  const { status: state = 'Active', type = 'no' } = cells
  return compiled.map({ values: ['1', state, type], origin: { file: 'people.csv', line: 2 } })
}

test.each([
  ['left', { statesDeparture: true, statesEmployed: false }],
  ['employed', { statesDeparture: false, statesEmployed: true }],
] as const)('a status that a person has classed as %s counts so, however it is written', (meaning, said) => {
  const row = told({ cells: { status: ' EXITED ' } }, { field: 'status', value: 'exited', meaning })

  expect(row).toMatchObject(said)
  expect(row).not.toHaveProperty('badCells')
})

test('a blank status can be classed', () => {
  expect(told({ cells: { status: '' } }, { field: 'status', value: '', meaning: 'employed' })).toMatchObject({
    statesEmployed: true,
  })
})

test('what the configuration lists goes before what a person said', () => {
  expect(told({ cells: { status: 'Left' } }, { field: 'status', value: 'left', meaning: 'employed' })).toMatchObject({
    statesDeparture: true,
  })
  expect(told({ cells: { status: 'Active' } }, { field: 'status', value: 'active', meaning: 'left' })).toMatchObject({
    statesEmployed: true,
  })
})

test.each([[undefined], [{ yes: true, no: false }]])(
  'a value of the contractor column is added to its map %j',
  (map) => {
    const extern: ClassifiedValue = { field: 'isContractor', value: 'extern', meaning: 'contractor' }
    const student: ClassifiedValue = { field: 'isContractor', value: 'student', meaning: 'employee' }
    const said = (type: string) => told({ cells: { type }, ...(map && { map }) }, extern, student)

    expect(['Extern', 'Student', 'no', 'YES'].map((type) => said(type))).toMatchObject([
      { fields: { isContractor: true } },
      { fields: { isContractor: false } },
      { fields: { isContractor: false } },
      { fields: { isContractor: true } },
    ])
    expect(said('Temp')).toMatchObject({ badCells: [{ unlisted: { field: 'isContractor', value: 'Temp' } }] })
  },
)
