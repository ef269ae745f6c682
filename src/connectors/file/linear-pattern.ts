import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

const require = createRequire(import.meta.url)
const kept = new Map<string, RE2JS>()
const mostKept = 100

/**
 * A regular expression of RE2. It needs time in proportion to the text, whatever pattern an operator and whatever name a server writes;
 * one of JavaScript can need hours for a name of forty letters. Throws what is wrong with the pattern.
 */
export function compilePattern(pattern: string): RE2JS {
  const known = kept.get(pattern)
  if (known !== undefined) return known
  // Loaded here because few configurations hold a pattern, and every command loads their schema.
  const re2: typeof import('re2js') = require('re2js')
  const made = re2.RE2JS.compile(pattern)
  if (kept.size >= mostKept) kept.clear()
  kept.set(pattern, made)
  return made
}
