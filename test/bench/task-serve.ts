import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { startDaemon } from '../../src/daemon/start.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { peakMiB } from './report.ts'
import type { Measured } from './tasks.ts'

// Runs a daemon with all roles in one process until its input ends. Prints its address, and for each run how many people it delivered
// between its first request and its end.
const config = await loadConfig(process.argv[2] ?? '', process.env)
let begun: { readonly ms: number; readonly cpu: NodeJS.CpuUsage } | null = null
const events = silentEvents((event) => {
  if (event.event === 'request.begun') begun ??= { ms: performance.now(), cpu: process.cpuUsage() }
  if (event.event !== 'run.finished' || begun === null) return
  if (event.problems > 0) throw new Error(`${event.problems} people were refused`)
  const seconds = (performance.now() - begun.ms) / 1000
  const { user, system } = process.cpuUsage(begun.cpu)
  begun = null
  void report({ count: event.confirmed, seconds, cpuSeconds: (user + system) / 1e6 })
})
await using daemon = await startDaemon(config, { events })
process.stdout.write(`${JSON.stringify({ url: daemon.url })}\n`)
for await (const _ of process.stdin);

async function report(delivered: Omit<Measured, 'peakMiB'>): Promise<void> {
  const measured: Measured = { ...delivered, peakMiB: await peakMiB() }
  process.stdout.write(`${JSON.stringify(measured)}\n`)
}
