import { describe, expect, test } from 'vitest'
import { compileMapping, Mapping } from '../../../src/identity/mapping/mapping.ts'
import { belongsToDetail, type MissingDetail } from '../../../src/identity/mapping/missing-details.ts'

const missing: MissingDetail = { name: 'job', reason: 'the detail job is missing' }

type Source = {
  readonly headers?: readonly string[]
  readonly values?: readonly (string | undefined)[]
  readonly formerFields?: readonly string[]
  readonly details?: readonly MissingDetail[]
}

/** Maps a row of a sparse snapshot, which lacks these details. */
function mapped(mapping: object, { headers = ['id', 'job.title'], values = ['1'], ...source }: Source = {}) {
  const { formerFields = ['separatedAt', 'jobTitle'], details = [missing] } = source
  const fields = { identityId: 'id', jobTitle: 'job.title', separatedAt: { column: 'job.end', optional: true } }
  const rules = Mapping.parse({ fields, ...mapping })
  const options = { sparse: true, missingIsBlank: { formerFields }, partialDetails: ['job'] }
  const compiled = compileMapping(rules, headers, options)
  if (!compiled.ok) throw new Error(compiled.missing.join('; '))
  return compiled.map({ values, origin: { file: 'people page 1', line: 1 }, missingDetails: details })
}

const columnsOf = (row: ReturnType<typeof mapped>) =>
  'badCells' in row ? row.badCells?.map(({ column }) => column) : []

describe('a detail that a record lacks', () => {
  test('makes its columns cells that cannot be read', () => {
    const row = mapped({}, { headers: ['id', 'job.title', 'job.end'], values: ['1', '', ''] })

    expect(row).toMatchObject({ identityId: '1', fields: {}, leavingDate: undefined, isUncertain: true })
    expect(row).toMatchObject({
      badCells: [
        { column: 'job.title', reason: 'the detail job is missing', cellOnly: true, mayLeave: false },
        { column: 'job.end', reason: 'the detail job is missing', cellOnly: true, mayLeave: true },
      ],
    })
  })

  test.each([
    ['that records had before', ['separatedAt']],
    ['that records never had', ['jobTitle']],
  ])('counts for a column %s, and which no record has now', (_case, formerFields) => {
    const row = mapped({}, { formerFields })

    expect(row).toMatchObject({ leavingDate: undefined, isUncertain: true })
    expect(columnsOf(row)).toEqual(['job.title', 'job.end'])
  })

  test('leaves rows that have it as they are', () => {
    const former = { formerFields: ['jobTitle'], details: [] }
    const status = { column: 'state', leftWhen: ['gone'], employedWhen: ['here'] }
    const row = mapped(
      { status, statusMeans: 'onDate' },
      { headers: ['id', 'job.title', 'state'], values: ['1', 'Cook', 'gone'], ...former },
    )

    expect(row).toMatchObject({ fields: { jobTitle: 'Cook' }, leavingDate: undefined, statesDeparture: true })
    expect(columnsOf(row)).toEqual([])
  })

  test.each([
    [{ jobTitle: { firstOf: ['title', 'job.title'] } }],
    [{ jobTitle: { template: '{title} {job.title}' } }],
    [{ jobTitle: { column: ['job.name', 'title'] } }],
    [{ jobTitle: 'Job Title' }],
  ])('counts for a text that is made of its columns: %j', (rule) => {
    const row = mapped({ fields: { identityId: 'id', ...rule } }, { headers: ['id', 'title', 'job.title'] })

    expect(columnsOf(row)).toHaveLength(1)
  })

  test('counts for the result of an expression that read it', () => {
    const row = mapped(
      { fields: { identityId: 'id', jobTitle: { expression: '`job.title`' } } },
      { values: ['1', undefined, undefined], details: [{ ...missing, derivedColumns: [2] }] },
    )

    expect(columnsOf(row)).toEqual(['the expression of jobTitle'])
  })

  test('rejects the row if its key is in it', () => {
    const row = mapped({ fields: { identityId: 'job.number' } })

    expect(row).toMatchObject({ identityId: null, reason: 'the detail job is missing' })
  })
})

test.each([
  ['job.title', true],
  ['job', true],
  ['Job Title', true],
  ['JOB_TITLE', true],
  ['job.0.title', true],
  ['jobTitle', false],
  ['jobs.title', false],
  ['old.job.title', false],
  ['jo', false],
])('whether the column %s belongs to the detail job: %s', (column, expected) => {
  expect(belongsToDetail(column, 'job')).toBe(expected)
})
