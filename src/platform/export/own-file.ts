import { open, rename, rm } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { Failure } from '../../errors.ts'

const fileTroubles: ReadonlySet<unknown> = new Set([
  'EACCES',
  'EISDIR',
  'ENAMETOOLONG',
  'ENOENT',
  'ENOSPC',
  'ENOTDIR',
  'ENOTEMPTY',
  'EPERM',
  'EROFS',
])

/** Writes a file that only its owner can read, aside and renamed, so that no reader sees half of it. Returns its size in bytes. */
export async function writeOwnFile(path: string, write: (sink: Writable) => Promise<void>): Promise<number> {
  const draft = `${path}.${process.pid}`
  try {
    await rm(draft, { force: true })
    const file = await open(draft, 'wx', 0o600)
    const sink = file.createWriteStream({ flush: true })
    await writeAll(sink, write)
    await rename(draft, path)
    return sink.bytesWritten
  } catch (error) {
    await rm(draft, { force: true })
    throw failureOf(error, path)
  }
}

/** Closes the file in any case. */
async function writeAll(sink: Writable, write: (sink: Writable) => Promise<void>): Promise<void> {
  try {
    await write(sink)
    sink.end()
    await finished(sink)
  } finally {
    sink.destroy()
  }
}

function failureOf(error: unknown, path: string): unknown {
  if (!(error instanceof Error && 'code' in error && fileTroubles.has(error.code))) return error
  return new Failure('usage', `cannot write ${path} (${error.code}); name another file`, { cause: error })
}
