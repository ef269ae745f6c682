import { expect, test } from 'vitest'
import { maxPreviewCells } from '../../../src/connectors/discovery.ts'
import { tableOfRecords } from '../../../src/connectors/json/table-of-records.ts'

test('a preview stops reading at its limit of cells', () => {
  const size = 9_000
  const wide = { a: Array.from({ length: size }, () => '1') }
  let read = 0
  const records = Array.from({ length: 500 }, () => ({
    get a() {
      read += 1
      return wide.a
    },
  }))

  const table = tableOfRecords(records, 'people')

  expect(read).toBe(Math.floor(maxPreviewCells / size) + 1)
  expect(table).toMatchObject({ isWhole: false, rows: { length: read - 1 } })
})

test('a preview is whole if it holds all records, and blank where a run cannot use a cell', () => {
  expect(
    tableOfRecords(
      [
        { id: '1', name: 'A\0na' },
        { id: '2', name: 'Ben' },
      ],
      'people',
    ),
  ).toMatchObject({
    headers: ['id', 'name'],
    rows: [
      ['1', ''],
      ['2', 'Ben'],
    ],
    isWhole: true,
    notes: [],
  })
  expect(tableOfRecords([{ id: '1' }, 'Ana'], 'people')).toMatchObject({
    rows: [['1']],
    isWhole: true,
    notes: ['1 record cannot be read: the record is no object.'],
  })
})
