import { openAsBlob } from 'node:fs'
import { PGlite } from '@electric-sql/pglite'
import { createPool } from './base-pool.ts'
import { PgliteSession } from './pglite-session.ts'
import { PgliteSocket } from './pglite-socket.ts'
import type { Pool } from './pool.ts'
import { settingArguments } from './session-settings.ts'

/** Sessions cost nothing here, and every listener of the queue keeps one for itself. */
const defaultPoolSize = 100

/** Where an embedded database lives: in a folder, or in memory, there optionally starting from a saved image of one. */
export type PglitePlace = { readonly folder: string } | { readonly image: string | null }

export async function openPglite(place: PglitePlace, settings: Readonly<Record<string, string>>): Promise<PGlite> {
  const inMemory = !('folder' in place)
  return PGlite.create({
    dataDir: inMemory ? 'memory://' : `file://${place.folder}`,
    ...(inMemory && place.image !== null && { loadDataDir: await openAsBlob(place.image) }),
    startParams: [...PGlite.defaultStartParams, ...settingArguments(settings)],
  })
}

/** Presents an embedded PGlite as a pool of connections that share its one session. Ending the pool leaves PGlite open. */
export function createPglitePool(pglite: PGlite, poolSize: number = defaultPoolSize): Pool {
  const session = new PgliteSession(pglite)
  return createPool({ stream: () => new PgliteSocket(session), ssl: false, max: poolSize })
}
