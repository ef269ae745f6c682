import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { boundTo } from './cores.ts'
import type { BenchEnvironment } from './place.ts'

const run = promisify(execFile)

/** What a measured process tells: how many it dealt with, how long that took, on the clock and of a processor, and the most memory that the process held. */
export const Measured = z.object({
  count: z.number(),
  seconds: z.number(),
  cpuSeconds: z.number(),
  peakMiB: z.number(),
})
export type Measured = z.infer<typeof Measured>

/**
 * With how long its event loop took to come round, which is 10 ms where nothing holds it up, and how much of the time the process needed
 * to start, as far as that counts.
 */
export const Watched = Measured.extend({ startSeconds: z.number(), loopP99Ms: z.number(), loopMaxMs: z.number() })
export type Watched = z.infer<typeof Watched>

/** What a reference needed, with what it found between two exports. */
export const Reference = Measured.extend({
  found: z.object({ joined: z.number(), changed: z.number(), left: z.number() }),
})
export type Reference = z.infer<typeof Reference>

export type TaskName = 'plan' | 'deliver' | 'bare'

/** Where a Node that is measured keeps its compiled code, as the command does in the home of its account. */
export const compiledFolder = join(tmpdir(), 'rollcall-bench-compiled')
const tasksFolder = fileURLToPath(new URL('.', import.meta.url))

/** Runs one task in a process of its own, so that its memory is its own. */
export async function measure(task: TaskName, { config, env, cores }: BenchEnvironment): Promise<Watched> {
  const args = [`${tasksFolder}task-${task}.ts`, config]
  const command = boundTo(cores?.ours ?? null, process.execPath, args)
  return Watched.parse(await start(command, env))
}

/** Runs the Python script on two exports, as the measure of a plan. */
export async function measurePython(previous: string, current: string): Promise<Reference> {
  return Reference.parse(await start(['python3', [`${tasksFolder}reference_plan.py`, previous, current]]))
}

/** Has DuckDB join two exports, as another measure of a plan. */
export async function measureDuckdb(previous: string, current: string): Promise<Reference> {
  return Reference.parse(await start([process.execPath, [`${tasksFolder}task-duckdb.ts`, previous, current]]))
}

/** Tells a process when it was started, and answers what it prints at its end. */
async function start([program, args]: [string, string[]], env: BenchEnvironment['env'] = {}): Promise<unknown> {
  const childEnv = { ...env, NODE_COMPILE_CACHE: compiledFolder, BENCH_STARTED_MS: `${Date.now()}` }
  const { stdout } = await run(program, args, { env: { ...process.env, ...childEnv } })
  return JSON.parse(stdout)
}
