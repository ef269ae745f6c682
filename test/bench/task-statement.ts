import { utimes } from 'node:fs/promises'
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

await report(async () => {
  const { runId, rows } = await night()
  const nightSeconds = await medianOf(night)
  const file = await exportFileAt(csv)
  const keys = Array.from({ length: rows }, (_, at) => Buffer.from(`W${String(at).padStart(7, '0')}`))
  return {
    count: rows,
    nightSeconds,
    statementSeconds: await medianOf(() => makeAndRollBack(runId)),
    fileSeconds: await medianOf(() => fileDigest(file, signal)),
    keysSeconds: await medianOf(async () => {
      new IntakeCounter().result({ treatedRows: {} as never, treatments: new Map() }, (each) => {
        for (const key of keys) each(key, 0, key.length)
      })
    }),
  }
})

/** A night with a file that is newer and holds the same. */
async function night(): Promise<{ readonly runId: string; readonly rows: number }> {
  await utimes(csv, new Date(), new Date())
  const { id: runId } = await requestRun(sync, { connection: 'hr', trigger: 'operator' })
  await syncWorkers.run(sync, { runId }, signal)
  const run = await getRun(db, runId)
  if (run?.state !== 'unchanged') throw new Error(`the run is ${run?.state}: ${run?.reason}`)
  return { runId, rows: run.rows ?? 0 }
}

/** The middle of several rounds, in seconds: a daemon has done all of it before. */
async function medianOf(work: () => Promise<unknown>): Promise<number> {
  const all: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const startedMs = performance.now()
    await work()
    all.push((performance.now() - startedMs) / 1000)
  }
  return all.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0
}

async function makeAndRollBack(runId: string): Promise<void> {
  const tx = await db.startTransaction().execute()
  await makeStatement(tx, { runId, connection: 'hr', removes: false, separatesAbsent: true, now: new Date() })
  await tx.rollback().execute()
}
