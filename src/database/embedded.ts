import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'
import { Failure } from '../errors.ts'
import { findCutFile, recordFileSizes } from './file-sizes.ts'
import { lockFolder } from './lock-file.ts'
import { type DatabaseMarker, isBefore, readDatabaseMarker, writeDatabaseMarker } from './marker-file.ts'
import { createPglitePool, openPglite } from './pglite-pool.ts'
import { PgliteSession } from './pglite-session.ts'
import type { Engine, Pool } from './pool.ts'

type Settings = Readonly<Record<string, string>>

/** What may exist in the folder of a database: only the known one; any; or any, which is moved aside for a new one. */
export type FolderPolicy = 'known' | 'any' | 'aside'

const memory = 'memory:'
const markMs = 60_000
const markerQuery =
  'select system_identifier::text as database, pg_current_wal_flush_lsn()::text as position from pg_control_system()'

/**
 * Opens an embedded database: in a folder, which this process then uses alone, or in memory for `memory:`. A database in memory may
 * start from a saved image, as in `memory:/path/of/image.tar`.
 */
export async function openEmbedded(options: {
  at: string
  settings: Settings
  poolSize?: number
  existing?: FolderPolicy
}): Promise<Engine> {
  const { at, settings, poolSize, existing = 'known' } = options
  const image = at.startsWith(memory) ? at.slice(memory.length) : undefined
  const location = image === undefined ? `the embedded database in ${at}` : 'a database in memory'
  await using opening = new AsyncDisposableStack()
  try {
    if (image === undefined) await claimFolder(at, opening)
    const pglite =
      image === undefined
        ? await openFolder(at, { settings, existing })
        : await openPglite({ image: image || null }, settings)
    // Runs after the database is closed. A full disk must not prevent that.
    if (image === undefined) opening.defer(() => recordFileSizes(at, dataIn(at)).catch(() => undefined))
    const session = opening.use(new PgliteSession(pglite, location))
    const pool = createPglitePool(session, poolSize)
    opening.defer(() => pool.end())
    if (image === undefined) opening.use(await keepMarker(at, pool))
    const opened = opening.move()
    return { kind: 'pglite', pool, location, [Symbol.asyncDispose]: () => opened.disposeAsync() }
  } catch (error) {
    if (error instanceof Failure) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure('database_unreachable', `cannot open ${location}: ${reason}`, { cause: error })
  }
}

async function claimFolder(folder: string, opening: AsyncDisposableStack): Promise<void> {
  // The data is about people, so no other account of this machine may read it.
  await mkdir(folder, { recursive: true, mode: 0o700 })
  opening.use(await lockFolder(folder))
}

/** Opens the database in a folder that this process has claimed. */
async function openFolder(
  folder: string,
  { settings, existing }: { settings: Settings; existing: FolderPolicy },
): Promise<PGlite> {
  const data = dataIn(folder)
  const beginning = join(folder, 'beginning')
  // A first start that was interrupted leaves this file and half a database, in which nothing has been stored yet.
  const begins = await exists(beginning)
  if (begins) await rm(data, { recursive: true, force: true })
  if (existing === 'aside' && (await exists(data)))
    await rename(data, `${data}.aside-${new Date().toISOString().replaceAll(':', '')}`)
  const marker = existing === 'known' ? await readDatabaseMarker(folder) : null
  const isNew = !(await exists(data))
  if (isNew && marker !== null && !begins)
    throw new Failure('store_lost', `the embedded database in ${folder} is gone: "pgdata" was there, and is no longer`)
  if (isNew) await writeFile(beginning, '')
  else {
    await refuseOtherContent(data)
    await refuseCutFiles(folder)
  }
  const pglite = await openPglite({ folder: data }, settings)
  try {
    if (isNew) await rm(beginning)
    else await refuseOtherDatabase(pglite, { folder, marker })
    return pglite
  } catch (error) {
    await pglite.close()
    throw error
  }
}

async function refuseOtherContent(data: string): Promise<void> {
  const entries = await readdir(data)
  if (entries.includes('PG_VERSION')) return
  throw new Error(`${data} holds no database; name another folder, or restore this one from a backup`)
}

async function refuseCutFiles(folder: string): Promise<void> {
  const cut = await findCutFile(folder, dataIn(folder))
  if (cut === null) return
  const { path, bytes, expectedBytes } = cut
  throw new Failure(
    'store_damaged',
    `the embedded database in ${folder} is damaged: pgdata/${path} has ${bytes} of the ${expectedBytes} bytes that it had when the database was closed`,
  )
}

async function refuseOtherDatabase(
  pglite: PGlite,
  { folder, marker }: { folder: string; marker: DatabaseMarker | 'unreadable' | null },
): Promise<void> {
  if (marker === null || marker === 'unreadable') return
  const { database, position } = await markerOf(pglite)
  if (database !== marker.database)
    throw new Failure('store_lost', `the embedded database in ${folder} was exchanged: another one stands in its place`)
  if (isBefore(position, marker.position))
    throw new Failure(
      'store_lost',
      `the embedded database in ${folder} is an older copy of itself: what was written last is not in it`,
    )
}

function dataIn(folder: string): string {
  return join(folder, 'pgdata')
}

async function markerOf(pglite: PGlite): Promise<DatabaseMarker> {
  const { rows } = await pglite.query<DatabaseMarker>(markerQuery)
  const [marker] = rows
  if (!marker) throw new Error('the database does not say which it is')
  return marker
}

/** Updates the marker of a folder while its database is open. */
async function keepMarker(folder: string, pool: Pool): Promise<AsyncDisposable> {
  let written = ''
  const writeMarker = async (): Promise<void> => {
    const { rows } = await pool.query<DatabaseMarker>(markerQuery)
    const [marker] = rows
    if (!marker || marker.position === written) return
    await writeDatabaseMarker(folder, marker)
    written = marker.position
  }
  await writeMarker()
  // A full disk must not stop the database; the next interval tries again.
  const writing = setInterval(() => writeMarker().catch(() => undefined), markMs).unref()
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(writing)
      await writeMarker().catch(() => undefined)
    },
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
