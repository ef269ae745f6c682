/**
 * Reads the export of a folder, settles it, and dies by SIGKILL where it would move another file than so many:
 * `node settle-and-die.ts <folder> [moved [marker]]`.
 */
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const [baseDir = '', moved = '0', marker] = process.argv.slice(2)
const { rename } = fs
let left = Number(moved)
fs.rename = async (from, to) => {
  if (left-- > 0) await rename(from, to)
  else process.kill(process.pid, 'SIGKILL')
}
// What is imported from here on sees that.
syncBuiltinESMExports()
const { csvConnector } = await import('../../../../src/connectors/folder/open.ts')
const { CsvSource } = await import('../../../../src/connectors/folder/settings.ts')

const source = CsvSource.parse({
  ...{ type: 'csv', path: '*.csv', mode: 'snapshot', complete: { quietSeconds: 0, marker } },
  afterwards: { accepted: 'archive' },
})
const connector = csvConnector(source, { baseDir, spoolDir: `${baseDir}/spool`, secret: () => null })
const signal = new AbortController().signal
const reading = await connector.open({ now: () => new Date(), signal, taken: async () => new Set() })
if (reading.source) await connector.closeReading?.(reading.source, 'accepted')
