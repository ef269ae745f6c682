import { expect, test } from 'vitest'
import { capital, effectsText, guardsInWords, sentence, withCode } from '../../../src/console/site/words.ts'

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

test.each([
  ['endMissing: the source lacks a person', 'missing end of the export (endMissing): the source lacks a person'],
  [
    'leavers: 8 of 137 people; the limit is 6; shrinkRows: 90 rows fewer',
    'leavers: 8 of 137 people; the limit is 6; missing rows (shrinkRows): 90 rows fewer',
  ],
  [
    'a run waits until 09:35 UTC: endMissing: cut',
    'a run waits until 09:35 UTC: missing end of the export (endMissing): cut',
  ],
  ['the column startDate: is missing', 'the column startDate: is missing'],
  ['redates: 9 people; rekeyed: 1 person', 'changed leaving dates (redates): 9 people; new keys (rekeyed): 1 person'],
])('the guards of %j are named in words', (reason, words) => {
  expect(guardsInWords(reason)).toBe(words)
})

test('the effects of a plan are one list', () => {
  const none = { join: 0, update: 0, leave: 0, return: 0, correct: 0, retract: 0 }
  const counts = { ...none, unchanged: 0, rejected: 0, incomplete: 0 }

  expect(effectsText({ ...counts, leave: 1, join: 2 })).toBe('separates 1 person and adds 2 people')
  expect(effectsText({ ...counts, leave: 1, join: 2, update: 3 })).toBe(
    'separates 1 person, adds 2 people and changes 3 people',
  )
})

test('a command in a text is code, and its signs are escaped', () => {
  expect(String(withCode('`rollcall alias` lists <pairs>; `a<b`'))).toBe(
    '<code>rollcall alias</code> lists &lt;pairs&gt;; <code>a&lt;b</code>',
  )
  expect(String(withCode('one ` alone'))).toBe('one ` alone')
})
