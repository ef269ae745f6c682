import type { ConnectorContext, Reading } from '../connector.ts'
import { openCsv } from '../csv/open-csv.ts'
import { type ExportFile, fileDigest } from '../file/export-file.ts'
import type { ExportFormat } from '../file/format.ts'
import type { OpenedExport } from '../file/opened-export.ts'

/** The form of an export, and whether it is a snapshot, as which it is read by default. */
type ExportSettings = ExportFormat & Partial<Pick<Reading, 'mode'>>

/** What opening needs besides the file and its form. */
type OpenExportOptions = { readonly signal: AbortSignal; readonly secret: ConnectorContext['secret'] }

/** An export, and the SHA-256 of its file as it was delivered, still encrypted or compressed. */
type DigestedExport = OpenedExport & { readonly sha256: () => Promise<string> }

/** Reads the header of an export in whatever format. Refuses a file that changes before its rows are read. */
export async function openExport(
  file: ExportFile,
  format: ExportSettings,
  options: OpenExportOptions,
): Promise<DigestedExport> {
  const opened = await openFormat(file, format, options)
  return { ...opened, sha256: () => fileDigest(file, options.signal) }
}

async function openFormat(file: ExportFile, format: ExportSettings, options: OpenExportOptions): Promise<OpenedExport> {
  switch (format.format) {
    case 'csv':
      return await openCsv(file, format, options)
    case 'xlsx':
      return await (await import('../xlsx/open-workbook.ts')).openWorkbook(file, format, options)
    case 'json':
      return await (await import('../json/open-list.ts')).openList(file, format, options)
    default:
      return format.format satisfies never
  }
}
