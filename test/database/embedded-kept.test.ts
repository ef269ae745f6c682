import { cp, open as openFile, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FolderPolicy, openDatabase } from '../../src/database/database.ts'
import { migrations } from '../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../src/store/schema.ts'
import { storeFolder } from '../helpers/servers/provided.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let at: string
let file: string

beforeAll(async () => {
  folder = await temporaryFolder()
  at = join(folder.path, 'store')
  await cp(await storeFolder(), at, { recursive: true })
  await using store = await open()
  const { rows } = await store.pool.query("select pg_relation_filepath('rollcall.roster_pkey') as path")
  file = join(at, 'pgdata', rows[0].path)
})
afterAll(() => folder[Symbol.asyncDispose]())

function open(existing?: FolderPolicy) {
  return openDatabase<StoreSchema>({
    at,
    schemas: ['rollcall', 'bullmq'],
    migrations,
    ...(existing && { existing }),
  })
}

const readRoster = "set enable_seqscan = off; select * from rollcall.roster where connection = 'acme'"

/** Turns one bit of a page of an index that nothing reads at the start. */
async function turnBit(): Promise<void> {
  await using handle = await openFile(file, 'r+')
  const byte = Buffer.alloc(1)
  const offset = 5000
  await handle.read(byte, 0, 1, offset)
  await handle.write(Buffer.from([byte.readUInt8() ^ 1]), 0, 1, offset)
}

test('a missing database is not silently created again', async () => {
  await rename(join(at, 'pgdata'), join(folder.path, 'elsewhere'))
  try {
    await expect(open()).rejects.toMatchObject({ code: 'store_lost', message: expect.stringContaining('is gone') })
    expect(await readdir(at)).not.toContain('pgdata')
  } finally {
    await rename(join(folder.path, 'elsewhere'), join(at, 'pgdata'))
  }
})

test('another database or an older copy in place of the known one is refused, unless it is allowed', async () => {
  const marker = join(at, 'database.json')
  const known = JSON.parse(await readFile(marker, 'utf8'))

  await writeFile(marker, JSON.stringify({ ...known, database: '7' }))
  await expect(open()).rejects.toMatchObject({ code: 'store_lost', message: expect.stringContaining('exchanged') })
  await writeFile(marker, JSON.stringify({ ...known, position: 'F/0' }))
  await expect(open()).rejects.toMatchObject({ code: 'store_lost', message: expect.stringContaining('older copy') })
  await (await open('any'))[Symbol.asyncDispose]()

  expect(JSON.parse(await readFile(marker, 'utf8')).database).toBe(known.database)
})

test('a table that was cut between two pages, or is gone, is noticed when the database is opened', async () => {
  const whole = await readFile(file)

  await truncate(file, whole.length - 8192)
  const cut = await open().catch((error: unknown) => error)
  await rm(file)
  const gone = await open().catch((error: unknown) => error)
  await writeFile(file, whole)
  await (await open())[Symbol.asyncDispose]()

  const path = file.slice(file.indexOf('pgdata'))
  const damaged = (bytes: number) => ({
    code: 'store_damaged',
    message: `the embedded database in ${at} is damaged: ${path} has ${bytes} of the ${whole.length} bytes that it had when the database was closed`,
  })
  expect(cut).toMatchObject(damaged(whole.length - 8192))
  expect(gone).toMatchObject(damaged(0))
})

test('a damaged page is noticed when it is read, and ends all further work', async () => {
  await turnBit()
  await using store = await open()

  const damaged = {
    code: 'store_damaged',
    exit: 74,
    message: expect.stringMatching(/^the embedded database in .* is damaged: invalid page in block 0 of relation/),
  }
  await expect(store.pool.query(readRoster)).rejects.toMatchObject(damaged)
  await expect(store.pool.query('select 1')).rejects.toMatchObject(damaged)
})
