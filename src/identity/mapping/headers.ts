import { distance } from 'fastest-levenshtein'

// Limits for suggestions, enough for any real header and list of names.
const maxComparisons = 50_000
const maxCharacters = 1000
const maxEdits = 5

/** The form in which headers are compared: letters and digits in lower case, without spaces and punctuation. */
export function normaliseHeader(header: string): string {
  return header
    .trim()
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}

/** The columns of a header for some names: one, several that read the same, or none. */
export type MatchedColumn =
  | { readonly kind: 'one'; readonly index: number; readonly header: string }
  | { readonly kind: 'several'; readonly headers: readonly string[] }
  | { readonly kind: 'none'; readonly similar: string | null }

/** Finds the column of the first of these names that the header has. */
export type ColumnFinder = (names: readonly string[]) => MatchedColumn

/** A finder for the columns of one header. */
export function columnFinder(headers: readonly string[]): ColumnFinder {
  const indexes = Map.groupBy(headers.keys(), (index) => normaliseHeader(headers[index] ?? ''))
  return (names) => {
    for (const name of names) {
      const [index, ...others] = indexes.get(normaliseHeader(name)) ?? []
      if (index === undefined) continue
      if (others.length === 0) return { kind: 'one', index, header: headers[index] ?? '' }
      return { kind: 'several', headers: [index, ...others].map((same) => headers[same] ?? '') }
    }
    return { kind: 'none', similar: mostSimilar(names, headers) }
  }
}

/** The header that is most similar to one of the names; null if none is similar. */
export function mostSimilar(names: readonly string[], headers: readonly string[]): string | null {
  const candidates = names.map((name) => ({
    text: normaliseHeader(name),
    most: Math.min(maxEdits, Math.max(1, Math.floor(name.length / 3))),
  }))
  let best: { header: string; edits: number } | null = null
  for (const header of headers.slice(0, Math.ceil(maxComparisons / Math.max(1, names.length)))) {
    const text = normaliseHeader(header)
    for (const { text: name, most } of candidates) {
      if (text.length > maxCharacters || Math.abs(name.length - text.length) > most) continue
      const edits = distance(name, text)
      if (edits <= most && edits < (best?.edits ?? Number.POSITIVE_INFINITY)) best = { header, edits }
    }
  }
  return best?.header ?? null
}
