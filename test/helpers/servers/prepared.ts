import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { openDatabase } from '../../../src/database/database.ts'
import { migrations as platformTables } from '../../../src/platform/migrations/index.ts'
import { openDatabaseBackend } from '../../../src/queue/database-backend.ts'
import { migrations as storeTables } from '../../../src/store/migrations/index.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'

/** From this version on PostgreSQL has to be asked to copy a database file by file, which is quicker for small ones. */
const asksForFiles = 150_000

/** Makes a database with all tables on a server. Answers the clause with which another one begins as its copy. */
export async function prepareTemplate(server: string, name: string, lifetime: AsyncDisposableStack): Promise<string> {
  await onServer(server, `CREATE DATABASE ${name}`)
  lifetime.defer(() => onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`).then(() => {}))
  const url = new URL(server)
  url.pathname = `/${name}`
  await prepareStore(url.href)
  await preparePlatform(url.href)
  const { rows } = await onServer(
    server,
    `SELECT current_setting('server_version_num')::int >= ${asksForFiles} AS asks`,
  )
  return `TEMPLATE ${name}${rows[0].asks ? ' STRATEGY file_copy' : ''}`
}

/** Makes the folder of an embedded store as a daemon leaves it that was started and stopped. */
export async function prepareStoreFolder(folder: string): Promise<string> {
  await prepareStore(folder)
  return folder
}

/** Makes the folder of an embedded platform that holds no account. */
export async function preparePlatformFolder(folder: string): Promise<string> {
  await preparePlatform(folder)
  return folder
}

/** Saves an embedded database with all tables as an image. */
export async function prepareImage(folder: string): Promise<string> {
  await prepareStore(folder)
  await preparePlatform(folder)
  await using pglite = await PGlite.create(`file://${join(folder, 'pgdata')}`)
  return await saveImage(pglite, join(folder, 'image.tar'))
}

/** Saves an embedded database with no table as an image. */
export async function prepareEmptyImage(folder: string): Promise<string> {
  await using pglite = await PGlite.create('memory://')
  return await saveImage(pglite, join(folder, 'image.tar'))
}

async function saveImage(pglite: PGlite, file: string): Promise<string> {
  const image = await pglite.dumpDataDir('none')
  await writeFile(file, Buffer.from(await image.arrayBuffer()))
  return file
}

async function prepareStore(at: string): Promise<void> {
  await using database = await openDatabase({ at, schemas: ['rollcall', 'bullmq'], migrations: storeTables })
  await using _queue = await openDatabaseBackend(database, silentEvents())
}

async function preparePlatform(at: string): Promise<void> {
  await using _database = await openDatabase({ at, schemas: ['platform'], migrations: platformTables })
}

async function onServer(server: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client(server)
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}
