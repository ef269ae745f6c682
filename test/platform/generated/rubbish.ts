import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' }

/** Texts that mean something in a carelessly built SQL statement. */
export const sqlFragments: readonly string[] = [
  "' or '1'='1",
  "'; drop table platform.accounts; --",
  '1; select pg_sleep(9)',
  '1) or (1=1',
  '$1',
  '%',
]

/** Names that mean something to objects used as dictionaries. */
export const wordsOfJavaScript: readonly string[] = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
]

/** Characters that no stored text may contain. */
export const unstorableTexts: readonly string[] = ['\0', 'a\0b', '\ud800', 'a\udc00', '\udc00\ud800', '\ud83d']

const awkward = [
  ...['a\u0301', '\u{1f469}\u200d\u{1f4bb}', '\ufeffx', 'x\ufeff', '\u2028', '\uffff', '\u0001', '\u0085', '\u007f'],
  ...['\r\n', ' x ', '\t', '\u00a0', '\\', '\\u0000', '\ufffd', 'İ', 'ß', '\u{10ffff}', '\u{1f600}'.repeat(60)],
]

/** Texts that are known to break programs. All of them can be stored. */
export const nastyTexts: readonly string[] = [
  ...new Set([...naughtyStrings, ...awkward, ...sqlFragments, ...wordsOfJavaScript]),
]
