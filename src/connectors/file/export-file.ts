import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { basename } from 'node:path'
import { errorCode, type Failure } from '../../errors.ts'
import { cannotRead, missingFile, symbolicLink, unreadable } from './failures.ts'

const chunkBytes = 128 * 1024

/** A file in the state in which it was found. Reading it later fails if the file has changed. */
export type ExportFile = {
  readonly path: string
  /** Its name in messages and origins. */
  readonly name: string
  readonly bytes: number
  readonly modifiedAtMs: number
  /** Identifies this file in this state. */
  readonly version: string
}

/** The file at `path` as it is now. It must be a regular file that is not empty, and no symbolic link. */
export async function exportFileAt(path: string, name = basename(path)): Promise<ExportFile> {
  const stats = await findStats(path)
  if (!stats) throw missingFile(path)
  const file = toExportFile(path, stats, name)
  checkRegular(file, stats)
  return file
}

/**
 * The bytes of the file from start to end; the next ones are read while these are used. Ends normally only if all of them were read and the
 * file did not change.
 */
export async function* readBytes(file: ExportFile, signal: AbortSignal): AsyncGenerator<Buffer> {
  await using handle = await openUnchanged(file)
  const read = () => {
    const reading = handle.read({ buffer: Buffer.allocUnsafe(chunkBytes) })
    // What it fails with shows where it is waited for. Closing the file waits for it if nobody does.
    reading.catch(() => {})
    return reading
  }
  let totalBytes = 0
  let next = read()
  for (;;) {
    signal.throwIfAborted()
    const { bytesRead, buffer } = await next.catch((error: unknown) => Promise.reject(cannotRead(file.path, error)))
    if (bytesRead === 0) break
    totalBytes += bytesRead
    next = read()
    yield buffer.subarray(0, bytesRead)
  }
  checkUnchanged(file, await handle.stat({ bigint: true }))
  if (totalBytes !== file.bytes) throw changed(file)
}

/** Opens a file for reading, without waiting and without following links: a FIFO or a link may have been put in its place. */
export async function openWithoutWaiting(path: string): Promise<FileHandle> {
  try {
    // Without O_NONBLOCK, opening a FIFO would wait until another process writes to it.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch (error) {
    // This is the answer for a link at the end of the path.
    if (errorCode(error) === 'ELOOP') throw symbolicLink(path)
    throw cannotRead(path, error)
  }
}

/** The stats of what stands at `path`; undefined if there is nothing. Links are not followed. */
export async function findStats(path: string): Promise<BigIntStats | undefined> {
  try {
    return await lstat(path, { bigint: true })
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw cannotRead(path, error)
  }
}

export function toExportFile(path: string, stats: BigIntStats, name = basename(path)): ExportFile {
  return {
    path,
    name,
    bytes: Number(stats.size),
    modifiedAtMs: Number(stats.mtimeNs / 1_000_000n),
    version: stateOf(stats),
  }
}

/** Refuses a file that is not regular or that is empty. */
export function checkRegular({ path, name }: ExportFile, stats: BigIntStats): void {
  if (stats.isSymbolicLink()) throw symbolicLink(path)
  if (stats.isDirectory()) throw unreadable(`${path} is a folder`, 'name a file in it, or a pattern such as *.csv')
  if (!stats.isFile()) throw unreadable(`${path} is no regular file`, 'write the export to a file first')
  if (stats.size === 0n)
    throw unreadable(`${name} is empty (0 bytes)`, 'check the export; an empty file says nothing about anybody')
}

async function openUnchanged(file: ExportFile): Promise<FileHandle> {
  const handle = await openWithoutWaiting(file.path)
  try {
    checkUnchanged(file, await handle.stat({ bigint: true }))
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

function stateOf({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs].join(':')
}

function checkUnchanged(file: ExportFile, stats: BigIntStats): void {
  if (stateOf(stats) !== file.version) throw changed(file)
}

function changed({ name }: ExportFile): Failure {
  return unreadable(
    `${name} changed while it was read`,
    'write an export under another name and rename it when it is complete',
  )
}
