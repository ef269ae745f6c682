import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { Failure } from '../../errors.ts'
import { exportFileAt } from '../file/export-file.ts'
import { unreadable, writingTo } from '../file/failures.ts'
import { type LocalCopy, openSpooled, writeWhole } from '../remote/spool.ts'
import type { ObjectFile } from './choice.ts'
import type { ObjectStore } from './store.ts'

const overlapBytes = 64 * 1024
const maxTextBytes = 64 * 1024

type DownloadOptions = {
  readonly spoolDir: string
}

/**
 * Fetches the object into `spoolDir`, and continues an earlier attempt at the same version. The result has the name and the time of the
 * object. Refuses an object that is replaced during the download.
 */
export async function download(
  store: ObjectStore,
  file: ObjectFile,
  { spoolDir }: DownloadOptions,
): Promise<LocalCopy> {
  const identity = createHash('sha256')
    .update(JSON.stringify([store.id, file.version]))
    .digest('hex')
  const spooled = await openSpooled(spoolDir, identity)
  try {
    await fetchRest(store, file, { local: spooled.handle, spoolDir })
    const { path, remove } = await writingTo(spoolDir, () => spooled.complete())
    return { ...(await exportFileAt(path, file.name)), modifiedAtMs: file.modifiedAtMs, remove }
  } catch (error) {
    // The part is kept only if another attempt can help. An error here matters less than the one above.
    const canResume = !(error instanceof Failure) || error.retry
    await (canResume ? spooled.keep() : spooled.discard()).catch(() => {})
    throw error
  }
}

/** The text of an object of at most 64 KiB, such as a side file. */
export async function readText(store: ObjectStore, { object, name, bytes }: ObjectFile): Promise<string> {
  if (bytes > maxTextBytes)
    throw unreadable(`${name} in ${store.server} is longer than 64 KiB`, 'a side file holds one sum or one number')
  const chunks = await Array.fromAsync(store.read(object, 0))
  return Buffer.concat(chunks).toString('utf8')
}

/** The first bytes of an object, at most `maxBytes`. */
export async function readStart(store: ObjectStore, { object }: ObjectFile, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let total = 0
  for await (const piece of store.read(object, 0)) {
    pieces.push(piece)
    total += piece.length
    if (total >= maxBytes) break
  }
  return Buffer.concat(pieces).subarray(0, maxBytes)
}

type LocalPart = { readonly local: FileHandle; readonly spoolDir: string }

/** Fetches what the part lacks. If the object has other bytes at the end of the part, the whole object is fetched again. */
async function fetchRest(store: ObjectStore, file: ObjectFile, part: LocalPart): Promise<void> {
  const { size } = await part.local.stat()
  const kept = size > file.bytes ? 0 : size
  const from = Math.max(0, kept - overlapBytes)
  const known = await readBytes(part.local, { from, to: kept })
  if (await fetchFrom(store, file, { ...part, from, known })) return
  await writingTo(part.spoolDir, () => part.local.truncate(0))
  await fetchFrom(store, file, { ...part, from: 0, known: Buffer.alloc(0) })
}

type PartEnd = LocalPart & {
  readonly from: number
  /** What the part has from there on. */
  readonly known: Buffer
}

/**
 * Fetches the bytes from `from` on. Returns false if those that are known differ. Fails unless the part then has exactly the size that the
 * listing states.
 */
async function fetchFrom(
  store: ObjectStore,
  { object, name, bytes }: ObjectFile,
  { local, spoolDir, from, known }: PartEnd,
): Promise<boolean> {
  if (known.length === 0) await writingTo(spoolDir, () => local.truncate(from))
  let position = from
  for await (const chunk of store.read(object, from)) {
    if (position + chunk.length > bytes) throw tooLong(name, store.server, bytes)
    const repeated = known.subarray(position - from, position - from + chunk.length)
    if (!repeated.equals(chunk.subarray(0, repeated.length))) return false
    await writingTo(spoolDir, () => writeWhole(local, chunk, position))
    position += chunk.length
  }
  if (position !== bytes) throw cutShort(name, store.server, { bytes, position })
  return true
}

type ByteRange = { readonly from: number; readonly to: number }

async function readBytes(local: FileHandle, { from, to }: ByteRange): Promise<Buffer> {
  const { buffer, bytesRead } = await local.read(Buffer.alloc(to - from), 0, to - from, from)
  return buffer.subarray(0, bytesRead)
}

function tooLong(name: string, server: string, bytes: number) {
  return unreadable(
    `${name} in ${server} is longer than the ${bytes} bytes that the listing states`,
    'check what stands between this machine and the provider',
  )
}

type CutDownload = { readonly bytes: number; readonly position: number }

function cutShort(name: string, server: string, { bytes, position }: CutDownload) {
  return unreadable(
    `${name} in ${server} ended after ${position} bytes, and the listing states ${bytes}`,
    'check what stands between this machine and the provider',
  )
}
