import { foldValue } from '../../identity/mapping/fold-value.ts'
import { normaliseHeader } from '../../identity/mapping/headers.ts'
import { compileMapping, Mapping, type MappingPatch, mergePreset } from '../../identity/mapping/mapping.ts'
import { plainName } from '../../text/escape.ts'
import type { Preset } from '../config/presets.ts'
import type { ValueCount } from './proposal.ts'
import type { Table } from './table.ts'

const maxValues = 40

/** The cells of a column that are not blank. */
export function cellsAt({ rows }: Table, index: number): string[] {
  return rows.map((row) => row[index] ?? '').filter((cell) => cell.trim() !== '')
}

/** The cells of the column with this header that are not blank. */
export function cellsOf(table: Table, header: string): string[] {
  return cellsAt(table, table.headers.indexOf(header))
}

/** The header that a name means; null if there is none. Surrounding blanks, case and the form of accents do not matter. */
export function findHeader({ headers }: Pick<Table, 'headers'>, name: string): string | null {
  const same = (header: string) => normaliseHeader(header) === normaliseHeader(name)
  return headers.find((header) => header === name) ?? headers.find(same) ?? null
}

/** Whether settings can name a column: they find it again by its name as pages show it. */
export function canBeNamed(header: string): boolean {
  const name = normaliseHeader(header)
  return name !== '' && normaliseHeader(plainName(header)) === name
}

/** The share of cells that pass a test, from 0 to 1. */
export function share(cells: readonly string[], test: (cell: string) => boolean): number {
  return cells.filter(test).length / Math.max(1, cells.length)
}

/** The values of a column with the number of their rows, the most frequent first; the first 40 of them by default. */
export function countValues(texts: readonly string[], max = maxValues): ValueCount[] {
  const rows = new Map<string, number>()
  for (const text of texts) rows.set(text, (rows.get(text) ?? 0) + 1)
  const filled = [...rows].filter(([text]) => text.trim() !== '')
  const counts = [...Map.groupBy(filled, ([text]) => foldValue(text)).values()].map((same) => ({
    value: same[0]?.[0].trim() ?? '',
    rows: same.reduce((sum, [, count]) => sum + count, 0),
  }))
  return counts.toSorted((a, b) => b.rows - a.rows || (a.value < b.value ? -1 : 1)).slice(0, max)
}

/** The texts of a column that are not blank, each once. */
export function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].map((text) => text.trim()).filter((text) => text !== '')
}

/** The texts of each mapped field, row by row, and the column they come from. */
export type Texts = ReadonlyMap<string, { readonly column: string; readonly texts: readonly string[] }>

/** The texts of the mapped fields and the status. Empty if the mapping does not fit the header. */
export function textsOf(table: Table, preset: Preset, patch: MappingPatch): Texts {
  const parsed = Mapping.safeParse(mergePreset(preset.mapping, withoutExpressions(patch)))
  const compiled = parsed.success ? compileMapping(parsed.data, table.headers) : null
  if (!compiled?.ok) return new Map()
  const texts = new Map<string, { column: string; texts: string[] }>(
    Object.entries(compiled.columns).flatMap(([field, column]) =>
      column === undefined ? [] : [[field, { column, texts: [] }]],
    ),
  )
  for (const values of table.rows)
    for (const { name, text = '' } of compiled.cellsOf({ values })) texts.get(name)?.texts.push(text)
  return texts
}

/** Expressions are evaluated in a thread of a run; a proposal does not need their results. */
function withoutExpressions({ fields, scope: _scope, ...patch }: MappingPatch): MappingPatch {
  const plain = Object.entries(fields ?? {}).map(([name, rule]) => [name, 'expression' in asRule(rule) ? null : rule])
  return { ...patch, fields: Object.fromEntries(plain) }
}

/** A rule of a mapping as settings. */
export function asRule(rule: unknown): Readonly<Record<string, unknown>> {
  if (typeof rule === 'string') return { column: rule }
  return typeof rule === 'object' && rule !== null ? (rule as Readonly<Record<string, unknown>>) : {}
}

/** The names shared by several columns. */
export function doubledNames({ headers }: Table): ReadonlySet<string> {
  const names = headers.map(normaliseHeader)
  return new Set(names.filter((name, index) => name !== '' && names.indexOf(name) !== index))
}

/** A note for each name shared by several columns. */
export function doubledHeaders({ headers }: Table): string[] {
  const same = Map.groupBy(headers.entries(), ([, header]) => normaliseHeader(header))
  return [...same].flatMap(([name, positions]) => {
    if (name === '' || positions.length === 1) return []
    const columns = positions.map(([index]) => index + 1)
    return [
      `The columns ${columns.join(' and ')} are both called "${positions[0]?.[1]}", so neither can be read. Rename or drop one in the export.`,
    ]
  })
}
