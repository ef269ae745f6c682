import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { boundTo } from './cores.ts'
import type { BenchEnvironment } from './place.ts'

const run = promisify(execFile)

/** The result of a measured process: the number of items, the elapsed time, the processor time, and the peak memory of the process. */
export const Measured = z.object({
  count: z.number(),
  seconds: z.number(),
  cpuSeconds: z.number(),
  peakMiB: z.number(),
})
export type Measured = z.infer<typeof Measured>

/**
 * A result with the delay of the event loop, which is 10 ms if nothing blocks it, and the part of the time that the process needed to
 * start, if that is included.
 */
export const Watched = Measured.extend({ startSeconds: z.number(), loopP99Ms: z.number(), loopMaxMs: z.number() })
export type Watched = z.infer<typeof Watched>

/** The result of a reference, with the differences that it found between two exports. */
export const Reference = Measured.extend({
  found: z.object({ joined: z.number(), changed: z.number(), left: z.number() }),
})
export type Reference = z.infer<typeof Reference>

export type TaskName = 'plan' | 'deliver' | 'bare'

/** The folder of compiled code for a measured Node. The command has one in the home of its account. */
export const compiledFolder = join(tmpdir(), 'rollcall-bench-compiled')
const tasksFolder = fileURLToPath(new URL('.', import.meta.url))

/** Runs one task in a separate process, so that its memory is measured alone. */
export async function measure(task: TaskName, { config, env, cores }: BenchEnvironment): Promise<Watched> {
  const args = [`${tasksFolder}task-${task}.ts`, config]
  const command = boundTo(cores?.ours ?? null, process.execPath, args)
  return Watched.parse(await start(command, env))
}

/** Runs an unchanged night in a separate process, with what its population statement costs. */
export async function measureStatedNight({ config, env, csv }: BenchEnvironment): Promise<unknown> {
  return await start([process.execPath, [`${tasksFolder}task-statement.ts`, config, csv]], env)
}

/** Runs the Python script on two exports, as a reference for a plan. */
export async function measurePython(previous: string, current: string): Promise<Reference> {
  return Reference.parse(await start(['python3', [`${tasksFolder}reference_plan.py`, previous, current]]))
}

/** Runs the Python script that sends the differences of an export to a platform, as a reference for a night. */
export async function measurePythonNight(night: {
  readonly export: string
  readonly state: string
  readonly url: string
}): Promise<Measured> {
  return Measured.parse(
    await start(['python3', [`${tasksFolder}reference_night.py`, night.export, night.state, night.url]]),
  )
}

/** Lets DuckDB join two exports, as another reference for a plan. */
export async function measureDuckdb(previous: string, current: string): Promise<Reference> {
  return Reference.parse(await start([process.execPath, [`${tasksFolder}task-duckdb.ts`, previous, current]]))
}

/** Passes a process its start time, and returns what it prints at its end. */
async function start([program, args]: [string, string[]], env: BenchEnvironment['env'] = {}): Promise<unknown> {
  const childEnv = { ...env, NODE_COMPILE_CACHE: compiledFolder, BENCH_STARTED_MS: `${Date.now()}` }
  const { stdout } = await run(program, args, { env: { ...process.env, ...childEnv } })
  return JSON.parse(stdout)
}
