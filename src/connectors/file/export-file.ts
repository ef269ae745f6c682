import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { basename } from 'node:path'
import { errorCode, type Failure } from '../../errors.ts'
import { cannotRead, missing, symbolicLink, unreadable } from './failures.ts'

const chunkBytes = 128 * 1024

/** A file as it was when it was found; reading it later refuses any other state. */
export type ExportFile = {
  readonly path: string
  /** What messages and origins call it. */
  readonly name: string
  readonly bytes: number
  readonly modifiedAtMs: number
  /** This very file in this very state. */
  readonly version: string
}

/** The file at `path` as it is now: a regular one that holds something, and no symbolic link. */
export async function exportFileAt(path: string, name = basename(path)): Promise<ExportFile> {
  const stats = await statsOf(path)
  if (!stats) throw missing(path)
  const file = toExportFile(path, stats, name)
  checkRegular(file, stats)
  return file
}

/** The file's bytes from start to end. Ends normally only when all of them were read and the file is still the one that was found. */
export async function* readBytes(file: ExportFile, signal: AbortSignal): AsyncGenerator<Buffer> {
  await using handle = await openUnchanged(file)
  let totalBytes = 0
  for (;;) {
    signal.throwIfAborted()
    const { bytesRead, buffer } = await handle
      .read({ buffer: Buffer.allocUnsafe(chunkBytes) })
      .catch((error: unknown) => Promise.reject(cannotRead(file.path, error)))
    if (bytesRead === 0) break
    totalBytes += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
  checkUnchanged(file, await handle.stat({ bigint: true }))
  if (totalBytes !== file.bytes) throw changed(file)
}

/** Opens a file for reading; a FIFO or a link that was put in its place holds nobody up. */
export async function openAtOnce(path: string): Promise<FileHandle> {
  try {
    // Without O_NONBLOCK, opening a FIFO would wait until somebody writes to it.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch (error) {
    // What this answers for a link at the end of the path.
    if (errorCode(error) === 'ELOOP') throw symbolicLink(path)
    throw cannotRead(path, error)
  }
}

/** What stands at `path`, links not followed; undefined where nothing does. */
export async function statsOf(path: string): Promise<BigIntStats | undefined> {
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

/** Refuses what is no regular file or holds nothing. */
export function checkRegular({ path, name }: ExportFile, stats: BigIntStats): void {
  if (stats.isSymbolicLink()) throw symbolicLink(path)
  if (stats.isDirectory()) throw unreadable(`${path} is a folder`, 'name a file in it, or a pattern such as *.csv')
  if (!stats.isFile()) throw unreadable(`${path} is no regular file`, 'write the export to a file first')
  if (stats.size === 0n)
    throw unreadable(`${name} is empty (0 bytes)`, 'check the export; an empty file says nothing about anybody')
}

async function openUnchanged(file: ExportFile): Promise<FileHandle> {
  const handle = await openAtOnce(file.path)
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
