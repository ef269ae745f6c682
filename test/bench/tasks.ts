import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { boundTo } from './cores.ts'
import type { Place } from './place.ts'

const run = promisify(execFile)

/** What a measured process tells: how many it dealt with, how long that took, on the clock and of a processor, and the most memory that the process held. */
export const Measured = z.object({
  count: z.number(),
  seconds: z.number(),
  cpuSeconds: z.number(),
  peakMiB: z.number(),
})
export type Measured = z.infer<typeof Measured>

export type TaskName = 'plan' | 'deliver' | 'bare'

const tasksFolder = fileURLToPath(new URL('.', import.meta.url))

/** Runs one task in a process of its own, so that its memory is its own. */
export async function measure(task: TaskName, { config, env, cores }: Place): Promise<Measured> {
  const script = `${tasksFolder}task-${task}.ts`
  const command = boundTo(cores?.ours ?? null, process.execPath, [script, config])
  const { stdout } = await run(...command, { env: { ...process.env, ...env } })
  return Measured.parse(JSON.parse(stdout))
}

/** Runs the Python script on two exports, as the measure of a plan. */
export async function measureReference(previous: string, current: string): Promise<Measured> {
  const { stdout } = await run('python3', [`${tasksFolder}reference_plan.py`, previous, current])
  const { rows, ...measured } = z.looseObject({ rows: z.number() }).parse(JSON.parse(stdout))
  return Measured.parse({ count: rows, ...measured })
}

/** Times the work, from its beginning or from when it says so, and prints what was measured; the last thing that a task does. */
export async function report(work: (begin: () => void) => Promise<number>): Promise<void> {
  let startedMs = performance.now()
  let startedCpu = process.cpuUsage()
  const count = await work(() => {
    startedMs = performance.now()
    startedCpu = process.cpuUsage()
  })
  const seconds = (performance.now() - startedMs) / 1000
  const { user, system } = process.cpuUsage(startedCpu)
  const cpuSeconds = (user + system) / 1e6
  const measured: Measured = { count, seconds, cpuSeconds, peakMiB: await peakMiB() }
  process.stdout.write(`${JSON.stringify(measured)}\n`)
}

/** The most memory that this process has held, or another one of this machine. */
export async function peakMiB(pid: number | 'self' = 'self'): Promise<number> {
  return (await peakKiB(pid)) / 1024
}

async function peakKiB(pid: number | 'self'): Promise<number> {
  // What resourceUsage tells includes the process that started this one.
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const [, peak] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? []
  return peak === undefined ? process.resourceUsage().maxRSS : Number(peak)
}
