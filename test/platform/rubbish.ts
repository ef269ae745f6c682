/** What has a meaning to a database that is asked carelessly. */
export const sqlFragments: readonly string[] = [
  "' or '1'='1",
  "'; drop table platform.accounts; --",
  '1; select pg_sleep(9)',
  '1) or (1=1',
  '$1',
  '%',
]

/** What has a meaning to objects that are used as dictionaries. */
export const wordsOfJavaScript: readonly string[] = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
]

/** What no text can hold that is stored. */
export const unstorableTexts: readonly string[] = ['\0', 'a\0b', '\ud800', 'a\udc00', '\udc00\ud800', '\ud83d']
