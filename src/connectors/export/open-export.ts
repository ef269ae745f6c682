import type { ConnectorContext } from '../connector.ts'
import { openCsv } from '../csv/open-csv.ts'
import type { ExportFile } from '../file/export-file.ts'
import type { ExportFormat } from '../file/format.ts'
import type { OpenedExport } from '../file/opened-export.ts'

/** What opening needs besides the file and its form. */
type OpenExportOptions = { readonly signal: AbortSignal; readonly secret: ConnectorContext['secret'] }

/** Reads the header of an export in whatever format. Refuses a file that changes before its rows are read. */
export async function openExport(
  file: ExportFile,
  format: ExportFormat,
  options: OpenExportOptions,
): Promise<OpenedExport> {
  if (format.format === 'csv') return await openCsv(file, format, options)
  const { openWorkbook } = await import('../xlsx/open-workbook.ts')
  return await openWorkbook(file, format, options)
}
