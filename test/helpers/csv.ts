import type { z } from 'zod'
import type { Reading, SourceRow } from '../../src/connectors/connector.ts'
import { CsvSource, csvConnector } from '../../src/connectors/csv.ts'
import { type ExportFolder, exportFolder } from './exports.ts'

export type Settings = Partial<z.input<typeof CsvSource>>

/** Opens an export of the folder as the daemon does; `*.csv` unless the settings name another. */
export function openCsv(
  folder: ExportFolder,
  settings: Settings = {},
  { now = new Date(), signal = new AbortController().signal } = {},
): Promise<Reading> {
  const source = CsvSource.parse({ type: 'csv', path: '*.csv', mode: 'snapshot', ...settings })
  return csvConnector(source, { baseDir: folder.path })({ now: () => now, signal })
}

export async function allRows({ rows }: Reading): Promise<SourceRow[]> {
  const all: SourceRow[] = []
  for await (const slice of rows) all.push(...slice)
  return all
}

/** Writes one export, reads it to its end, and returns what a reader of the rows looks at. */
export async function readCsv(content: string | Uint8Array, settings: Settings = {}) {
  await using folder = await exportFolder()
  await folder.write('people.csv', content)
  const reading = await openCsv(folder, settings)
  const rows = await allRows(reading)
  return {
    headers: reading.headers,
    rows: rows.map(({ values }) => values),
    lines: rows.map(({ origin }) => origin.line),
    faults: rows.flatMap(({ origin, fault }) => (fault ? [{ line: origin.line, ...fault }] : [])),
  }
}
