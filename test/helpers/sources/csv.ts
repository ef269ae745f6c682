import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { z } from 'zod'
import type { Reading, SourceRow } from '../../../src/connectors/connector.ts'
import { openExport } from '../../../src/connectors/export/open-export.ts'
import { exportFileAt } from '../../../src/connectors/file/export-file.ts'
import { ExportFormat } from '../../../src/connectors/file/format.ts'
import type { OpenedExport } from '../../../src/connectors/file/opened-export.ts'
import { Failure } from '../../../src/errors.ts'
import { type ExportFolder, exportFolder } from './exports.ts'
import { type FolderSettings, openIn } from './folder-source.ts'

export type Format = Partial<z.input<typeof ExportFormat>>

/** What stands in the secrets that the settings name, by their path. */
export type Secrets = Readonly<Record<string, string>>

type Options = { readonly secrets?: Secrets; readonly signal?: AbortSignal }

/** Opens an export of the folder as the daemon does; `*.csv` unless the settings name another. */
export function openCsv(folder: ExportFolder, settings: FolderSettings = {}): Promise<Reading> {
  return openIn(folder, settings)
}

export async function allRows({ rows, close }: Pick<Reading, 'rows' | 'close'>): Promise<SourceRow[]> {
  const all: SourceRow[] = []
  try {
    for await (const slice of rows) all.push(...slice)
  } finally {
    await close?.()
  }
  return all
}

/** Opens one file of a folder, as every file-like source does once it has the file. */
export async function openFile(
  folder: ExportFolder,
  name: string,
  settings: Format = {},
  { secrets = {}, signal = new AbortController().signal }: Options = {},
): Promise<OpenedExport> {
  const secret = (path: string) => {
    const text = secrets[path]
    return text === undefined ? null : { read: async () => text }
  }
  return openExport(await exportFileAt(join(folder.path, name)), ExportFormat.parse(settings), { signal, secret })
}

/** Writes one export, reads it to its end, and returns what a reader of the rows looks at. */
export async function readCsv(content: string | Uint8Array, settings: Format = {}, options: Options = {}) {
  await using folder = await exportFolder()
  await folder.write('people.csv', content)
  const opened = await openFile(folder, 'people.csv', settings, options)
  const rows = await allRows(opened)
  return {
    headers: opened.headers,
    rows: rows.map(({ values }) => values),
    lines: rows.map(({ origin }) => origin.line),
    faults: rows.flatMap(({ origin, fault, cellFaults = [] }) =>
      [...(fault ? [fault] : []), ...cellFaults].map((each) => ({ line: origin.line, ...each })),
    ),
    columnLabels: opened.columnLabels,
    warnings: opened.warnings(),
  }
}

/** The text of the failure that reading such an export ends in. */
export async function refusalOf(content: string | Uint8Array, settings: Format = {}, options: Options = {}) {
  const error = await readCsv(content, settings, options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof Failure && error.code === 'source_unreadable') return error.message
  throw new Error(`expected a refusal of the export, got ${String(error)}`, { cause: error })
}

/** The number of the next file to be opened: the system gives the lowest one that is free. */
export async function nextDescriptor(path: string): Promise<number> {
  await using handle = await open(path)
  return handle.fd
}
