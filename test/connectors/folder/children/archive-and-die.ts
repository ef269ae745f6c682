/**
 * Reads the export of a folder, archives it, and kills itself instead of the rename after `moved` renames:
 * `node archive-and-die.ts <folder> [moved [marker]]`.
 */
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const [baseDir = '', moved = '0', marker] = process.argv.slice(2)
const { rename } = fs
let remainingMoves = Number(moved)
fs.rename = async (from, to) => {
  if (remainingMoves-- > 0) await rename(from, to)
  else process.kill(process.pid, 'SIGKILL')
}
// What is imported from here on sees that.
syncBuiltinESMExports()
const { folderConnector } = await import('../../../../src/connectors/folder/open.ts')
const { FolderSource } = await import('../../../../src/connectors/folder/settings.ts')

const source = FolderSource.parse({
  ...{ type: 'csv', path: '*.csv', mode: 'snapshot', complete: { quietSeconds: 0, marker } },
  afterwards: { accepted: 'archive' },
})
const connector = folderConnector(source, { baseDir, spoolDir: `${baseDir}/spool`, secret: () => null })
const signal = new AbortController().signal
const reading = await connector.open({ now: () => new Date(), signal, findDecided: async () => new Set() })
if (reading.source) await connector.archive?.(reading.source, 'accepted')
