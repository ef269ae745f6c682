import { expect, test } from 'vitest'
import { indexesOf } from '../../../src/identity/lint/watch.ts'

test.each<[string, readonly string[], readonly number[]]>([
  ['Email', ['Name', 'Email'], [1]],
  ['Last, First', ['Last', 'First', 'Last, First'], [2]],
  ['First, Last', ['Last', 'First'], [1, 0]],
  ['Last, First, Email', ['Email', 'Last, First'], [1, 0]],
  ['Last, First, Email', ['Last', 'Email', 'First'], [0, 2, 1]],
  ['Elsewhere', ['Name', 'Email'], []],
])('the cells of "%s" below %j are at %j, also if a header contains a comma', (header, headers, indexes) => {
  expect(indexesOf(header, headers)).toEqual(indexes)
})
