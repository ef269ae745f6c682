import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { Failure } from '../../errors.ts'
import { exportFileAt } from '../file/export-file.ts'
import { unreadable, writingTo } from '../file/failures.ts'
import { type LocalCopy, openSpooled, writeWhole } from '../remote/spool.ts'
import { type RemoteFile, toRemoteFile } from './matches.ts'
import type { SftpSession } from './session.ts'
import type { RemoteStats } from './stats.ts'

// Every server takes requests of this size. Its responses may be shorter.
const blockBytes = 30 * 1024
const maxOpenBlocks = 32
const overlapBytes = 64 * 1024
const maxTextBytes = 64 * 1024

type RemoteHandle = { readonly session: SftpSession; readonly handle: Buffer; readonly file: RemoteFile }

type DownloadOptions = {
  readonly spoolDir: string
  /** Identifies the server and the account, so that their files are not confused with those of others. */
  readonly serverId: string
}

/**
 * Fetches the file into `spoolDir`, and continues an earlier attempt at the same state of the file. The result has the name and the
 * modification time of the remote file. Refuses a file that changes meanwhile.
 */
export async function download(
  session: SftpSession,
  file: RemoteFile,
  { spoolDir, serverId }: DownloadOptions,
): Promise<LocalCopy> {
  const identity = createHash('sha256')
    .update(JSON.stringify([serverId, file.path, file.version]))
    .digest('hex')
  const spooled = await openSpooled(spoolDir, identity)
  const checkUnchanged = (stats: RemoteStats | undefined) => {
    const isSame = stats && toRemoteFile('.', { ...stats, name: file.name }).version === file.version
    if (!isSame) throw changedFailure(file, session.server)
  }
  try {
    const handle = await session.open(file.path)
    checkUnchanged(await session.statsOfOpen(handle, file.path))
    await fetchRest({ session, handle, file }, spooled.handle, spoolDir)
    checkUnchanged(await session.statsOfOpen(handle, file.path))
    checkUnchanged(await session.stats(file.path))
    await checkEnd({ session, handle, file })
    await session.close(handle)
    const { path, remove } = await writingTo(spoolDir, () => spooled.complete())
    return { ...(await exportFileAt(path, file.name)), modifiedAtMs: file.modifiedAtMs, remove }
  } catch (error) {
    // The part is kept only if another attempt can help. An error here matters less than the one above.
    const canResume = !(error instanceof Failure) || error.retry
    await (canResume ? spooled.keep() : spooled.discard()).catch(() => {})
    throw error
  }
}

/** The text of a file of at most 64 KiB, such as a side file. */
export async function readText(session: SftpSession, path: string): Promise<string> {
  const handle = await session.open(path)
  const text = Buffer.alloc(maxTextBytes + 1)
  for (let position = 0; position <= maxTextBytes; ) {
    const into = text.subarray(position, position + blockBytes)
    const bytesRead = await session.read(handle, { path, position, into })
    if (bytesRead === 0) {
      await session.close(handle)
      return text.toString('utf8', 0, position)
    }
    position += bytesRead
  }
  throw unreadable(`${path} on ${session.server} is longer than 64 KiB`, 'a side file holds one sum or one number')
}

/** The first bytes of a file, at most `maxBytes`. */
export async function readStart(session: SftpSession, path: string, maxBytes: number): Promise<Buffer> {
  const handle = await session.open(path)
  const pieces: Buffer[] = []
  for (let position = 0; position < maxBytes; ) {
    const into = Buffer.alloc(Math.min(blockBytes, maxBytes - position))
    const bytesRead = await session.read(handle, { path, position, into })
    if (bytesRead === 0) break
    pieces.push(into.subarray(0, bytesRead))
    position += bytesRead
  }
  await session.close(handle)
  return Buffer.concat(pieces)
}

async function fetchRest(remote: RemoteHandle, local: FileHandle, spoolDir: string): Promise<void> {
  let position = await resumePoint(remote, local)
  if (position === 0) await writingTo(spoolDir, () => local.truncate(0))
  for await (const block of blocks(remote, { from: position, to: remote.file.bytes })) {
    await writingTo(spoolDir, () => writeWhole(local, block, position))
    position += block.length
  }
}

/** Refuses a file that is longer than the server states: its beginning would pass for the whole. */
async function checkEnd({ session, handle, file }: RemoteHandle): Promise<void> {
  const extraBytes = await session.read(handle, { path: file.path, position: file.bytes, into: Buffer.alloc(1) })
  if (extraBytes === 0) return
  const problem = `${file.name} on ${session.server} is longer than the ${file.bytes} bytes that the server states`
  throw unreadable(
    problem,
    'it may still be written, or the listing may be an old one: have the server checked if this happens again',
  )
}

/** Where to continue an earlier attempt: at its end if its last bytes equal those on the server, otherwise at the start. */
async function resumePoint(remote: RemoteHandle, local: FileHandle): Promise<number> {
  const { size } = await local.stat()
  if (size > remote.file.bytes) return 0
  let position = Math.max(0, size - overlapBytes)
  for await (const block of blocks(remote, { from: position, to: size })) {
    const { buffer, bytesRead } = await local.read(Buffer.alloc(block.length), 0, block.length, position)
    if (!block.equals(buffer.subarray(0, bytesRead))) return 0
    position += block.length
  }
  return size
}

type ByteRange = { readonly from: number; readonly to: number }

/** The bytes of the file in order. Several blocks are requested at once, so that a distant server costs few round trips. */
async function* blocks(remote: RemoteHandle, { from, to }: ByteRange): AsyncGenerator<Buffer> {
  const ahead: Promise<Buffer>[] = []
  let requestedUntil = from
  for (;;) {
    while (requestedUntil < to && ahead.length < maxOpenBlocks) {
      const length = Math.min(blockBytes, to - requestedUntil)
      const block = readBlock(remote, { position: requestedUntil, length })
      // If an earlier block fails, nobody awaits this one.
      block.catch(() => {})
      ahead.push(block)
      requestedUntil += length
    }
    const block = ahead.shift()
    if (!block) return
    yield await remote.session.progress(block, `a block of ${blockBytes / 1024} KiB`)
  }
}

type BlockPosition = { readonly position: number; readonly length: number }

async function readBlock(
  { session, handle, file }: RemoteHandle,
  { position, length }: BlockPosition,
): Promise<Buffer> {
  const block = Buffer.allocUnsafe(length)
  for (let filled = 0; filled < length; ) {
    const bytesRead = await session.read(handle, {
      path: file.path,
      position: position + filled,
      into: block.subarray(filled),
    })
    if (bytesRead === 0) throw changedFailure(file, session.server)
    filled += bytesRead
  }
  return block
}

function changedFailure({ name }: RemoteFile, server: string) {
  const problem = `${name} on ${server} changed while it was fetched`
  return unreadable(problem, 'upload an export under another name and rename it when it is complete')
}
