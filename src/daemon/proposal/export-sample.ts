import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Reading } from '../../connectors/connector.ts'
import { exportStart } from '../../connectors/export/export-start.ts'
import { openExport } from '../../connectors/export/open-export.ts'
import type { ExportFile } from '../../connectors/file/export-file.ts'
import type { FolderSource } from '../../connectors/folder/settings.ts'
import { Failure } from '../../errors.ts'
import { planReading } from '../../sync/sync.ts'
import { pathFrom } from '../../system/path-from.ts'
import type { ConnectionConfig } from '../config/config.ts'
import type { SourceSettings } from '../config/schema.ts'
import { refuseReferences } from './configuration.ts'
import type { VisitParts } from './first-parts.ts'
import { maxChangesShown } from './plan-list.ts'
import { previewFile } from './preview-source.ts'
import { type FirstConnection, helpOfPage, type Sample, type SampleSource } from './samples.ts'
import { type FormChoice, readTable, type Table, tableOfList } from './table.ts'
import type { Upload } from './uploads.ts'

/** An uploaded export as a sample. Later exports will arrive in a folder. */
export function exportSample(upload: Upload, { config, sync, toSync, signal }: VisitParts): Sample {
  const { id, name, file } = upload
  return {
    ...{ id, name, bytes: file.bytes },
    tableOf: (form) => exportTable(file, form, signal),
    sourceFor: (settings, table) => folderSource(upload, settings, { table, configFolder: config.folder }),
    async plan({ next, connection }) {
      const reading = await readingOf(upload, connection, signal)
      const preview = await planReading(sync, toSync(next, connection), {
        reading,
        maxChanges: maxChangesShown,
        signal,
      })
      return { preview, end: reading.source?.end ?? null }
    },
  }
}

/** The header and the first rows of an export. With `whole` it is read to its end, which refuses a cut file. */
export async function exportTable(
  file: ExportFile,
  { records, ignoredStatements, encoding, delimiter, headerLine, sheet }: FormChoice,
  signal: AbortSignal,
  { whole = false } = {},
): Promise<Table> {
  const head = await previewFile(file, { whole, signal })
  const start = exportStart(head, { records, ignoredStatements, recordsHelp })
  if ('head' in start)
    return await readTable(head, { encoding, delimiter, headerLine, sheet }, { help: helpOfPage, signal })
  if ([encoding, delimiter, headerLine, sheet].every((choice) => choice === undefined))
    return tableOfList(start.list, start.settings)
  throw new Failure('usage', `${head.name} is JSON, which has no encoding, delimiter, header line and sheet`)
}

function recordsHelp(pointer: string): string {
  return `the path of the list, such as ${pointer}`
}

type FolderOptions = { readonly table: Table; readonly configFolder: string }

async function folderSource(
  upload: Upload,
  settings: FirstConnection,
  { table: { workbook, listSettings }, configFolder }: FolderOptions,
): Promise<SampleSource> {
  if (settings.folder === undefined) throw new Failure('usage', 'name the folder in which later exports will arrive')
  refuseReferences(settings.folder)
  const folder = resolve(configFolder, settings.folder)
  const usualSuffix = workbook ? '.xlsx' : listSettings ? '.json' : '.csv'
  const pattern = join(folder, `*${suffixOf(upload.name) ?? usualSuffix}`)
  return {
    settings: {
      type: workbook || listSettings ? 'folder' : 'csv',
      path: pathFrom(configFolder, pattern),
      ...listSettings,
    },
    shown: pattern,
    makesFolder: (await isFolder(folder)) ? null : folder,
    secrets: new Map(),
  }
}

/** How the names of later exports end; undefined: this one has no ending. */
function suffixOf(name: string): string | undefined {
  return /(?:\.[a-z0-9]{1,8})?\.[a-z0-9]{1,8}$/i.exec(name)?.[0]
}

/** Whether a path leads to a folder. */
export async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}

/** The export as a run would read it, although it is elsewhere. */
async function readingOf(
  { file, name, at }: Upload,
  { source }: ConnectionConfig,
  signal: AbortSignal,
): Promise<Reading> {
  const settings = source?.settings
  if (settings === undefined || !readsFolder(settings)) throw new Error('the source is no folder')
  const { end, ...opened } = await openExport(file, settings, { signal, secret: () => null })
  const { mode } = settings
  return { mode, asOf: at.toISOString(), source: { name, bytes: file.bytes, version: file.version, ...end }, ...opened }
}

function readsFolder(settings: SourceSettings): settings is SourceSettings & FolderSource {
  return settings.type === 'csv' || settings.type === 'folder'
}
