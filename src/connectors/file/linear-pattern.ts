import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

const require = createRequire(import.meta.url)
const cache = new Map<string, RE2JS>()
const maxCached = 100

/**
 * Compiles a regular expression of RE2, which needs time in proportion to the text for every pattern and name; one of JavaScript can
 * need hours for a name of forty letters. Throws if the pattern is invalid.
 */
export function compilePattern(pattern: string): RE2JS {
  const cached = cache.get(pattern)
  if (cached !== undefined) return cached
  // Loaded lazily: few configurations hold a pattern, and every command loads their schema.
  const re2: typeof import('re2js') = require('re2js')
  const compiled = re2.RE2JS.compile(pattern)
  if (cache.size >= maxCached) cache.clear()
  cache.set(pattern, compiled)
  return compiled
}
