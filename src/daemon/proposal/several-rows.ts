import { foldValue } from '../../identity/mapping/fold-value.ts'
import type { MappingPatch } from '../../identity/mapping/mapping.ts'
import { cellsOf } from './cells.ts'
import { dateEvidence } from './dates.ts'
import type { Table } from './table.ts'
import type { Thesaurus } from './thesaurus.ts'

/** Which row of a person counts where several share a key. */
export type SeveralRows = {
  readonly patch: Pick<MappingPatch, 'scope' | 'severalRows'>
  readonly note: string
}

const maxMarks = 5
const no: ReadonlySet<string> = new Set(
  ['', 'n', 'no', 'false', 'f', '0', 'nein', 'non', 'não', 'nao', 'nee', 'nie', 'nej', 'secondary'].map(foldValue),
)

/** How the rows of a repeated key are distinguished; null if no key repeats or no column does it. */
export function severalRowsBy(table: Table, key: string, thesaurus: Thesaurus): SeveralRows | null {
  const rowsByKey = Map.groupBy(table.rows, (row) => row[table.headers.indexOf(key)]?.trim() ?? '')
  rowsByKey.delete('')
  const repeated = [...rowsByKey.values()].filter((rows) => rows.length > 1)
  if (repeated.length === 0) return null
  return mainRow(table, { rowsByKey, thesaurus }) ?? latestRow(table, { key, repeated, thesaurus })
}

type RowsByKey = ReadonlyMap<string, readonly (readonly string[])[]>

/**
 * A column, such as Primary Position, with a value that exactly one row of each person has. Other columns that happen to have one, such as
 * the number of a row, say nothing of which row is the main one, and reading these rows alone could hide that a person has left.
 */
function mainRow(
  table: Table,
  { rowsByKey, thesaurus }: { readonly rowsByKey: RowsByKey; readonly thesaurus: Thesaurus },
): SeveralRows | null {
  for (const [index, header] of table.headers.entries()) {
    if (!thesaurus.isCalled(header, 'mainRow') || header.includes('`')) continue
    const values = new Map(table.rows.map((row) => [foldValue(row[index] ?? ''), row[index]?.trim() ?? '']))
    if (values.size < 2 || values.size > maxMarks) continue
    const marks = [...values].filter(([folded]) => !no.has(folded))
    const mark = marks.find(([folded]) =>
      [...rowsByKey.values()].every(
        (rows) => rows.filter((row) => foldValue(row[index] ?? '') === folded).length === 1,
      ),
    )?.[1]
    if (mark === undefined) continue
    return {
      patch: { scope: `\`${header}\` = ${quoted(mark)}` },
      note: `Several rows share a key, and one row of each person has "${mark}" in "${header}". Only these rows are read (scope).`,
    }
  }
  return null
}

type RepeatedKeys = {
  readonly key: string
  readonly repeated: readonly (readonly (readonly string[])[])[]
  readonly thesaurus: Thesaurus
}

/** A column with the day from which a row holds. */
function latestRow(table: Table, { key, repeated, thesaurus }: RepeatedKeys): SeveralRows | null {
  const header = table.headers.find((one) => one !== key && thesaurus.isCalled(one, 'effectiveDate'))
  if (header === undefined) return null
  const index = table.headers.indexOf(header)
  const evidence = dateEvidence(cellsOf(table, header), { format: 'yyyy-MM-dd' })
  const areApart = repeated.every((rows) => new Set(rows.map((row) => row[index]?.trim())).size === rows.length)
  if (evidence.kind !== 'one' || !areApart) return null
  const { format, ...form } = evidence.form
  const latest = { column: header, format: typeof format === 'string' ? format : [...format], ...form }
  return {
    patch: { severalRows: { latest } } as SeveralRows['patch'],
    note: `Several rows share a key. The latest one by "${header}" counts, and one with a later day waits for it (severalRows).`,
  }
}

/** A text in an expression. */
function quoted(text: string): string {
  return JSON.stringify(text)
}
