import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { Failure } from '../../errors.ts'
import { type ExportFile, exportFileAt } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import { type RemoteFile, toRemoteFile } from './matches.ts'
import type { SftpSession } from './session.ts'
import { openSpooled, writing } from './spool.ts'
import type { RemoteStats } from './stats.ts'

// Every server sends at least this much at once.
const blockBytes = 30 * 1024
const blocksAhead = 32
const overlapBytes = 64 * 1024
const textLimitBytes = 64 * 1024
const orphanMarginMs = 60_000

type RemoteHandle = { readonly session: SftpSession; readonly handle: Buffer; readonly file: RemoteFile }

/**
 * Fetches the file into `spoolDir`. An earlier attempt at the same state of the file is continued. The result has the name and the
 * modification time of the remote file. A file that changes meanwhile is refused.
 */
export async function download(
  session: SftpSession,
  file: RemoteFile,
  {
    spoolDir,
    place,
    idleTimeoutMs,
  }: { readonly spoolDir: string; readonly place: string; readonly idleTimeoutMs: number },
): Promise<ExportFile> {
  const identity = createHash('sha256')
    .update(JSON.stringify([place, file.path, file.version]))
    .digest('hex')
  const spooled = await openSpooled(spoolDir, { identity, orphanedAfterMs: idleTimeoutMs + orphanMarginMs })
  const checkUnchanged = (stats: RemoteStats | undefined) => {
    const same = stats && toRemoteFile('.', { ...stats, name: file.name }).version === file.version
    if (!same) throw changed(file, session.server)
  }
  try {
    const handle = await session.open(file.path)
    checkUnchanged(await session.statsOfOpen(handle, file.path))
    await fetchRest({ session, handle, file }, spooled.handle, spoolDir)
    checkUnchanged(await session.statsOfOpen(handle, file.path))
    checkUnchanged(await session.stats(file.path))
    await checkEnd({ session, handle, file })
    await session.close(handle)
    const path = await writing(spoolDir, () => spooled.complete())
    return { ...(await exportFileAt(path, file.name)), modifiedAtMs: file.modifiedAtMs }
  } catch (error) {
    // The part is kept only if another attempt can help. An error here matters less than the one that led here.
    const resumable = !(error instanceof Failure) || error.retry
    await (resumable ? spooled.keep() : spooled.discard()).catch(() => {})
    throw error
  }
}

/** The text of a small file, such as a side file. */
export async function readText(session: SftpSession, path: string): Promise<string> {
  const handle = await session.open(path)
  const text = Buffer.alloc(textLimitBytes + 1)
  for (let position = 0; position <= textLimitBytes; ) {
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

/** The first bytes of a file, at most so many. */
export async function readStart(session: SftpSession, path: string, mostBytes: number): Promise<Buffer> {
  const handle = await session.open(path)
  const pieces: Buffer[] = []
  for (let position = 0; position < mostBytes; ) {
    const into = Buffer.alloc(Math.min(blockBytes, mostBytes - position))
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
  if (position === 0) await writing(spoolDir, () => local.truncate(0))
  for await (const block of blocks(remote, { from: position, to: remote.file.bytes })) {
    await writing(spoolDir, () => writeWhole(local, { block, position }))
    position += block.length
  }
}

/** Refuses a file that goes on behind the size that the server states: the part up to there would pass for the whole. */
async function checkEnd({ session, handle, file }: RemoteHandle): Promise<void> {
  const further = await session.read(handle, { path: file.path, position: file.bytes, into: Buffer.alloc(1) })
  if (further === 0) return
  const what = `${file.name} on ${session.server} is longer than the ${file.bytes} bytes that the server states`
  throw unreadable(
    what,
    'it may still be written, or the listing may be an old one: have the server looked at if it stays',
  )
}

/** Where to continue an earlier attempt: at its end, if its last bytes are still what the server has there, and otherwise at the start. */
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

/** The bytes of the file in order. Several blocks are requested at once, so that a distant server costs few round trips. */
async function* blocks(
  remote: RemoteHandle,
  { from, to }: { readonly from: number; readonly to: number },
): AsyncGenerator<Buffer> {
  const ahead: Promise<Buffer>[] = []
  let asked = from
  for (;;) {
    while (asked < to && ahead.length < blocksAhead) {
      const length = Math.min(blockBytes, to - asked)
      const block = wholeBlock(remote, { position: asked, length })
      // If an earlier block fails, no one waits for this one.
      block.catch(() => {})
      ahead.push(block)
      asked += length
    }
    const block = ahead.shift()
    if (!block) return
    yield await remote.session.progress(block, `a block of ${blockBytes / 1024} KiB`)
  }
}

async function wholeBlock(
  { session, handle, file }: RemoteHandle,
  { position, length }: { readonly position: number; readonly length: number },
): Promise<Buffer> {
  const block = Buffer.allocUnsafe(length)
  for (let got = 0; got < length; ) {
    const bytesRead = await session.read(handle, {
      path: file.path,
      position: position + got,
      into: block.subarray(got),
    })
    if (bytesRead === 0) throw changed(file, session.server)
    got += bytesRead
  }
  return block
}

async function writeWhole(
  local: FileHandle,
  { block, position }: { readonly block: Buffer; readonly position: number },
): Promise<void> {
  for (let written = 0; written < block.length; ) {
    const { bytesWritten } = await local.write(block, written, block.length - written, position + written)
    written += bytesWritten
  }
}

function changed({ name }: RemoteFile, server: string) {
  const what = `${name} on ${server} changed while it was fetched`
  return unreadable(what, 'upload an export under another name and rename it when it is complete')
}
