import { access, constants, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Database, type FolderPolicy, openDatabase } from '../../database/database.ts'
import { errorCode, Failure } from '../../errors.ts'
import { beginInstallation, type Installation, installationOf } from '../../store/connections/installation.ts'
import { migrations } from '../../store/migrations/index.ts'
import type { StoreSchema } from '../../store/schema.ts'
import type { Events } from '../../telemetry/events.ts'
import type { Config } from '../config/config.ts'
import { type Marker, readMarker, writeMarker } from './marker.ts'

const poolSize = 16

const remedies =
  'put it back from a backup with "rollcall restore FILE --replace", or say that what is there counts with "rollcall accept-store"'

type OpenOptions = { readonly events?: Events | null; readonly now?: () => Date; readonly mayBeMoved?: boolean }

/**
 * Opens the store of this data folder: the configured PostgreSQL, or else the embedded database in the folder, which one process at a time
 * may use. Refuses any other store.
 */
export async function openStore(
  config: Config,
  { events = null, now = () => new Date(), mayBeMoved = false }: OpenOptions = {},
): Promise<Database<StoreSchema>> {
  const { dataDir } = config
  await ensureDataDir(dataDir)
  const marker = await readMarker(dataDir)
  if (marker !== null) await refuseMissingFolder(config)
  await using opening = new AsyncDisposableStack()
  const store = opening.use(await openAnyStore(config, 'known'))
  const there = await installationOf(store.db)
  if (!mayBeMoved) refuseMoved(there, store.location)
  refuseOther({ marker, there, location: store.location, dataDir })
  const { id } = there ?? (await beginInstallation(store.db, now()))
  if (marker === null) await writeMarker(dataDir, { installation: id })
  if (marker === null && there !== null) events?.storeMarked({ place: store.location })
  const opened = opening.move()
  return { ...store, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Opens the store without checking whether it belongs here. A damaged store is refused, unless it is to be moved aside. */
export async function openAnyStore(config: Config, existing: FolderPolicy): Promise<Database<StoreSchema>> {
  const at = config.database ? await config.database.read() : join(config.dataDir, 'store')
  try {
    return await openDatabase<StoreSchema>({ at, schemas: ['rollcall', 'bullmq'], migrations, poolSize, existing })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.code === 'store_lost') throw new Failure(error.code, `${error.message}; ${remedies}`, { cause: error })
    if (error.code === 'store_damaged')
      throw new Failure(
        error.code,
        `${error.message}; put it back from a backup with "rollcall restore FILE --replace", which keeps what is there beside it`,
        { cause: error },
      )
    throw error
  }
}

/** Creates the data folder and checks that it is writable. Returns the topmost folder that was created; null if all existed. */
export async function ensureDataDir(dataDir: string): Promise<string | null> {
  try {
    // The folder holds personal data: only this account may read it.
    const made = await mkdir(dataDir, { recursive: true, mode: 0o700 })
    await access(dataDir, constants.W_OK)
    return made ?? null
  } catch (error) {
    const code = errorCode(error)
    const help = 'give its account the rights, or name another one as dataDir'
    throw new Failure('config_invalid', `the data folder ${dataDir} cannot be written (${code}): ${help}`, {
      cause: error,
    })
  }
}

/** Refuses an embedded store whose folder is gone, before a new one is created there. */
async function refuseMissingFolder({ database, dataDir }: Config): Promise<void> {
  if (database) return
  const folder = join(dataDir, 'store')
  const isThere = await access(folder).then(
    () => true,
    () => false,
  )
  if (!isThere) throw new Failure('store_lost', `the store in ${folder} is gone: it was there before; ${remedies}`)
}

function refuseMoved(there: Installation | null, location: string): void {
  if (there?.movedTo)
    throw new Failure(
      'store_lost',
      `${location} was moved to ${there.movedTo} at ${there.movedAt?.toISOString()}; name that one as "database" in the configuration`,
    )
}

type ExpectedStore = {
  readonly marker: Marker | null
  readonly there: Installation | null
  readonly location: string
  readonly dataDir: string
}

function refuseOther({ marker, there, location, dataDir }: ExpectedStore): void {
  if (marker === null || marker.installation === there?.id) return
  if (there === null)
    throw new Failure(
      'store_lost',
      `${location} is empty, and the store that belongs to ${dataDir} is gone; ${remedies}`,
    )
  throw new Failure(
    'store_lost',
    `${location} is the store of another installation than ${dataDir} belongs to; name the right one as "database", or ${remedies}`,
  )
}
