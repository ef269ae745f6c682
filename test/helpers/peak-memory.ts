import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Ended, rollcall } from './cli.ts'
import { temporaryFolder } from './sources/folders.ts'

const recordPeak =
  'import { appendFileSync } from "node:fs";' +
  'process.on("exit", () => appendFileSync(process.env.PEAK_FILE, process.resourceUsage().maxRSS + "\\n"))'

/** Runs a command to its end and returns its peak memory. */
export async function measured(args: readonly string[]): Promise<Ended & { readonly peakMebibytes: number }> {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'peak')
  const preload = `--import=data:text/javascript,${encodeURIComponent(recordPeak)}`
  const ended = await rollcall(args, { NODE_OPTIONS: preload, PEAK_FILE: file })
  // The threads of a process say the same as the process.
  const kibibytes = (await readFile(file, 'utf8')).trim().split('\n').map(Number)
  return { ...ended, peakMebibytes: Math.max(...kibibytes) / 1024 }
}
