import { exportFileAt, fileDigest } from '../../src/connectors/file/export-file.ts'
import { assemble } from '../../src/daemon/assembly.ts'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { getRun } from '../../src/store/runs/runs.ts'
import { makeStatement } from '../../src/store/statement/make.ts'
import { IntakeCounter } from '../../src/sync/plan/intake-counter.ts'
import { requestRun, syncWorkers } from '../../src/sync/sync.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { report } from './report.ts'

// An unchanged night, and what of it is only for the population statement: the statement itself, the SHA-256 of the file, and the digest of
// the keys.
const [, , configFile = '', csv = ''] = process.argv
const config = await loadConfig(configFile, process.env)
await using assembly = await assemble(config, { events: silentEvents(), now: () => new Date() })
const { sync } = assembly
const { db } = sync.store
const { signal } = new AbortController()
const rounds = 5

await report(async (begin) => {
  begin()
  const startedMs = performance.now()
  const { id: runId } = await requestRun(sync, { connection: 'hr', trigger: 'operator' })
  await syncWorkers.run(sync, { runId }, signal)
  const nightSeconds = (performance.now() - startedMs) / 1000
  const run = await getRun(db, runId)
  if (run?.state !== 'unchanged') throw new Error(`the run is ${run?.state}: ${run?.reason}`)
  const file = await exportFileAt(csv)
  const keys = Array.from({ length: run.rows ?? 0 }, (_, at) => Buffer.from(`W${String(at).padStart(7, '0')}`))
  return {
    count: run.rows ?? 0,
    nightSeconds,
    statementSeconds: await longestOf(() => makeAndRollBack(runId)),
    fileSeconds: await longestOf(() => fileDigest(file, signal)),
    keysSeconds: await longestOf(async () => {
      new IntakeCounter().result({ treatedRows: {} as never, treatments: new Map() }, (each) => {
        for (const key of keys) each(key, 0, key.length)
      })
    }),
  }
})

/** The longest of several rounds, in seconds. */
async function longestOf(work: () => Promise<unknown>): Promise<number> {
  let longestMs = 0
  for (let round = 0; round < rounds; round += 1) {
    const startedMs = performance.now()
    await work()
    longestMs = Math.max(longestMs, performance.now() - startedMs)
  }
  return longestMs / 1000
}

async function makeAndRollBack(runId: string): Promise<void> {
  const tx = await db.startTransaction().execute()
  await makeStatement(tx, { runId, connection: 'hr', removes: false, now: new Date() })
  await tx.rollback().execute()
}
