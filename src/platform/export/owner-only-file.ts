import type { FileHandle } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { errorCode, Failure } from '../../errors.ts'
import { replaceFile } from '../../system/replace-file.ts'

const fileErrorCodes: ReadonlySet<string> = new Set([
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

/** Writes a file that only its owner can read, completely or not at all. Returns its size in bytes. */
export async function writeOwnFile(path: string, write: (sink: Writable) => Promise<void>): Promise<number> {
  try {
    return await replaceFile(path, (draft) => writeAll(draft, write))
  } catch (error) {
    throw failureOf(error, path)
  }
}

async function writeAll(draft: FileHandle, write: (sink: Writable) => Promise<void>): Promise<number> {
  const sink = draft.createWriteStream({ flush: true })
  try {
    await write(sink)
    sink.end()
    await finished(sink)
    return sink.bytesWritten
  } finally {
    sink.destroy()
  }
}

function failureOf(error: unknown, path: string): unknown {
  const code = errorCode(error)
  if (code === undefined || !fileErrorCodes.has(code)) return error
  return new Failure('usage', `cannot write ${path} (${code}); name another file`, { cause: error })
}
