import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../errors.ts'
import { lockFolder } from './lock-file.ts'
import { createPglitePool, openPglite } from './pglite-pool.ts'
import { PgliteSession } from './pglite-session.ts'
import type { Engine } from './pool.ts'

type Settings = Readonly<Record<string, string>>

const memory = 'memory:'

/**
 * Opens an embedded database: in a folder, which this process then uses alone, or in memory for `memory:`. A database in memory may
 * start from a saved image, as in `memory:/path/of/image.tar`.
 */
export async function openEmbedded(options: {
  at: string
  settings: Settings
  poolSize?: number | undefined
}): Promise<Engine> {
  const { at, settings, poolSize } = options
  const image = at.startsWith(memory) ? at.slice(memory.length) : undefined
  const place = image === undefined ? `the embedded database in ${at}` : 'a database in memory'
  await using opening = new AsyncDisposableStack()
  try {
    if (image === undefined) await claimFolder(at, opening)
    const pglite =
      image === undefined ? await openFolder(at, settings) : await openPglite({ image: image || null }, settings)
    const session = opening.use(new PgliteSession(pglite))
    const pool = createPglitePool(session, poolSize)
    opening.defer(() => pool.end())
    const opened = opening.move()
    return { kind: 'pglite', pool, place, [Symbol.asyncDispose]: () => opened.disposeAsync() }
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure('database_unreachable', `cannot open ${place}: ${reasonOf(error)}`, { cause: error })
  }
}

async function claimFolder(folder: string, opening: AsyncDisposableStack): Promise<void> {
  // The data is about people, so no other account of this machine may read it.
  await mkdir(folder, { recursive: true, mode: 0o700 })
  opening.use(await lockFolder(folder))
}

/** Opens the database in a folder that this process has claimed. */
async function openFolder(folder: string, settings: Settings) {
  const data = join(folder, 'pgdata')
  const beginning = join(folder, 'beginning')
  // A first start that was interrupted leaves this file and half a database, in which nothing has been stored yet.
  if (await exists(beginning)) await rm(data, { recursive: true, force: true })
  const isNew = !(await exists(data))
  if (isNew) await writeFile(beginning, '')
  else await refuseOtherContent(data)
  const pglite = await openPglite({ folder: data }, settings)
  if (isNew) await rm(beginning)
  return pglite
}

async function refuseOtherContent(data: string): Promise<void> {
  const entries = await readdir(data)
  if (entries.includes('PG_VERSION')) return
  throw new Error(`${data} holds no database; name another folder, or restore this one from a backup`)
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
