import type { Reading, SourceRow } from '../../connectors/connector.ts'
import { dateIn } from '../../identity/decide.ts'
import { createLint } from '../../identity/lint/lint.ts'
import { type CompiledMapping, compileMapping } from '../../identity/mapping/mapping.ts'
import type { Reject, Sighting } from '../../identity/record.ts'
import type { FeedRules } from '../context.ts'

type Mapped = Extract<CompiledMapping, { readonly ok: true }>

/** A reading's rows as sightings, looked over for what an operator should know. */
export type MappedRows =
  | (Pick<Mapped, 'ok' | 'columns' | 'mapped'> & {
      /** null: the row is about something else and is passed over. */
      readonly map: (row: SourceRow) => Sighting | Reject | null
      /** Complete once every row was mapped. */
      readonly findings: () => string[]
    })
  | Extract<CompiledMapping, { readonly ok: false }>

/** Binds the rules of a feed to what was opened of it. */
export function mapRows(reading: Reading, { mapping, traps, timeZone }: FeedRules, now: Date): MappedRows {
  const { headers, mode, sparse = false } = reading
  const compiled = compileMapping(mapping, headers, { sparse, timeZone })
  if (!compiled.ok) return compiled
  const { columns, mapped } = compiled
  const lint = createLint({ mode, headers, columns, exportDate: dateIn(timeZone, now.toISOString()), traps })
  return {
    ok: true,
    columns,
    mapped,
    map(row) {
      if (compiled.isIgnored(row)) return null
      const told = compiled.map(row)
      lint.see(row, told)
      return told
    },
    findings: () => lint.findings().map(({ message }) => message),
  }
}
