import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { dumpStore } from '../../../src/store/backup/dump.ts'
import { checkBackup, readBackup, writeBackup } from '../../../src/store/backup/file.ts'
import type { BackupLine } from '../../../src/store/backup/format.ts'
import { loadStore, refuseOtherVersion } from '../../../src/store/backup/load.ts'
import { beginInstallation } from '../../../src/store/connections/installation.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { Db, StoreSchema } from '../../../src/store/schema.ts'
import { takeLease } from '../../../src/store/workers/leases.ts'
import { createPgliteDatabase, createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'

const now = new Date('2026-11-20T03:00:00.123Z')
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let file: string
let sha256: string

beforeAll(async () => {
  folder = await temporaryFolder()
  file = join(folder.path, 'rollcall.backup')
  await using testDatabase = await createPostgresDatabase()
  await using store = await open(testDatabase.at)
  await fill(store.db)
  sha256 = (await backUp(store.db, file)).sha256
})
afterAll(() => folder[Symbol.asyncDispose]())

function open(at: string) {
  return openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations })
}

function backUp(db: Db, path: string) {
  return writeBackup(createWriteStream(path), (take) => dumpStore(db, { version: '0.1.0', now }, take))
}

function restore(db: Db, path: string) {
  return db.transaction().execute((tx) => loadStore(tx, readBackup(path)))
}

/** Awkward values: line separators in texts, JSON stored as text, bytes, arrays, identity columns. */
async function fill(db: Db): Promise<void> {
  await beginInstallation(db, now)
  await db.insertInto('connections').values({ name: 'acme', accepted_fields: '["a",  "b"]' }).execute()
  const people = Array.from({ length: 2500 }, (_, at) => ({
    connection: 'acme',
    identity_id: `E${at}`,
    desired: JSON.stringify({ identityId: `E${at}`, firstName: 'Zoë \u2028\u2029 "\\ \u{1f600}\n\r\t' }),
    inferred: false,
    absences: 0,
    as_of: now,
  }))
  await db.insertInto('roster').values(people).execute()
  const runId = randomUUID()
  await db
    .insertInto('runs')
    .values({ id: runId, connection: 'acme', trigger: 'operator', options: '{}', state: 'finished', created_at: now })
    .execute()
  const reject = { line: 3, reason: 'no date', cell_only: false, may_leave: true, fingerprint: 'f' }
  await db
    .insertInto('rejects')
    .values([
      { run_id: runId, ...reject },
      { run_id: runId, ...reject },
    ])
    .execute()
  await db
    .insertInto('inbox')
    .values({ connection: 'acme', dedup_key: 'k', received_at: now, body: Buffer.from([0, 255, 10]), state: 'pending' })
    .execute()
}

test('a backup of PostgreSQL restores an equal store on the embedded database, with counters that continue', async () => {
  await using testDatabase = await createPgliteDatabase()
  await using store = await open(testDatabase.at)
  await store.db.insertInto('connections').values({ name: 'former' }).execute()
  const again = join(folder.path, 'again.backup')

  await restore(store.db, file)

  expect(await backUp(store.db, again)).toEqual({ rows: 2506, people: 2500, sha256 })
  const added = await store.db
    .insertInto('inbox')
    .values({ connection: 'acme', dedup_key: 'l', received_at: now, state: 'settled' })
    .returning('id')
    .executeTakeFirstOrThrow()
  expect(Number(added.id)).toBe(2)
})

test('is written and restored in pieces by size, so that many large events fit into memory', async () => {
  await using testDatabase = await createPostgresDatabase()
  await using store = await open(testDatabase.at)
  await using other = await createPostgresDatabase()
  await using restored = await open(other.at)
  await fill(store.db)
  const bodies = Array.from({ length: 7 }, (_, at) => Buffer.alloc(at % 2 === 0 ? 900 : 20, at))
  const event = { connection: 'acme', received_at: now, state: 'pending' }
  await store.db
    .insertInto('inbox')
    .values(bodies.map((body, at) => ({ ...event, dedup_key: `body ${at}`, body })))
    .execute()
  const pieces = { maxRows: 3, maxBytes: 1500 }
  const path = join(folder.path, 'pieces.backup')
  const dumped: (readonly string[])[] = []
  const read: (readonly string[])[] = []
  const keepTo = (all: (readonly string[])[], line: BackupLine): void => {
    if (line.kind === 'rows') all.push(line.rows)
  }

  await writeBackup(createWriteStream(path), (take) =>
    dumpStore(store.db, { version: '0.1.0', now, pieces }, async (line) => {
      keepTo(dumped, line)
      await take(line)
    }),
  )
  await restored.db.transaction().execute((tx) =>
    loadStore(
      tx,
      (async function* () {
        for await (const line of readBackup(path, pieces)) {
          keepTo(read, line)
          yield line
        }
      })(),
    ),
  )

  for (const all of [dumped, read]) {
    expect(Math.max(...all.map((rows) => rows.length))).toBe(3)
    expect(all.filter((rows) => rows.length > 1 && rows.join('').length > pieces.maxBytes)).toEqual([])
  }
  const stored = await restored.db
    .selectFrom('inbox')
    .select('body')
    .where('dedup_key', 'like', 'body %')
    .orderBy('dedup_key')
    .execute()
  expect(stored.map(({ body }) => body)).toEqual(bodies)
})

test('a pipe, a folder, a device and a link are refused as a backup without blocking', async () => {
  const pipe = join(folder.path, 'pipe')
  const link = join(folder.path, 'link')
  execFileSync('mkfifo', [pipe])
  await symlink(file, link)

  for (const path of [pipe, folder.path, '/dev/zero'])
    await expect(checkBackup(path)).rejects.toThrow(`the backup ${path} is no regular file`)
  await expect(checkBackup(link)).rejects.toThrow('is a symbolic link')
})

test('a backup of an older release is migrated to the newest tables', async () => {
  await using testDatabase = await createPostgresDatabase()
  await using store = await open(testDatabase.at)
  const later = { name: '9999-later', sql: "alter table connections add column later text not null default 'new'" }

  await store.db.transaction().execute((tx) => loadStore(tx, readBackup(file), [...migrations, later]))

  const { rows } = await store.pool.query('select name, later from connections')
  expect(rows).toEqual([{ name: 'acme', later: 'new' }])
  const ledger = await store.pool.query('select name from migrations order by name')
  expect(ledger.rows).toEqual([...migrations, later].map(({ name }) => ({ name })))
})

test('a backup of a newer or a development version is refused with advice', async () => {
  const { header } = await checkBackup(file)
  const newer = { ...header, migrations: [...header.migrations, { name: '9999-later', sha256: 'x' }] }
  const development = ['0001-connections', '0034-foreign-people'].map((name) => ({ name, sha256: 'x' }))

  expect(() => refuseOtherVersion(header, file)).not.toThrow()
  expect(() => refuseOtherVersion(newer, file)).toThrow(
    'was written by a newer version of Rollcall (migration "9999-later"): use that version, or a newer one',
  )
  expect(() => refuseOtherVersion({ ...header, migrations: development }, file)).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      message: expect.stringContaining('no upgrade leads from there'),
    }),
  )
})

test('a handwritten backup cannot run its own statements', async () => {
  const forged = join(folder.path, 'forged.backup')
  await using testDatabase = await createPostgresDatabase()
  await using store = await open(testDatabase.at)
  const lines = gunzipSync(await readFile(file))
    .toString()
    .split('\n')
  const type = 'text); insert into connections (name) values ($$forged$$); --'
  const changed = lines.slice(0, -2).map((line) => {
    if (!line.startsWith('{"table":"connections"')) return line
    const table = JSON.parse(line)
    return JSON.stringify({ ...table, columns: table.columns.map((column: object) => ({ ...column, type })) })
  })
  await rewrite(forged, changed)

  await expect(restore(store.db, forged)).rejects.toMatchObject({
    code: 'source_unreadable',
    message: expect.stringContaining('its tables are not those of the version that it names'),
  })
  expect(await store.db.selectFrom('connections').selectAll().execute()).toEqual([])
})

test('a restore that fails, or finds others at work, leaves the store unchanged', async () => {
  await using testDatabase = await createPostgresDatabase()
  await using store = await open(testDatabase.at)
  await store.db.insertInto('connections').values({ name: 'former' }).execute()
  const cut = join(folder.path, 'cut-while-read.backup')
  const bytes = await readFile(file)
  await writeFile(cut, bytes.subarray(0, bytes.length >> 1))

  await expect(restore(store.db, cut)).rejects.toMatchObject({ code: 'source_unreadable' })
  {
    await using _lease = await takeLease(store)
    await expect(restore(store.db, file)).rejects.toMatchObject({ code: 'already_active' })
  }

  expect(await store.db.selectFrom('connections').select('name').execute()).toEqual([{ name: 'former' }])
})

test.each([
  ['a file that is not there', null, 'is not there'],
  ['something else', () => Buffer.from('Worker ID,Email\n'), 'no backup of Rollcall'],
  ['an empty file', () => Buffer.alloc(0), 'cut short'],
  ['a file that was cut', (bytes: Buffer) => bytes.subarray(0, bytes.length - 20), 'cut short'],
  ['a file with a bit turned', (bytes: Buffer) => flipped(bytes, bytes.length >> 1), 'damaged'],
  ['a backup without its end', (bytes: Buffer) => edited(bytes, (lines) => lines.slice(0, -2)), 'cut short'],
  ['a backup with a row changed', (bytes: Buffer) => edited(bytes, (lines) => lines.with(8, '[]')), 'damaged'],
  ['a backup of a later format', (bytes: Buffer) => edited(bytes, (lines) => ['{"format":2}', ...lines]), 'newer'],
])('%s is refused with a sentence', async (name, make, sentence) => {
  const path = join(folder.path, name)
  if (make) await writeFile(path, make(await readFile(file)))

  await expect(checkBackup(path)).rejects.toMatchObject({ message: expect.stringContaining(sentence) })
})

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at)
  return copy
}

function edited(bytes: Buffer, edit: (lines: string[]) => string[]): Buffer {
  return gzipSync(edit(gunzipSync(bytes).toString().split('\n')).join('\n'))
}

async function rewrite(path: string, lines: readonly string[]): Promise<void> {
  const rows = lines.filter((line) => line.startsWith('['))
  const table = (line: string) => ({ kind: 'table' as const, table: JSON.parse(line) })
  await writeBackup(createWriteStream(path), async (take) => {
    await take({ kind: 'header', header: JSON.parse(lines[0] ?? '') })
    for (const line of lines.slice(1)) await take(line.startsWith('[') ? { kind: 'rows', rows: [line] } : table(line))
  })
  expect(rows.length).toBeGreaterThan(0)
}
