const maxDepth = 64

/** Whether PostgreSQL can store the JSON value: storable texts and keys, finite numbers, at most 64 levels. */
export function isStorableJson(value: unknown, depth = 0): boolean {
  if (depth > maxDepth) return false
  if (typeof value === 'string') return isStorableText(value)
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, inner]) => isStorableText(key) && isStorableJson(inner, depth + 1))
}

/** Whether PostgreSQL can store the text: no NUL character and no half of a surrogate pair. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
