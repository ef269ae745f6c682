import { describe, expect, test } from 'vitest'
import { escapeJson, escapeLines, escapeText, plainName } from '../../src/text/escape.ts'
import { nasty } from '../helpers/nasty.ts'

describe('a text from outside', () => {
  test.each([
    ['an escape of a terminal', '\u001b[2Jgone', '\\u001b[2Jgone'],
    ['its form of one byte', '\u009b2Jgone', '\\u009b2Jgone'],
    ['a return to the beginning of the line', 'bad\rgood', 'bad\\u000dgood'],
    ['an end of the line', 'bad\n✔ good', 'bad\\u000a✔ good'],
    ['a tab', 'a\tb', 'a\\u0009b'],
    ['a backspace and a bell', 'a\b\u0007', 'a\\u0008\\u0007'],
    ['a turned direction', 'exe.\u202etxt', 'exe.\\u202etxt'],
    ['an isolate', 'a\u2066b\u2069', 'a\\u2066b\\u2069'],
    ['a mark of direction', 'a\u200e\u200f\u061cb', 'a\\u200e\\u200f\\u061cb'],
    ['signs without width', 'a\u200bb\u2060c\ufeff', 'a\\u200bb\\u2060c\\ufeff'],
    ['a soft hyphen', 'pay\u00adroll', 'pay\\u00adroll'],
    ['fillers, which are letters', 'a\u3164b\u115f\uffa0', 'a\\u3164b\\u115f\\uffa0'],
    ['tags, by which a text says more than is seen', 'a\u{e0041}\u{e007f}', 'a\\u{e0041}\\u{e007f}'],
    ['separators of lines and paragraphs', 'a\u2028b\u2029', 'a\\u2028b\\u2029'],
    ['half of a character', 'a\ud83d', 'a\\ud83d'],
    ['what is no character', 'a\uffff\u{1fffe}', 'a\\uffff\\u{1fffe}'],
    ['NUL', 'a\0b', 'a\\u0000b'],
  ])('shows %s as its code', (_what, text, expected) => {
    const shown = escapeText(text)

    expect(shown).toBe(expected)
    expect(escapeText(shown)).toBe(expected)
  })

  test.each([
    ['letters with accents', 'Zoë Müller-Łukasz'],
    ['scripts that are written from right to left', 'عبد الله, יהודה'],
    ['scripts of East Asia', '山田太郎 김민준'],
    ['a Persian word with a non-joiner', 'می\u200cخواهم'],
    ['a Sinhala word with a joiner', 'ක්\u200dර'],
    ['a Marathi word with a joiner', 'दर्\u200dया'],
    ['a family of one picture', '👩\u200d👩\u200d👧'],
    ['a picture with a colour of skin and a profession', '👩🏽\u200d⚕\ufe0f'],
    ['a flag of two pictures', '🏳\ufe0f\u200d🌈'],
    ['a keycap', '1\ufe0f\u20e3'],
    ['the variant of a Japanese character', '辻\u{e0100}'],
    ['a space that does not break, and an ideographic one', 'a\u00a0b\u3000c'],
  ])('keeps %s', (_what, name) => {
    expect(escapeText(name)).toBe(name)
  })

  test.each([
    ['between Latin letters', 'pay\u200cpal', 'pay\\u200cpal'],
    ['at the end of a word', 'می\u200c', 'می\\u200c'],
    ['at the beginning', '\u200dක', '\\u200dක'],
    ['twice', 'می\u200c\u200cخواهم', 'می\\u200c\\u200cخواهم'],
    ['between a picture and a letter', '👩\u200da', '👩\\u200da'],
    ['between pictures, where it joins none', '👩\u200c👧', '👩\\u200c👧'],
    ['as a selector behind a letter', 'a\ufe0fb', 'a\\ufe0fb'],
    ['as a second selector', '辻\u{e0100}\u{e0101}', '辻\u{e0100}\\u{e0101}'],
  ])('shows a joiner or a selector that has no use %s', (_where, text, expected) => {
    expect(escapeText(text)).toBe(expected)
  })
})

test('our own line breaks stay, and other control characters are escaped', () => {
  const text = escapeLines('one\n\ttwo\r\nthree\rfour\u001b[2J\u2028')

  expect(text).toBe('one\n\ttwo\r\nthree\\u000dfour\\u001b[2J\\u2028')
})

test.each(Object.entries(nasty))('JSON says %s as escapes, and programs read the same', (_what, text) => {
  const document = { [text]: [text, { nested: `می\u200cخواهم ${text}` }] }

  const json = escapeJson(JSON.stringify(document, null, 2))

  expect(json).toMatch(/^[\n\P{C}]*$/v)
  expect(json).not.toMatch(/\p{Default_Ignorable_Code_Point}/v)
  expect(JSON.parse(json)).toEqual(document)
})

test.each([
  ['a line end', 'Job\r\nTitle', 'Job Title'],
  ['invisible characters', '\ufeffJob\u00adTi\u200btle\u202e', 'JobTitle'],
  ['several blanks', ' Last\u00a0 Name\t', 'Last Name'],
  ['a joiner that belongs to its word', 'می\u200cخواهم', 'می\u200cخواهم'],
])('a plain name has %s no more, unless it belongs there', (_what, name, expected) => {
  expect(plainName(name)).toBe(expected)
  expect(escapeText(plainName(name))).toBe(expected)
})
