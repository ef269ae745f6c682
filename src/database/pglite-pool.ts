import type { EventEmitter } from 'node:events'
import { fdatasyncSync, openAsBlob } from 'node:fs'
import { PGlite, type PGliteOptions } from '@electric-sql/pglite'
import type { ClientConfig } from 'pg'
import { CopyingClient } from './copy.ts'
import { rememberDatabaseName } from './failures.ts'
import type { PgliteSession } from './pglite-session.ts'
import { PgliteSocket } from './pglite-socket.ts'
import { createPool, type Pool } from './pool.ts'
import { settingArguments } from './session-settings.ts'

/** Connections cost nothing here, and every listener of the queue needs one of its own. */
const defaultPoolSize = 100

/**
 * PGlite's own parameters, without `-F` (never sync), and with the only sync method that reaches its file system. Its buffers are memory of
 * this process: with the 128 MB that are PostgreSQL's default, a plan of 100,000 people is no faster.
 */
const startParams = [
  ...PGlite.defaultStartParams.filter((param) => param !== '-F'),
  ...['-c', 'wal_sync_method=fsync'],
  ...['-c', 'shared_buffers=32MB'],
]

/** Where an embedded database lives: in a folder, or in memory, where it may start from a saved image. */
type PgliteStorage = { readonly folder: string } | { readonly image: string | null }

/** Opens an embedded database. It is made if the folder holds none. */
export async function openPglite(storage: PgliteStorage, settings: Readonly<Record<string, string>>): Promise<PGlite> {
  const log: string[] = []
  let isOpening = true
  // Once it is open, its log can quote values.
  const onStderr = (line: string): boolean => {
    if (isOpening) log.push(line)
    return true
  }
  try {
    const pglite = await PGlite.create({
      ...('folder' in storage ? { dataDir: `file://${storage.folder}` } : await inMemory(storage)),
      startParams: [...startParams, ...settingArguments(settings)],
      onStderr,
    })
    syncFilesToDisk(pglite)
    return pglite
  } catch (error) {
    throw new Error(lastWords(log) ?? (error instanceof Error ? error.message : 'it ended without a reason'), {
      cause: error,
    })
  } finally {
    isOpening = false
  }
}

const damageAdvice =
  'if its disk has room and its files belong to the account of Rollcall, they are damaged: put a backup in their place, and keep the damaged folder until then'

/** Why PostgreSQL failed to start, from its log; null if the log does not say. */
function lastWords(log: readonly string[]): string | null {
  const reasons = log.flatMap((line) => /(?:FATAL|PANIC|DETAIL): {2}(.+?)\.?$/.exec(line)?.[1] ?? [])
  return reasons.length === 0 ? null : `${reasons.join(': ')}; ${damageAdvice}`
}

/** A pool of connections over the one session of an embedded database. Ending the pool does not close the database. */
export function createPglitePool(session: PgliteSession, poolSize: number = defaultPoolSize): Pool {
  const Client = createEmbeddedClient(session.location)
  return createPool({ Client, stream: () => new PgliteSocket(session), ssl: false, max: poolSize })
}

/** The inner part of a node-postgres client, which hears of an error before the statement that failed. */
type Inner = { readonly connection: EventEmitter<{ errorMessage: [error: Error] }> }

/** A client whose errors name this database. */
function createEmbeddedClient(location: string) {
  return class EmbeddedClient extends CopyingClient {
    constructor(options: ClientConfig = {}) {
      super(options)
      const { connection } = this as unknown as Inner
      connection.prependListener('errorMessage', (error) => rememberDatabaseName(error, location))
    }
  }
}

async function inMemory({ image }: { image: string | null }): Promise<PGliteOptions> {
  return { dataDir: 'memory://', ...(image !== null && { loadDataDir: await openAsBlob(image) }) }
}

/** The part of PGlite's file system that writes files to the disk. */
type NodeFiles = { stream_ops: { fsync?: (stream: { readonly nfd?: number }) => number } }

const errorCodes = { inputOutput: 29 } as const

/**
 * Makes commits survive a loss of power, as on a server. PostgreSQL asks for its log to be synced to the disk, but PGlite's file system
 * ignores that. Folders have no descriptor there, so the operating system decides when their entries are written.
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
