import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { open } from 'node:fs/promises'
import { errorCode } from '../errors.ts'

const mebibyte = 1024 * 1024
/** Far more than a secret or the root certificates of a system take. */
const usualMaxBytes = mebibyte
// Opening a pipe would otherwise wait for somebody who writes into it.
const withoutWaiting = constants.O_RDONLY | constants.O_NONBLOCK

/** What keeps a file that could be opened from being read. The message is a clause about it. */
class UnusableFile extends Error {
  override readonly name = 'UnusableFile'
}

/**
 * The text of a regular file of at most `maxBytes`. Links are followed, since secrets are mounted as links. A pipe that nobody writes
 * into, a device and a file that is too large are refused before anything of them is read.
 */
export async function readRegular(path: string, maxBytes = usualMaxBytes): Promise<string> {
  await using file = await open(path, withoutWaiting)
  requireRegular(await file.stat(), maxBytes)
  return await file.readFile('utf8')
}

/** The same for those who cannot wait. */
export function readRegularSync(path: string, maxBytes = usualMaxBytes): string {
  const file = openSync(path, withoutWaiting)
  try {
    requireRegular(fstatSync(file), maxBytes)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Why such a file could not be read, to stand behind "cannot read FILE". `help`: what helps where the system refused it. */
export function readProblem(error: unknown, help?: string): string {
  if (error instanceof UnusableFile) return `: ${error.message}`
  const code = `(${errorCode(error) ?? 'unreadable'})`
  return help === undefined ? ` ${code}` : ` ${code}: ${help}`
}

function requireRegular(stats: Stats, maxBytes: number): void {
  if (!stats.isFile()) throw new UnusableFile(`it is ${kindOf(stats)}; name a regular file`)
  if (stats.size <= maxBytes) return
  throw new UnusableFile(`it is larger than ${maxBytes / mebibyte} MiB; check that it is the right file`)
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return 'a pipe'
  return stats.isDirectory() ? 'a folder' : 'a device'
}
