import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../../errors.ts'
import { unreadable } from '../file/failures.ts'

const dayMs = 24 * 60 * 60 * 1000
const ours = /^[0-9a-f]{64}(\.[0-9a-f-]{36})?\.(part|fetching|export)$/

/**
 * The file that a download is written to: the part that an earlier attempt at the same remote state left, or an empty file. A part is
 * claimed by renaming it, so that only one of two readers continues it.
 */
type Spooled = {
  readonly path: string
  readonly handle: FileHandle
  /** Keeps what was written for a later attempt. */
  readonly keep: () => Promise<void>
  readonly discard: () => Promise<void>
  /** Gives the complete file its final name and returns its path. */
  readonly complete: () => Promise<string>
}

/** `identity` is the digest of the remote file and its state. A part that was not written for `orphanedAfterMs` belongs to no living download. */
export async function openSpooled(
  spoolDir: string,
  { identity, orphanedAfterMs }: { readonly identity: string; readonly orphanedAfterMs: number },
): Promise<Spooled> {
  return writing(spoolDir, async () => {
    await mkdir(spoolDir, { recursive: true, mode: 0o700 })
    await prune(spoolDir, identity)
    const stem = join(spoolDir, `${identity}.${randomUUID()}`)
    const path = `${stem}.fetching`
    for (const left of await leftovers(spoolDir, { identity, orphanedAfterMs })) {
      if (await claimed({ from: left, to: path })) break
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

/** Turns a failed write into a failure that names the folder. Every other error stays as it is. */
export async function writing<T>(spoolDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error
    const what = `cannot write to ${spoolDir}: the system answered ${errorCode(error) ?? 'an unknown error'}`
    throw unreadable(what, 'check the free space and the permissions of dataDir', { cause: error })
  }
}

/** Removes what nothing goes on with. Parts of other states go at once: a server that shows a new one each time fills no disk with them. */
async function prune(spoolDir: string, identity: string): Promise<void> {
  for (const name of await readdir(spoolDir)) {
    if (!ours.test(name)) continue
    const path = join(spoolDir, name)
    const age = await ageMs(path)
    const isPartOfAnother = name.endsWith('.part') && !name.startsWith(identity)
    if (isPartOfAnother || (age !== undefined && age > dayMs)) await rm(path, { force: true })
  }
}

/** Unfinished downloads of the same remote state: those that were kept, and those whose process was killed. */
async function leftovers(
  spoolDir: string,
  { identity, orphanedAfterMs }: { readonly identity: string; readonly orphanedAfterMs: number },
): Promise<string[]> {
  const found: string[] = []
  for (const name of await readdir(spoolDir)) {
    if (!ours.test(name) || !name.startsWith(identity) || name.endsWith('.export')) continue
    const path = join(spoolDir, name)
    const age = await ageMs(path)
    if (name.endsWith('.part') || (age !== undefined && age > orphanedAfterMs)) found.push(path)
  }
  return found
}

async function ageMs(path: string): Promise<number | undefined> {
  try {
    return Date.now() - (await stat(path)).mtimeMs
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

async function claimed({ from, to }: { readonly from: string; readonly to: string }): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}
