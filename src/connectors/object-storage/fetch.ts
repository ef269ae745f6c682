import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { Failure } from '../../errors.ts'
import { exportFileAt } from '../file/export-file.ts'
import { unreadable, writingTo } from '../file/failures.ts'
import { type LocalCopy, openSpooled, writeWhole } from '../remote/spool.ts'
import type { ObjectFile } from './choice.ts'
import type { ObjectStore } from './store.ts'

const maxTextBytes = 64 * 1024

type DownloadOptions = {
  readonly spoolDir: string
}

/**
 * Fetches the object into `spoolDir`, and continues an earlier attempt at the same state of it. The result has the name and the time of
 * the object. Refuses an object that is replaced meanwhile.
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

/** Appends what the part lacks. Fails unless it then has exactly the size that the listing states. */
async function fetchRest(
  store: ObjectStore,
  { object, name, bytes }: ObjectFile,
  { local, spoolDir }: LocalPart,
): Promise<void> {
  const { size } = await local.stat()
  let position = size <= bytes ? size : 0
  if (position < size) await writingTo(spoolDir, () => local.truncate(position))
  if (position < bytes) {
    for await (const chunk of store.read(object, position)) {
      if (position + chunk.length > bytes) throw tooLong(name, store.server, bytes)
      await writingTo(spoolDir, () => writeWhole(local, chunk, position))
      position += chunk.length
    }
  }
  if (position !== bytes) throw cutShort(name, store.server, { bytes, position })
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
