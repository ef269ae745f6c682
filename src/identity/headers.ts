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
export function findColumn(names: readonly string[], headers: readonly string[]): FoundColumn {
  const normalised = headers.map(normaliseHeader)
  for (const name of names.map(normaliseHeader)) {
    const indexes = [...normalised.keys()].filter((index) => normalised[index] === name)
    if (indexes.length > 1) return { found: 'several', headers: indexes.map((index) => headers[index] ?? '') }
    const [index] = indexes
    if (index !== undefined) return { found: 'one', index, header: headers[index] ?? '' }
  }
  return { found: 'none', similar: mostSimilar(names, headers) }
}

/** The header that is most like one of the names, where one is alike at all. */
export function mostSimilar(names: readonly string[], headers: readonly string[]): string | null {
  let best: { header: string; distance: number } | null = null
  for (const header of headers) {
    for (const name of names) {
      const distance = distanceWithin(
        Math.max(1, Math.floor(name.length / 3)),
        normaliseHeader(name),
        normaliseHeader(header),
      )
      if (distance !== null && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { header, distance }
    }
  }
  return best?.header ?? null
}

function distanceWithin(most: number, a: string, b: string): number | null {
  // Spares the table for names that cannot be alike, however long the header.
  if (Math.abs(a.length - b.length) > most) return null
  const distance = editDistance(a, b)
  return distance <= most ? distance : null
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const substituted = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(substituted, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}
