import { createAlerting } from '../../../../src/daemon/alerts/alerts.ts'
import { openDatabase } from '../../../../src/database/database.ts'
import { migrations } from '../../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../../src/store/schema.ts'
import { silentEvents } from '../../../../src/telemetry/events.ts'
import { quietAlerts, secretText, webhookChannel } from '../../../helpers/alert-settings.ts'

// Checks for alert conditions once and sends alerts. With `die` it kills itself after it has raised an alert and before it sends it.
const [at = '', url = '', secret = '', how = ''] = process.argv.slice(2)
const store = await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations })
const events = silentEvents(({ event }) => {
  if (how === 'die' && event === 'alert.raised') process.kill(process.pid, 'SIGKILL')
})
await using alerting = createAlerting({
  db: store.db,
  settings: { ...quietAlerts, channels: [webhookChannel(url, { secret: secretText(secret) })] },
  monitored: { connections: ['acme'], sources: [], maxLeaverHours: new Map<string, number>() },
  events,
  now: () => new Date(),
})
await alerting.recordAndNotify()
await alerting.idle()
process.stdout.write('told\n')
