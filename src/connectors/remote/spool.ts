import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../../errors.ts'
import { writingTo } from '../file/failures.ts'

const dayMs = 24 * 60 * 60 * 1000
const spoolName = /^[0-9a-f]{64}(\.[0-9a-f-]{36})?\.(part|fetching|export)$/

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
  /** Gives the complete file its final name and returns its path. */
  readonly complete: () => Promise<string>
}

/** `identity`: the digest of the remote file and its state. A part untouched for `orphanedAfterMs` belongs to no running download. */
type DownloadIdentity = { readonly identity: string; readonly orphanedAfterMs: number }

/** Opens the file for a download, and removes parts that no download continues. */
export async function openSpooled(spoolDir: string, download: DownloadIdentity): Promise<SpooledDownload> {
  const { identity } = download
  return writingTo(spoolDir, async () => {
    await mkdir(spoolDir, { recursive: true, mode: 0o700 })
    await prune(spoolDir, identity)
    const stem = join(spoolDir, `${identity}.${randomUUID()}`)
    const path = `${stem}.fetching`
    for (const part of await findParts(spoolDir, download)) {
      if (await claim(part, path)) break
    }
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
    return {
      path,
      handle,
      keep: async () => {
        try {
          await handle.sync()
        } finally {
          await handle.close()
        }
        await rename(path, join(spoolDir, `${identity}.part`))
      },
      discard: async () => {
        await handle.close()
        await rm(path, { force: true })
      },
      complete: async () => {
        await handle.close()
        await rename(path, `${stem}.export`)
        return `${stem}.export`
      },
    }
  })
}

/** Writes all of `block` at `position`. One call to the system may write less. */
export async function writeWhole(local: FileHandle, block: Buffer, position: number): Promise<void> {
  for (let written = 0; written < block.length; ) {
    const { bytesWritten } = await local.write(block, written, block.length - written, position + written)
    written += bytesWritten
  }
}

/** Removes old files, and all parts of other states: a server that shows a new state each time must not fill the disk. */
async function prune(spoolDir: string, identity: string): Promise<void> {
  for (const name of await readdir(spoolDir)) {
    if (!spoolName.test(name)) continue
    const path = join(spoolDir, name)
    const age = await ageMs(path)
    const isPartOfAnother = name.endsWith('.part') && !name.startsWith(identity)
    if (isPartOfAnother || (age !== undefined && age > dayMs)) await rm(path, { force: true })
  }
}

/** Parts of the same remote state: those that were stored, and those whose process was killed. */
async function findParts(spoolDir: string, { identity, orphanedAfterMs }: DownloadIdentity): Promise<string[]> {
  const parts: string[] = []
  for (const name of await readdir(spoolDir)) {
    if (!spoolName.test(name) || !name.startsWith(identity) || name.endsWith('.export')) continue
    const path = join(spoolDir, name)
    const age = await ageMs(path)
    if (name.endsWith('.part') || (age !== undefined && age > orphanedAfterMs)) parts.push(path)
  }
  return parts
}

async function ageMs(path: string): Promise<number | undefined> {
  try {
    return Date.now() - (await stat(path)).mtimeMs
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Renames a part. Returns false if another download claimed it first. */
async function claim(part: string, path: string): Promise<boolean> {
  try {
    await rename(part, path)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}
