import { cp, mkdir, readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { databaseFailure } from '../../src/database/failures.ts'
import { createPglitePool, openPglite } from '../../src/database/pglite-pool.ts'
import { PgliteSession } from '../../src/database/pglite-session.ts'
import { nextLine, startChild } from '../helpers/servers/children.ts'
import { createEmptyPgliteDatabase } from '../helpers/servers/databases.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { usedMemory } from '../helpers/used-memory.ts'

const insertRows = new URL('./children/insert-rows.ts', import.meta.url)
const holdFolder = new URL('./children/hold-folder.ts', import.meta.url)
const migrations = [{ name: '0001-number', sql: 'CREATE TABLE number (id int PRIMARY KEY, filler text)' }]

const made = new AsyncDisposableStack()
let prepared: string
beforeAll(async () => {
  prepared = made.use(await temporaryFolder()).path
  await (await open(prepared))[Symbol.asyncDispose]()
})
afterAll(() => made.disposeAsync())

/** A folder with the database of a process that has ended. Making one anew takes seconds. */
async function madeFolder() {
  const folder = await temporaryFolder()
  await cp(prepared, folder.path, { recursive: true })
  return folder
}

function open(at: string) {
  return openDatabase<{ number: { id: number; filler: string | null } }>({ at, schemas: ['rollcall'], migrations })
}

test('committed data is there when the folder is opened again', async () => {
  await using folder = await temporaryFolder()
  const at = join(folder.path, 'not', 'there', 'yet')
  {
    await using database = await open(at)
    await database.db.insertInto('number').values({ id: 7, filler: null }).execute()
  }

  await using again = await open(at)

  expect(await again.db.selectFrom('number').select('id').execute()).toEqual([{ id: 7 }])
})

test('everything acknowledged before a kill -9 is there afterwards, every time', async () => {
  await using folder = await madeFolder()
  let acknowledged = 0

  for (const rows of [40, 90]) {
    await using child = startChild(insertRows, folder.path)
    for (let received = 0; received < rows; received++) acknowledged = Number(await nextLine(child))
    await child.kill()
    for await (const line of child.lines) acknowledged = Number(line)
  }

  await using database = await open(folder.path)
  const { rows } = await database.pool.query('SELECT count(*) AS count, max(id) AS last FROM number')
  // The last one may have been committed without its word getting out.
  expect([acknowledged, acknowledged + 1]).toContain(rows[0].last)
  expect(rows[0].count).toBe(rows[0].last)
})

test('responses are not kept in memory after they were read', async () => {
  await using empty = await createEmptyPgliteDatabase()
  await using database = await open(empty.at)
  const read = async () => {
    for (let times = 0; times < 20; times++)
      await database.pool.query(`SELECT repeat('x', 1000) AS text FROM generate_series(1, 2000)`)
  }
  await read()
  // The memory of a database grows in steps, and that of one that was closed goes late; what was read is objects.
  const before = usedMemory().heapBytes

  await read()

  const mebibytes = (usedMemory().heapBytes - before) / 2 ** 20
  expect(mebibytes).toBeLessThan(10)
})

test('a folder that another process has is refused with its pid', async () => {
  await using folder = await temporaryFolder()
  await using holder = startChild(holdFolder, folder.path)
  await nextLine(holder)

  const refused = open(folder.path)

  await expect(refused).rejects.toMatchObject({
    code: 'already_active',
    exit: 75,
    message: expect.stringContaining(`process ${holder.pid}`),
  })
})

test('an interrupted first start begins again', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'pgdata'))
  await writeFile(join(folder.path, 'pgdata', 'PG_VERSION'), '18')
  await writeFile(join(folder.path, 'beginning'), '')

  await using database = await open(folder.path)

  expect((await database.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  expect(await readdir(folder.path)).not.toContain('beginning')
})

test('a folder with other content is refused and stays unchanged', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'pgdata'))
  await writeFile(join(folder.path, 'pgdata', 'holiday.jpg'), '')

  const refused = open(folder.path)

  await expect(refused).rejects.toMatchObject({
    code: 'database_unreachable',
    message: expect.stringContaining('holds no database'),
  })
  expect(await readdir(join(folder.path, 'pgdata'))).toEqual(['holiday.jpg'])
})

test('a file in place of a folder is refused', async () => {
  await using folder = await temporaryFolder()
  const at = join(folder.path, 'file')
  await writeFile(at, '')

  const refused = open(at)

  await expect(refused).rejects.toMatchObject({ code: 'database_unreachable', message: expect.stringContaining(at) })
})

test('a damaged database is refused, and the folder is released', async () => {
  await using folder = await madeFolder()
  await truncate(join(folder.path, 'pgdata', 'global', 'pg_control'), 100)

  await expect(open(folder.path)).rejects.toMatchObject({ code: 'database_unreachable' })

  await using holder = startChild(holdFolder, folder.path)
  expect(JSON.parse(await nextLine(holder))).toEqual({ held: true })
})

test('an error of the database names its folder', async () => {
  await using folder = await madeFolder()
  await using database = await open(folder.path)
  const raise = (code: string) => `DO $$ BEGIN RAISE EXCEPTION 'Ana Berg' USING ERRCODE = '${code}'; END $$`

  const error = await database.pool.query(raise('53100')).catch((thrown: unknown) => thrown)
  const ofKysely = await sql
    .raw(raise('53200'))
    .execute(database.db)
    .catch((thrown: unknown) => thrown)

  expect(databaseFailure(error)?.message).toBe(
    `the disk of the embedded database in ${folder.path} is full: free some space on it (53100)`,
  )
  expect(databaseFailure(ofKysely)?.message).toBe(
    `the embedded database in ${folder.path} has too little memory: give its machine more (53200)`,
  )
})

test('a failing disk ends the database with a reason, instead of acknowledging lost data', async () => {
  await using folder = await madeFolder()
  const pglite = await openPglite({ folder: join(folder.path, 'pgdata') }, {})
  await using session = new PgliteSession(pglite)
  const pool = createPglitePool(session)
  await pool.query('CREATE TABLE kept (id int)')

  pglite.Module.NODEFS.stream_ops.fsync = () => 29
  const insert = pool.query('INSERT INTO kept VALUES (1)')

  await expect(insert).rejects.toMatchObject({ severity: 'PANIC' })
  await expect(pool.query('SELECT 1')).rejects.toMatchObject({ code: 'database_unreachable' })
  await pool.end()
})
