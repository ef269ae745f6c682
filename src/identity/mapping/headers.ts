// Enough for any real header and every list of names for a column; what is beyond is not compared for a suggestion.
const mostComparisons = 50_000
const mostEdits = 5

/** What two headers must share to be the same column: their letters and digits, whatever the case, spaces and signs. */
export function normaliseHeader(header: string): string {
  return header
    .trim()
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}

export type FoundColumn =
  | { readonly found: 'one'; readonly index: number; readonly header: string }
  | { readonly found: 'several'; readonly headers: readonly string[] }
  | { readonly found: 'none'; readonly similar: string | null }

/** Finds the first of several names that stands in the header. */
export type ColumnFinder = (names: readonly string[]) => FoundColumn

/** A finder for the columns of one header, which is read once for all names. */
export function columnFinder(headers: readonly string[]): ColumnFinder {
  const indexes = Map.groupBy(headers.keys(), (index) => normaliseHeader(headers[index] ?? ''))
  return (names) => {
    for (const name of names) {
      const [index, ...others] = indexes.get(normaliseHeader(name)) ?? []
      if (index === undefined) continue
      if (others.length === 0) return { found: 'one', index, header: headers[index] ?? '' }
      return { found: 'several', headers: [index, ...others].map((same) => headers[same] ?? '') }
    }
    return { found: 'none', similar: mostSimilar(names, headers) }
  }
}

/** The header that is most like one of the names, where one is alike at all. */
export function mostSimilar(names: readonly string[], headers: readonly string[]): string | null {
  const wanted = names.map((name) => ({
    text: normaliseHeader(name),
    most: Math.min(mostEdits, Math.max(1, Math.floor(name.length / 3))),
  }))
  let best: { header: string; distance: number } | null = null
  for (const header of headers.slice(0, Math.ceil(mostComparisons / Math.max(1, names.length)))) {
    const text = normaliseHeader(header)
    for (const { text: name, most } of wanted) {
      const distance = distanceWithin(most, name, text)
      if (distance !== null && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { header, distance }
    }
  }
  return best?.header ?? null
}

/** The edits that lead from one text to the other; null for more than `most`. Looks only at where so few of them can lead. */
function distanceWithin(most: number, a: string, b: string): number | null {
  if (Math.abs(a.length - b.length) > most) return null
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  let current = [...previous]
  for (let row = 1; row <= a.length; row++) {
    const first = Math.max(1, row - most)
    const last = Math.min(b.length, row + most)
    current[first - 1] = first === 1 ? row : most + 1
    let least = most + 1
    for (let column = first; column <= last; column++) {
      const substituted = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      const beside = Math.min(current[column - 1] ?? 0, column < row + most ? (previous[column] ?? 0) : most)
      const edits = Math.min(substituted, beside + 1)
      current[column] = edits
      if (edits < least) least = edits
    }
    if (least > most) return null
    const used = previous
    previous = current
    current = used
  }
  const distance = previous[b.length] ?? 0
  return distance <= most ? distance : null
}
