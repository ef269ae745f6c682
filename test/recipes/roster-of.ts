import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Reading, SourceRow } from '../../src/connectors/connector.ts'
import { openExport } from '../../src/connectors/export/open-export.ts'
import { expressionsOf, withExpressions } from '../../src/connectors/expressions/expressions.ts'
import { exportFileAt } from '../../src/connectors/file/export-file.ts'
import { ExportFormat } from '../../src/connectors/file/format.ts'
import { collectHeaders, flattenRecord, type JsonValue, rowReader } from '../../src/connectors/json/cells.ts'
import { Mapping, MappingPatch, mergePreset } from '../../src/identity/mapping/mapping.ts'
import type { Observation, Reject } from '../../src/identity/record.ts'
import { mapRows, type ReadableRows } from '../../src/sync/plan/map/map-rows.ts'
import type { RecipeFile } from './systems.ts'

const now = new Date('2026-11-20T12:00:00Z')

/** What a row of a source becomes, without where it was read. */
export type MappedPerson = Readonly<Record<string, unknown>>

/** The mapping of a preset file. */
export function mappingOf(file: Readonly<Record<string, unknown>>): MappingPatch {
  const known = Object.keys(MappingPatch.shape)
  return MappingPatch.parse(Object.fromEntries(Object.entries(file).filter(([name]) => known.includes(name))))
}

/** What JSON records become by a recipe. */
export async function mapRecords(records: readonly JsonValue[], recipe: RecipeFile): Promise<readonly MappedPerson[]> {
  const flat = records.map(flattenRecord)
  const names = new Set<string>()
  for (const record of flat) collectHeaders(names, record, 'records')
  const headers = [...names]
  const read = rowReader(headers)
  const slice = flat.map((record, index) => read(record, { file: 'records', line: index + 1 }))
  async function* rows(): AsyncGenerator<readonly SourceRow[]> {
    yield slice
  }
  const shape = { headers, sparse: true, missingIsBlank: true }
  return await mapReading({ ...shape, rows: rows() }, mappingOf(recipe))
}

/** What a CSV export becomes by a preset. The export is written into `folder`. */
export async function mapCsv(text: string, preset: MappingPatch, folder: string): Promise<readonly MappedPerson[]> {
  return await mapReading(await openCsv(text, folder), preset)
}

/** Opens a CSV export, which is written into `folder`. */
export async function openCsv(text: string, folder: string): Promise<Rows> {
  const path = join(folder, 'people.csv')
  await writeFile(path, text)
  const options = { signal: new AbortController().signal, secret: () => null }
  return await openExport(await exportFileAt(path), ExportFormat.parse({}), options)
}

type Rows = Pick<Reading, 'headers' | 'rows' | 'sparse' | 'missingIsBlank'>

/** What the rows of a reading become by a preset. */
export async function mapReading(rows: Rows, preset: MappingPatch): Promise<readonly MappedPerson[]> {
  return (await mapNight(rows, preset, now)).map(withoutOrigin)
}

/** What the rows of a reading at a time become by a preset, with where they were read. */
export async function mapNight(rows: Rows, preset: MappingPatch, at: Date): Promise<readonly (Observation | Reject)[]> {
  const mapping = Mapping.parse(mergePreset(preset, {}))
  const source = { name: 'people', bytes: 0, version: 'sha256:0' }
  const reading: Reading = { mode: 'snapshot', asOf: at.toISOString(), source, ...rows }
  const derived = withExpressions(reading, expressionsOf(mapping))
  const rules = { mapping, timeZone: 'UTC', traps: [], absence: 'separate', graceRuns: 0, future: 'defer' } as const
  const mapper = mapRows(derived, rules, { now: at })
  if (!mapper.ok) throw new Error(mapper.missing().join('; '))
  if (mapper.lacking.length > 0) throw new Error(mapper.lacking.join('; '))
  const slices = await Array.fromAsync(derived.rows)
  return slices.flat().map((row) => requirePerson(mapper.map(row)))
}

function requirePerson(mapped: ReturnType<ReadableRows['map']>): Observation | Reject {
  if (mapped === null || 'noPerson' in mapped || 'outOfScope' in mapped) throw new Error('a row is not about a person')
  return mapped
}

function withoutOrigin(mapped: Observation | Reject): MappedPerson {
  const { origin: _, ...person } = { origin: null, ...mapped }
  return person
}
