import { readFile } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'

// Runs in the measured process, so it loads nothing that would be counted as the task's work.

/**
 * Measures the work and prints the result, with other results of the work. A task ends with it. The clock starts at the beginning of
 * the work, at a time that the work chooses, or at the start of the process.
 */
export async function report(
  work: (begin: () => void) => Promise<{ readonly count: number }>,
  { from = 'work' }: { readonly from?: 'work' | 'process' } = {},
): Promise<void> {
  let startedMs = from === 'process' ? Number(process.env.BENCH_STARTED_MS) : Date.now()
  let startedCpu = from === 'process' ? { user: 0, system: 0 } : process.cpuUsage()
  const startSeconds = (Date.now() - startedMs) / 1000
  const loop = monitorEventLoopDelay()
  loop.enable()
  const figures = await work(() => {
    startedMs = Date.now()
    startedCpu = process.cpuUsage()
    loop.reset()
  })
  const seconds = (Date.now() - startedMs) / 1000
  const { user, system } = process.cpuUsage(startedCpu)
  loop.disable()
  const measured = {
    ...figures,
    seconds,
    startSeconds,
    cpuSeconds: (user + system) / 1e6,
    peakMiB: await peakMiB(),
    loopP99Ms: loop.percentile(99) / 1e6,
    loopMaxMs: loop.max / 1e6,
  }
  process.stdout.write(`${JSON.stringify(measured)}\n`)
}

/** The peak memory of this process, or of another one of this machine. */
export async function peakMiB(pid: number | 'self' = 'self'): Promise<number> {
  return (await peakKiB(pid)) / 1024
}

async function peakKiB(pid: number | 'self'): Promise<number> {
  // resourceUsage includes the process that started this one.
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const [, peak] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? []
  return peak === undefined ? process.resourceUsage().maxRSS : Number(peak)
}
