import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { open } from 'node:fs/promises'
import { errorCode } from '../errors.ts'

const mebibyte = 1024 * 1024
/** Far more than a secret or a system's root certificates take. */
const defaultMaxBytes = mebibyte
// Otherwise opening a pipe would wait for a writer.
const withoutWaiting = constants.O_RDONLY | constants.O_NONBLOCK

/** Thrown if a file could be opened and must not be read. The message is a clause about the file. */
class UnusableFile extends Error {
  override readonly name = 'UnusableFile'
}

/**
 * The text of a regular file of at most `maxBytes`. Follows links, since secrets are mounted as links. Refuses pipes, devices and larger
 * files before reading.
 */
export async function readRegular(path: string, maxBytes = defaultMaxBytes): Promise<string> {
  await using file = await open(path, withoutWaiting)
  requireRegular(await file.stat(), maxBytes)
  return await file.readFile('utf8')
}

/** Like `readRegular`, synchronously. */
export function readRegularSync(path: string, maxBytes = defaultMaxBytes): string {
  const file = openSync(path, withoutWaiting)
  try {
    requireRegular(fstatSync(file), maxBytes)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Why a file could not be read, to append to "cannot read FILE". `help`: what helps if the system refused it. */
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
