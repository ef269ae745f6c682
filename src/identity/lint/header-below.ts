import { compileMapping, type Mapping } from '../mapping/mapping.ts'
import type { MappableRow } from '../mapping/rows.ts'
import { quoted } from './quoted.ts'

/** Maximum number of rows that are searched for a header. */
const rowsLookedAt = 50
/** Maximum number of filled cells of a title. A line with more may be about a person, and is not quoted. */
const cellsOfTitle = 2

/** Searches the rows for the header of an export whose first line lacks mapped columns. */
type HeaderBelow = {
  readonly addRow: (row: MappableRow) => void
  /** Why columns are missing: one sentence for each cause. */
  readonly reasons: () => readonly string[]
}

/** Searches the first rows for the header of an export whose header line lacks mapped columns. */
export function watchHeaderBelow(
  mapping: Mapping,
  { headers, missing }: { readonly headers: readonly string[]; readonly missing: readonly string[] },
): HeaderBelow {
  let remaining = rowsLookedAt
  let line: number | null = null

  return {
    addRow({ values, origin }) {
      if (remaining === 0 || line !== null) return
      remaining -= 1
      const compiled = compileMapping(
        mapping,
        values.map((cell = '') => cell),
      )
      if (compiled.ok || compiled.missing.length < missing.length) line = origin.line
    },
    reasons() {
      const cells = headers.filter((cell) => cell.trim() !== '')
      const isPersonal = cells.length > cellsOfTitle || cells.some((cell) => cell.includes('@'))
      const reads = isPersonal ? '' : `: it reads ${quoted(cells.join(' '))}`
      if (line !== null)
        return [
          `the header is a title and names no columns${reads}; line ${line} names them: write headerLine: ${line}`,
        ]
      if (headers.length > 1) return missing
      return [
        `the header is one cell that no delimiter splits${reads}; check delimiter, and whether this is the export`,
        ...missing,
      ]
    },
  }
}
