const maxDepth = 64

/** True for JSON that the database can hold: no NUL character or half of a surrogate pair in a key or text, no number too large for one, and no nesting beyond reason. */
export function isStorableJson(value: unknown, depth = 0): boolean {
  if (depth > maxDepth) return false
  if (typeof value === 'string') return isStorableText(value)
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, inner]) => isStorableText(key) && isStorableJson(inner, depth + 1))
}

export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
