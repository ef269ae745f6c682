import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { errorCode } from '../../errors.ts'
import { takeFileLock, takeNewFileLock } from '../../system/file-lock.ts'
import type { ExportFile } from '../file/export-file.ts'
import { writingTo } from '../file/failures.ts'
import { forEachFolder } from '../file/folders.ts'

const dayMs = 24 * 60 * 60 * 1000
const lockEnding = '.lock'
const partName = /^[0-9a-f]{64}\.part$/
/** A download and the reading of its copy have a lock, which ends with their process. */
const ownName = /^([0-9a-f]{64}\.[0-9a-f-]{36})\.(?:fetching|export|lock)$/

/** An export that was fetched to this machine, for one reading. */
export type LocalCopy = ExportFile & { readonly remove: () => Promise<void> }

/** A complete download. `remove` deletes it. */
type CompleteDownload = Pick<LocalCopy, 'path' | 'remove'>

/**
 * The file that a download is written to: the part of an earlier attempt at the same remote state, or an empty file. A part is claimed
 * by renaming it, so that only one of two readers continues it.
 */
type SpooledDownload = {
  readonly path: string
  readonly handle: FileHandle
  /** Stores the part for a later attempt. */
  readonly keep: () => Promise<void>
  readonly discard: () => Promise<void>
  /** Gives the complete file its final name. */
  readonly complete: () => Promise<CompleteDownload>
}

/** Opens the file for a download, and removes what no download continues. `identity`: the digest of the remote file and its state. */
export async function openSpooled(spoolDir: string, identity: string): Promise<SpooledDownload> {
  return writingTo(spoolDir, async () => {
    await mkdir(spoolDir, { recursive: true, mode: 0o700 })
    await releaseAbandoned(spoolDir)
    await removeParts(spoolDir, (name, ageMs) => ageMs > dayMs || !name.startsWith(identity))
    await using opening = new AsyncDisposableStack()
    const newLock = () => join(spoolDir, `${identity}.${randomUUID()}${lockEnding}`)
    const lock = opening.use(takeNewFileLock(newLock))
    opening.defer(() => rm(lock.path, { force: true }))
    const stem = lock.path.slice(0, -lockEnding.length)
    const path = `${stem}.fetching`
    await claim(partOf(spoolDir, identity), path)
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
    opening.defer(() => handle.close())
    const opened = opening.move()
    return spooledAt({ path, handle, part: partOf(spoolDir, identity), whole: `${stem}.export` }, opened)
  })
}

/**
 * Makes what processes left that died, in the folders of all connections below `folder`, ready for the next download, and removes what
 * none would continue.
 */
export async function releaseAbandonedDownloads(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  })
  await forEachFolder(folder, entries, async (own) => {
    await releaseAbandoned(own)
    await removeParts(own, (_name, ageMs) => ageMs > dayMs)
  })
}

/** Writes all of `block` at `position`. One call to the system may write less. */
export async function writeWhole(local: FileHandle, block: Buffer, position: number): Promise<void> {
  for (let written = 0; written < block.length; ) {
    const { bytesWritten } = await local.write(block, written, block.length - written, position + written)
    written += bytesWritten
  }
}

type SpooledFile = {
  readonly path: string
  readonly handle: FileHandle
  readonly part: string
  readonly whole: string
}

/** `opened`: closes the handle, removes the lock and releases it. */
function spooledAt({ path, handle, part, whole }: SpooledFile, opened: AsyncDisposableStack): SpooledDownload {
  return {
    path,
    handle,
    keep: async () => {
      await using _released = opened
      await handle.sync()
      await rename(path, part)
    },
    discard: async () => {
      await using _released = opened
      await rm(path, { force: true })
    },
    complete: async () => {
      await handle.close()
      await rename(path, whole)
      const remove = async () => {
        await using _released = opened
        await rm(whole, { force: true })
      }
      return { path: whole, remove }
    },
  }
}

/** Removes the copies of processes that died, and makes parts of their downloads. */
async function releaseAbandoned(spoolDir: string): Promise<void> {
  const stems = new Set((await readdir(spoolDir)).flatMap((name) => ownName.exec(name)?.[1] ?? []))
  for (const name of stems) {
    const stem = join(spoolDir, name)
    using lock = takeFileLock(`${stem}${lockEnding}`, { timeoutMs: 0 })
    if (lock === null) continue
    await rm(`${stem}.export`, { force: true })
    const ageMs = await findAgeMs(`${stem}.fetching`)
    // What was written before the machine started may have been lost in part, because a running download is not synced.
    if (ageMs !== undefined && ageMs > uptime() * 1000) await rm(`${stem}.fetching`, { force: true })
    else if (ageMs !== undefined) {
      // A part has its name only once its bytes are on the disk: a machine that loses power later must not leave one with holes.
      await syncFile(`${stem}.fetching`)
      await claim(`${stem}.fetching`, partOf(spoolDir, name.slice(0, name.indexOf('.'))))
    }
    await rm(`${stem}${lockEnding}`, { force: true })
  }
}

async function syncFile(path: string): Promise<void> {
  await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  await handle.sync()
}

function partOf(spoolDir: string, identity: string): string {
  return join(spoolDir, `${identity}.part`)
}

/** Removes old parts, and all of other states: a server that shows a new state each time must not fill the disk. */
async function removeParts(spoolDir: string, isUseless: (name: string, ageMs: number) => boolean): Promise<void> {
  for (const name of await readdir(spoolDir)) {
    if (!partName.test(name)) continue
    const path = join(spoolDir, name)
    const ageMs = await findAgeMs(path)
    if (ageMs !== undefined && isUseless(name, ageMs)) await rm(path, { force: true })
  }
}

async function findAgeMs(path: string): Promise<number | undefined> {
  try {
    return Date.now() - (await stat(path)).mtimeMs
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Renames a part, unless another process was first. */
async function claim(part: string, path: string): Promise<void> {
  try {
    await rename(part, path)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
  }
}
