import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Failure } from '../../errors.ts'

/** How long a disk may take for one answer. */
const usualLimitMs = 30_000
const pieceBytes = 64 * 1024

type ByteOptions = {
  readonly limitMs?: number
  readonly openFile?: (file: string) => Promise<FileHandle>
}

/**
 * The bytes of a backup. A network disk whose server is gone answers neither an open nor a read, so each of them has a time limit. A file
 * that is opened too late is closed then, and nobody waits for it.
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

/** Opens without waiting, so that no pipe or device without a writer holds up whoever restores, and follows no link to one. */
async function openRegular(file: string): Promise<FileHandle> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw new Failure('source_unreadable', `the backup ${file} is no regular file`)
}

async function answerWithin<T>(limitMs: number, file: string, answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  // An answer that came while this thread was busy is taken first.
  const timer = setTimeout(() => setImmediate(() => late.reject(silent(file, limitMs))), limitMs)
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function silent(file: string, limitMs: number): Failure {
  const what = `the disk of the backup ${file} has not answered for ${limitMs / 1000} s`
  return new Failure('source_unreadable', `${what}: check it, or copy the backup to a disk of this machine`)
}
