import { openExport } from '../../src/connectors/export/open-export.ts'
import { exportFileAt } from '../../src/connectors/file/export-file.ts'
import { ExportFormat } from '../../src/connectors/file/format.ts'
import { report } from './report.ts'

// Reads an export as a run does, with all its rows.
const [path = '', format = ''] = process.argv.slice(2)

await report(async () => {
  const { signal } = new AbortController()
  const file = await exportFileAt(path)
  const { rows } = await openExport(file, ExportFormat.parse({ format }), { signal, secret: () => null })
  let count = 0
  for await (const slice of rows) count += slice.length
  return { count }
})
