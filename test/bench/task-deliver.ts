import { assemble } from '../../src/daemon/assembly.ts'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { startWork } from '../../src/daemon/work.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { report } from './report.ts'

// Measures from the first request of a planned run to its end, with the workers and the queue of the daemon already open. The clock
// of the bare loop starts with its first request as well.
const config = await loadConfig(process.argv[2] ?? '', process.env)
const finished = Promise.withResolvers<number>()
let begin: (() => void) | null = null
const events = silentEvents((event) => {
  if (event.event === 'request.begun') {
    begin?.()
    begin = null
  }
  if (event.event !== 'run.finished') return
  if (event.problems === 0) finished.resolve(event.confirmed)
  else finished.reject(new Error(`${event.problems} people were refused`))
})
await using assembly = await assemble(config, { events, now: () => new Date() })
await using work = new AsyncDisposableStack()

await report(async (beginNow) => {
  begin = beginNow
  work.use(await startWork(assembly))
  return { count: await finished.promise }
})
