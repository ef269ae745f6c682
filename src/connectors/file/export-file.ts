import { createHash } from 'node:crypto'
import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { basename } from 'node:path'
import { errorCode, type Failure } from '../../errors.ts'
import {
  cannotRead,
  checkNotEmpty,
  checkRegularFile,
  type FileKind,
  missingFile,
  symbolicLink,
  unreadable,
} from './failures.ts'

const chunkBytes = 128 * 1024

/** A file and its state when it was found. Reading it later fails if the file has changed since. */
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
 * The bytes of the file from start to end. The next chunk is read while the caller uses this one. Ends normally only if all bytes were
 * read and the file did not change.
 */
export async function* readBytes(file: ExportFile, signal: AbortSignal): AsyncGenerator<Buffer> {
  await using handle = await openUnchanged(file)
  const read = () => {
    const pending = handle.read({ buffer: Buffer.allocUnsafe(chunkBytes) })
    // An error is thrown where the read is awaited. If the caller stops before that, closing the file awaits it.
    pending.catch(() => {})
    return pending
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
  if (totalBytes !== file.bytes) throw changedFailure(file)
}

/** The SHA-256 of the bytes of the file, as `sha256sum` writes it. */
export async function fileDigest(file: ExportFile, signal: AbortSignal): Promise<string> {
  const digest = createHash('sha256')
  for await (const chunk of readBytes(file, signal)) digest.update(chunk)
  return digest.digest('hex')
}

/** Opens a file for reading without waiting and without following links: a FIFO or a link may have replaced it. */
export async function openWithoutWaiting(path: string): Promise<FileHandle> {
  try {
    // Without O_NONBLOCK, opening a FIFO would wait until another process writes to it.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch (error) {
    // O_NOFOLLOW reports a link at the end of the path in this way.
    if (errorCode(error) === 'ELOOP') throw symbolicLink(path)
    throw cannotRead(path, error)
  }
}

/** The stats of the file or folder at `path`; undefined if there is none. Links are not followed. */
export async function findStats(path: string): Promise<BigIntStats | undefined> {
  try {
    return await lstat(path, { bigint: true })
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw cannotRead(path, error)
  }
}

/** The export file at `path` with these stats. */
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
export function checkRegular({ path, name, bytes }: ExportFile, stats: BigIntStats): void {
  checkRegularFile(path, kindOf(stats))
  checkNotEmpty(name, bytes)
}

function kindOf(stats: BigIntStats): FileKind {
  if (stats.isSymbolicLink()) return 'link'
  if (stats.isDirectory()) return 'folder'
  return stats.isFile() ? 'file' : 'other'
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
  if (stateOf(stats) !== file.version) throw changedFailure(file)
}

function changedFailure({ name }: ExportFile): Failure {
  return unreadable(
    `${name} changed while it was read`,
    'write an export under another name and rename it when it is complete',
  )
}
