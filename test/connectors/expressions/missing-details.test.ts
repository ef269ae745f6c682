import { expect, test } from 'vitest'
import type { SourceRow } from '../../../src/connectors/connector.ts'
import { withExpressions } from '../../../src/connectors/expressions/expressions.ts'
import { readingOf } from '../../helpers/derive.ts'

const origin = { file: 'people page 1', line: 1 }
const reason = 'the detail job is missing'
const missingDetails = [
  { name: 'job', reason },
  { name: 'home', reason },
]

const without = { values: ['1', 'x', undefined, undefined], origin, missingDetails }
const whole = { values: ['2', 'y', 'Cook', '3'], origin }

async function derived(rows: readonly SourceRow[], ...texts: string[]) {
  const reading = { ...readingOf(rows), headers: ['id', 'jobName', 'job.title', 'job.level'], sparse: true }
  const expressions = texts.map((text) => ({ text, optional: false }))
  const { rows: slices } = withExpressions({ ...reading, missingIsBlank: true }, expressions)
  return (await Array.fromAsync(slices)).flat()
}

test('every expression that reads a missing detail is named, and no other one', async () => {
  const [row, other] = await derived(
    [without, whole],
    '`job.title`',
    'id & jobName',
    '$exists(`job.level`) ? "a" : "b"',
  )

  expect(row?.values.slice(4)).toEqual([undefined, '1x', undefined])
  expect(row?.missingDetails).toEqual([
    { name: 'job', reason, derivedColumns: [4, 6] },
    { name: 'home', reason, derivedColumns: [] },
  ])
  expect(row?.fault).toBeUndefined()
  expect(other).toEqual({ values: ['2', 'y', 'Cook', '3', 'Cook', '2y', 'a'], origin })
})

test('an expression may read a column of the detail that no record has now', async () => {
  const [row] = await derived([without], '`home.town` & `job.end`')

  expect(row?.missingDetails?.map(({ derivedColumns }) => derivedColumns)).toEqual([[4], [4]])
})

test('an expression may read a column whose name begins with that of a missing detail', async () => {
  const reading = { ...readingOf([{ ...without, values: ['1', 'y'] }]), headers: ['id', 'job_name'], sparse: true }
  const { rows } = withExpressions({ ...reading, missingIsBlank: true }, [{ text: 'job_name', optional: false }])
  const [row] = (await Array.fromAsync(rows)).flat()

  expect(row?.values).toEqual(['1', 'y', 'y'])
  expect(row?.missingDetails?.map(({ derivedColumns }) => derivedColumns)).toEqual([undefined, undefined])
})
