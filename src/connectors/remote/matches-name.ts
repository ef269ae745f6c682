import { lockMark } from '../file/names.ts'

/**
 * Whether the whole name matches the pattern, in which * stands for any text and ? for one character. Only a dot matches a leading dot,
 * and only ~$ the beginning of the file that Excel puts beside an open workbook.
 * The names are the server's, so the time must stay bounded by the product of both lengths: path.matchesGlob needs minutes for a long
 * name and a pattern with five stars.
 */
export function matchesName(name: string, pattern: string): boolean {
  if (name.startsWith('.') && !pattern.startsWith('.')) return false
  if (name.startsWith(lockMark) && !pattern.startsWith(lockMark)) return false
  const characters = [...name]
  const patternCharacters = [...pattern]
  let at = 0
  let next = 0
  let star = -1
  let starAt = 0
  while (at < characters.length) {
    if (patternCharacters[next] === '*') {
      star = next++
      starAt = at
    } else if (
      next < patternCharacters.length &&
      (patternCharacters[next] === '?' || patternCharacters[next] === characters[at])
    ) {
      next += 1
      at += 1
    } else if (star >= 0) {
      next = star + 1
      at = ++starAt
    } else return false
  }
  return patternCharacters.slice(next).every((character) => character === '*')
}
