import { fdatasyncSync, openAsBlob } from 'node:fs'
import { PGlite, type PGliteOptions } from '@electric-sql/pglite'
import type { PgliteSession } from './pglite-session.ts'
import { PgliteSocket } from './pglite-socket.ts'
import { createPool, type Pool } from './pool.ts'
import { settingArguments } from './session-settings.ts'

/** Sessions cost nothing here, and every listener of the queue keeps one for itself. */
const defaultPoolSize = 100

/** PGlite's own, without its `-F` (never sync), and with the one method of syncing that reaches its file system. */
const startParams = [...PGlite.defaultStartParams.filter((param) => param !== '-F'), '-c', 'wal_sync_method=fsync']

/** Where an embedded database lives: in a folder, or in memory, there optionally starting from a saved image of one. */
export type PglitePlace = { readonly folder: string } | { readonly image: string | null }

/** Opens an embedded database, created when the folder holds none. */
export async function openPglite(place: PglitePlace, settings: Readonly<Record<string, string>>): Promise<PGlite> {
  const pglite = await PGlite.create({
    ...('folder' in place ? { dataDir: `file://${place.folder}` } : await inMemory(place)),
    startParams: [...startParams, ...settingArguments(settings)],
  })
  syncFilesToDisk(pglite)
  return pglite
}

/** Presents the session of an embedded database as a pool of connections. Ending the pool leaves the database open. */
export function createPglitePool(session: PgliteSession, poolSize: number = defaultPoolSize): Pool {
  return createPool({ stream: () => new PgliteSocket(session), ssl: false, max: poolSize })
}

async function inMemory({ image }: { image: string | null }): Promise<PGliteOptions> {
  return { dataDir: 'memory://', ...(image !== null && { loadDataDir: await openAsBlob(image) }) }
}

/** The part of the engine's file system that decides what "written" means. */
type NodeFiles = { stream_ops: { fsync?: (stream: { readonly nfd?: number }) => number } }

const errorCodes = { inputOutput: 29 } as const

/**
 * Makes a commit survive the loss of power as it does on a server: the engine asks for its log to be on the disk, but its
 * file system passes that on for nothing. Folders have no descriptor there, and their entries are left to the system.
 */
function syncFilesToDisk(pglite: PGlite): void {
  const files: NodeFiles = pglite.Module.NODEFS
  files.stream_ops.fsync = ({ nfd }) => {
    try {
      if (nfd !== undefined) fdatasyncSync(nfd)
      return 0
    } catch {
      return errorCodes.inputOutput
    }
  }
}
