import { existsSync } from 'node:fs'
import { mkdtemp, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode, Failure } from '../errors.ts'
import type { Config } from './config/config.ts'
import { markerFile } from './installation/marker.ts'
import { ensureDataDir } from './installation/open-store.ts'

/** The data folder that a check works in. Disposing removes a temporary one. */
export type CheckWorkspace = AsyncDisposable & {
  /** The configuration with the data folder of the check. */
  readonly config: Config
  /** True if the folder is deleted when the check ends. */
  readonly isTemporary: boolean
  /** Replaces the temporary path with the real one in a message. */
  withRealPath(text: string): string
}

/** Opens the data folder. Before Rollcall has used it, opens a temporary folder in it instead, so that a check leaves nothing behind. */
export async function openWorkspace(config: Config): Promise<CheckWorkspace | Failure> {
  const { dataDir } = config
  try {
    if (existsSync(join(dataDir, 'store')) || existsSync(join(dataDir, markerFile))) {
      return { config, isTemporary: false, withRealPath: (text) => text, [Symbol.asyncDispose]: async () => {} }
    }
    const topmostMade = await ensureDataDir(dataDir)
    const temporary = await mkdtemp(join(dataDir, 'check-'))
    return {
      config: { ...config, dataDir: temporary },
      isTemporary: true,
      withRealPath: (text) => text.replace(temporary, dataDir),
      async [Symbol.asyncDispose]() {
        await rm(temporary, { recursive: true, force: true })
        if (topmostMade !== null) await removeEmpty(dataDir, topmostMade)
      },
    }
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

/** Removes a folder and those above it, up to `last`. A folder that a daemon filled meanwhile stays. */
async function removeEmpty(folder: string, last: string): Promise<void> {
  try {
    await rmdir(folder)
    if (folder !== last) await removeEmpty(dirname(folder), last)
  } catch (error) {
    if (errorCode(error) !== 'ENOTEMPTY') throw error
  }
}
