import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { unreadable } from '../file/failures.ts'
import { errorCode } from '../../errors.ts'

const dayMs = 24 * 60 * 60 * 1000
const ours = /^[0-9a-f]{64}(\.[0-9a-f-]{36})?\.(part|fetching|export)$/

/**
 * The file that a download is written to: what an earlier attempt at the same remote state left, or an empty one. It is taken by
 * renaming, so that of two readers at a time only one goes on with it.
 */
export type Spooled = {
  readonly path: string
  readonly handle: FileHandle
  /** Leaves what was written for a later attempt. */
  readonly keep: () => Promise<void>
  readonly discard: () => Promise<void>
  /** Gives the complete file its name, and returns that. */
  readonly complete: () => Promise<string>
}

/** `identity` is the digest of the remote file in its state. `orphanedAfterMs` is how long a living download never pauses. */
export async function openSpooled(
  spoolDir: string,
  { identity, orphanedAfterMs }: { readonly identity: string; readonly orphanedAfterMs: number },
): Promise<Spooled> {
  return writing(spoolDir, async () => {
    await mkdir(spoolDir, { recursive: true, mode: 0o700 })
    await prune(spoolDir)
    const stem = join(spoolDir, `${identity}.${randomUUID()}`)
    const path = `${stem}.fetching`
    for (const left of await leftovers(spoolDir, { identity, orphanedAfterMs })) {
      if (await taken({ from: left, to: path })) break
    }
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
    return {
      path,
      handle,
      keep: async () => {
        await handle.sync()
        await handle.close()
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

/** Says of a failed write where it failed, and leaves every other error as it is. */
export async function writing<T>(spoolDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error
    const what = `cannot write to ${spoolDir}: the system answered ${errorCode(error) ?? 'an unknown error'}`
    throw unreadable(what, 'check the room and the permissions of dataDir', { cause: error })
  }
}

async function prune(spoolDir: string): Promise<void> {
  for (const name of await readdir(spoolDir)) {
    if (!ours.test(name)) continue
    const path = join(spoolDir, name)
    const age = await ageMs(path)
    if (age !== undefined && age > dayMs) await rm(path, { force: true })
  }
}

/** Broken downloads of the same remote state: those that were left on purpose, and those whose process ended without a word. */
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

async function taken({ from, to }: { readonly from: string; readonly to: string }): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}
