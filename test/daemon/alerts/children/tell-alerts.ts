import { createAlerting } from '../../../../src/daemon/alerts/alerts.ts'
import { Secret } from '../../../../src/daemon/config/secret.ts'
import { openDatabase } from '../../../../src/database/database.ts'
import { migrations } from '../../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../../src/store/schema.ts'
import { silentEvents } from '../../../../src/telemetry/events.ts'

// Looks for alert conditions once and tells of it. With `die` it kills itself when it has raised an alert and not told anybody.
const [at = '', url = '', secret = '', how = ''] = process.argv.slice(2)
const store = await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations })
const events = silentEvents(({ event }) => {
  if (how === 'die' && event === 'alert.raised') process.kill(process.pid, 'SIGKILL')
})
const settings = {
  url: new Secret([{ text: url }]),
  secret: new Secret([{ text: secret }]),
  overdueMinutes: 60,
  remindHours: 24,
}
await using alerting = createAlerting({
  db: store.db,
  settings,
  connections: ['acme'],
  events,
  now: () => new Date(),
})
await alerting.turn()
process.stdout.write('told\n')
