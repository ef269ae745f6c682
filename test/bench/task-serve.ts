import { loadConfig } from '../../src/daemon/config/config.ts'
import { startDaemon } from '../../src/daemon/start.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { peakMiB } from './report.ts'
import type { Measured } from './tasks.ts'

// A daemon with everything in one process until its input ends. Prints where it serves, and of each run how many people it delivered
// between its first request and its end.
const config = await loadConfig(process.argv[2] ?? '', process.env)
let begunMs: number | null = null
const events = silentEvents((event) => {
  if (event.event === 'request.begun') begunMs ??= performance.now()
  if (event.event !== 'run.finished' || begunMs === null) return
  if (event.problems > 0) throw new Error(`${event.problems} people were refused`)
  const seconds = (performance.now() - begunMs) / 1000
  begunMs = null
  void tell({ count: event.confirmed, seconds })
})
await using daemon = await startDaemon(config, { events })
process.stdout.write(`${JSON.stringify({ url: daemon.url })}\n`)
for await (const _ of process.stdin);

async function tell(delivered: Pick<Measured, 'count' | 'seconds'>): Promise<void> {
  process.stdout.write(`${JSON.stringify({ ...delivered, peakMiB: await peakMiB() })}\n`)
}
