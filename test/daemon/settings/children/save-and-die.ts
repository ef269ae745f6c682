/**
 * Saves another schedule and kills itself: instead of the rename, after it, or instead of the reload:
 * `node save-and-die.ts <file> rename|renamed|reload`.
 */
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const [file = '', step] = process.argv.slice(2)
const die = () => process.kill(process.pid, 'SIGKILL')
const { readFile, rename } = fs
fs.rename = async (from, to) => {
  if (step === 'rename') die()
  else await rename(from, to)
  if (step === 'renamed') die()
}
// What is imported from here on sees that.
syncBuiltinESMExports()
const { loadConfig } = await import('../../../../src/daemon/config/load-config.ts')
const { openAudit } = await import('../../../../src/daemon/audit/service.ts')
const { openStore } = await import('../../../../src/daemon/installation/open-store.ts')
const { saveChange } = await import('../../../../src/daemon/settings/saved-changes.ts')
const { silentEvents } = await import('../../../../src/telemetry/events.ts')

const config = await loadConfig(file, {})
const parts = { config, events: silentEvents(), now: () => new Date() }
const { store } = await openAudit(await openStore(config), parts)
const before = await readFile(file, 'utf8')
const after = before.replace('0 2 * * *', '0 3 * * *')
const actor = { by: 'ana', principal: 'token:ana' }
await saveChange(
  { config, sync: { ...parts, store }, takeUp: die },
  { connection: 'hr', before, after, difference: [], isUndo: false, actor },
)
