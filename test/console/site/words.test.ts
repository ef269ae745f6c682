import { expect, test } from 'vitest'
import { capital, sentence } from '../../../src/console/site/words.ts'

test.each([
  ['the source holds no rows', 'The source holds no rows'],
  ['held: 3 of 40 people', 'Held: 3 of 40 people'],
  ['rollcall.yaml:3:11: cannot read the file', 'rollcall.yaml:3:11: cannot read the file'],
  ['people.csv holds no rows', 'people.csv holds no rows'],
  ['exports:12 is not readable', 'exports:12 is not readable'],
  ['/run/secrets/key is empty', '/run/secrets/key is empty'],
  ['https://platform.example answers 401', 'https://platform.example answers 401'],
  ['separatedAt is missing', 'separatedAt is missing'],
  ['start_date is missing', 'start_date is missing'],
  ['', ''],
])('at the beginning of a sentence, %j is written as %j', (text, written) => {
  expect(capital(text)).toBe(written)
})

test('a file whose name has a blank keeps it at the beginning of a sentence', () => {
  expect(sentence('people of today.csv:3: no date', 'people of today.csv')).toBe('people of today.csv:3: no date.')
})
