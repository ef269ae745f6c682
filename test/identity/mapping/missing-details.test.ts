import { describe, expect, test } from 'vitest'
import { compileMapping, Mapping } from '../../../src/identity/mapping/mapping.ts'
import { isColumnOfDetail, type MissingDetail, mayNameDetail } from '../../../src/identity/mapping/missing-details.ts'

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
  ['job.title', true, true],
  ['job', true, true],
  ['JOB.0.title', true, true],
  ['Job Title', false, true],
  ['job_title', false, true],
  ['jobTitle', false, false],
  ['jobs.title', false, false],
  ['old.job.title', false, false],
  ['jo', false, false],
])('whether %s is a column of the detail job: %s; or may name one: %s', (column, isColumn, mayName) => {
  expect([isColumnOfDetail(column, 'job'), mayNameDetail(column, 'job')]).toEqual([isColumn, mayName])
})

test('the columns of a detail are found without regard to case and punctuation, as headers are', () => {
  expect([isColumnOfDetail('job_details.title', 'jobDetails'), mayNameDetail('jobDetails.end', 'job_details')]).toEqual(
    [true, true],
  )
})

test.each([[{ jobTitle: 'job_title' }], [{ jobTitle: { expression: 'job_title' } }]])(
  "a record's own column is not unknown because its name begins with that of a detail: %j",
  (rule) => {
    const row = mapped(
      { fields: { identityId: 'id', ...rule } },
      { headers: ['id', 'job_title', 'job.end'], values: ['1', 'Cook', '', 'Cook'] },
    )

    expect(row).toMatchObject({ fields: { jobTitle: 'Cook' } })
    expect(columnsOf(row)).toEqual([])
  },
)
