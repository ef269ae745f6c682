import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Failure } from '../../errors.ts'

/** Maximum time of one operation on the disk. */
const usualLimitMs = 30_000
const pieceBytes = 64 * 1024

type ByteOptions = {
  readonly limitMs?: number
  readonly openFile?: (file: string) => Promise<FileHandle>
}

/**
 * Reads the bytes of a backup. A network disk whose server is gone answers neither an open nor a read, so each has a time limit. A file
 * that is opened too late is closed in the background.
 */
export async function* backupBytes(
  file: string,
  { limitMs = usualLimitMs, openFile = openRegular }: ByteOptions = {},
): AsyncGenerator<Buffer> {
  const opening = openFile(file)
  try {
    const handle = await answerWithin(limitMs, file, opening)
    for (;;) {
      const read = handle.read(Buffer.allocUnsafe(pieceBytes))
      const { bytesRead, buffer } = await answerWithin(limitMs, file, read)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    opening.then((handle) => handle.close()).catch(() => undefined)
  }
}

/** Opens without waiting, so that a pipe or device without a writer cannot block a restore, and follows no symbolic link. */
async function openRegular(file: string): Promise<FileHandle> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw new Failure('source_unreadable', `the backup ${file} is no regular file`)
}

async function answerWithin<T>(limitMs: number, file: string, answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  // An answer that arrived while this thread was busy wins over the timer.
  const timer = setTimeout(() => setImmediate(() => late.reject(silentFailure(file, limitMs))), limitMs)
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function silentFailure(file: string, limitMs: number): Failure {
  const problem = `the disk of the backup ${file} has not answered for ${limitMs / 1000} s`
  return new Failure('source_unreadable', `${problem}: check it, or copy the backup to a disk of this machine`)
}
