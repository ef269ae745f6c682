import { assemble } from '../../src/daemon/assembly.ts'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { getRun } from '../../src/store/runs/runs.ts'
import { requestRun, syncWorkers } from '../../src/sync/sync.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { report } from './report.ts'

// A whole process until it would send its first request: start, read, map, validate, compare, store, judge, commit.
const config = await loadConfig(process.argv[2] ?? '', process.env)
await using assembly = await assemble(config, { events: silentEvents(), now: () => new Date() })
const { sync } = assembly

await report(
  async () => {
    const { id } = await requestRun(sync, { connection: 'hr', trigger: 'operator' })
    await syncWorkers.run(sync, { runId: id }, new AbortController().signal)
    const run = await getRun(sync.store.db, id)
    if (run?.state !== 'delivering' && run?.state !== 'unchanged')
      throw new Error(`the run is ${run?.state}: ${run?.reason}`)
    return { count: run.rows ?? 0 }
  },
  { from: 'process' },
)
