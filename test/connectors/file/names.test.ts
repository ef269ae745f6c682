import { expect, test } from 'vitest'
import { exportPattern } from '../../../src/connectors/file/names.ts'

test.each([
  [[], '*.csv'],
  [['notes.txt', 'people.xlsx', 'people.json'], '*.xlsx'],
  [['people.json', 'people.csv', 'PEOPLE.CSV'], '*.csv'],
  [['~$people.xlsx', '.people.csv', 'people.json'], '*.json'],
  [['PEOPLE.CSV', 'people.json'], '*.CSV'],
  [['people-1.csv.gz', 'people-2.csv.gz', 'people.rows'], '*.csv.gz'],
  [['people.csv.pgp', 'people.csv'], '*.csv'],
])('the exports among %j are %s', (names, pattern) => {
  expect(exportPattern(names)).toBe(pattern)
})
