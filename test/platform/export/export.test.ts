import { cp, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Kysely, type KyselyPlugin, sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { platformOperations } from '../../../src/contract/platform/platform.ts'
import { createClient } from '../../../src/http/client/client.ts'
import { openPlatformDatabase } from '../../../src/platform/core/database.ts'
import type { PlatformSchema } from '../../../src/platform/core/schema.ts'
import { importPlatform } from '../../../src/platform/export/import-platform.ts'
import { writeOwnFile } from '../../../src/platform/export/owner-only-file.ts'
import { openOperator } from '../../../src/platform/operators/access.ts'
import { databaseOperator, type Operator } from '../../../src/platform/operators/operator.ts'
import { startService } from '../../../src/platform/serve.ts'
import { startPlatform } from '../../../src/platform/start.ts'
import {
  createPgliteDatabase,
  createPostgresDatabase,
  databases,
  type TestDatabase,
} from '../../helpers/servers/databases.ts'
import { platformFolder } from '../../helpers/servers/provided.ts'
import { isFull } from '../../helpers/tier.ts'
import { newCompany } from '../helpers/companies.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

type Tables = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>

async function exported(operator: Operator): Promise<string> {
  const sink = new PassThrough()
  const [written] = await Promise.all([text(sink), operator.writeExport(sink).then(() => sink.end())])
  return written
}

/** The export without its first line, which holds the time of the export. */
function contentOf(document: string): string {
  return document.slice(document.indexOf('\n'))
}

function tablesOf(document: string): Tables {
  return JSON.parse(document).tables
}

function take(db: Kysely<PlatformSchema>, document: string) {
  return importPlatform(db, Readable.from([Buffer.from(document)]))
}

async function populate(opened: TestPlatform) {
  const company = await newCompany(opened, [{ email: 'ana@one.example', firstName: 'Ana', lastName: 'Ünal "A"\n\\' }])
  await company.send([
    { identityId: 'ana', email: 'ana@one.example', isContractor: false, startedAt: '2020-01-01T00:00:00.000Z' },
    { identityId: 'gone', email: 'gone@one.example' },
    { identityId: '日本\u2028😀', email: null },
  ])
  await company.delete('gone')
  await company.sync()
  const { key } = await opened.operator.createKey({
    body: {
      account: company.name,
      name: 'carried over',
      permissions: ['personnel-get', 'workspaces-get'],
      allowedAddresses: ['127.0.0.0/8'],
    },
  })
  return { ...company, key }
}

const ways = [
  { from: createPgliteDatabase, to: createPostgresDatabase, way: 'from PGlite to PostgreSQL and back' },
  { from: createPostgresDatabase, to: createPgliteDatabase, way: 'from PostgreSQL to PGlite and back' },
]

describe.each(isFull ? ways : ways.slice(0, 1))(
  'an export $way',
  ({ from, to }: { from: () => Promise<TestDatabase>; to: () => Promise<TestDatabase> }) => {
    test('brings every row, and the same export comes out of it', async () => {
      await using opened = await openTestPlatform(from)
      await populate(opened)
      const first = await exported(opened.operator)
      await using there = await to()
      await using other = await openPlatformDatabase(there.at)
      await using home = await from()
      await using back = await openPlatformDatabase(home.at)

      const result = await take(other.db, first)
      const second = await exported(databaseOperator(other.db))
      await take(back.db, second)
      const third = await exported(databaseOperator(back.db))

      const tables = tablesOf(first)
      expect(result.rows).toBe(Object.values(tables).flat().length)
      expect(tables.hris_user_identities).toHaveLength(3)
      expect([contentOf(second), contentOf(third)]).toEqual([contentOf(first), contentOf(first)])
    })
  },
)

describe.each(databases)('an import on $name', ({ createDatabase }) => {
  test('keys work, and new rows get new numbers, even if the last ones were deleted', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const { key, client, connectionId } = await populate(opened)
    await client.deleteCustomConnection({ params: { connectionId } })
    const document = await exported(opened.operator)
    await using there = await createDatabase()
    await using platform = await startPlatform({
      database: there.at,
      now: opened.clock.now,
      prepare: async (db) => {
        await take(db, document)
      },
    })
    const operator = databaseOperator(platform.database.db, opened.clock.now)

    const carried = createClient(platformOperations, { baseUrl: platform.baseUrl, bearer: key })
    const { key: fresh } = await operator.createKey({
      body: { account: 'account 1', name: 'fresh', permissions: 'all' },
    })
    const owner = createClient(platformOperations, { baseUrl: platform.baseUrl, bearer: fresh })
    const created = await owner.createCustomConnection({ body: { name: 'HR', providerTypes: ['HRIS'] } })

    expect((await carried.listPersonnel({ query: {} })).status).toBe(200)
    expect(bodyOf(created, 201).id).toBe(connectionId + 1)
  })

  test('tables that come later are carried too, with rows that refer to later rows and values of every kind', async () => {
    const prepare = async (database: Kysely<PlatformSchema>) => {
      await sql`create table things (
        id bigint generated always as identity primary key,
        next_id bigint not null references things deferrable initially deferred,
        account_id bigint references accounts on delete cascade,
        data jsonb, amount numeric, bytes bytea, tags text[], day date,
        twice bigint generated always as (id * 2) stored,
        changed_in xid8 not null default pg_current_xact_id()
      )`.execute(database)
    }
    await using opened = await openTestPlatform(createDatabase, { prepare })
    const { id } = await opened.newAccount()
    const { db } = opened.platform.database
    await sql`insert into things (next_id, account_id, data, amount, bytes, tags, day) values
      (2, ${id}, '{"__proto__":{"a":1},"exact":12345678901234567890.10,"text":"\u2028"}', 0.1000, '\\x00ff', '{a,"b,c",null}', '2026-02-28'),
      (1, null, 'null', 1e30, null, '{}', null)`.execute(db)
    await using there = await createDatabase()
    await using other = await openPlatformDatabase(there.at)
    await prepare(other.db)

    const document = await exported(opened.operator)
    await take(other.db, document)

    expect(contentOf(await exported(databaseOperator(other.db)))).toBe(contentOf(document))
    const stored = await sql<{ next_id: number; exact: string }>`
      select next_id, data ->> 'exact' as exact from things where twice = 2 and data ? '__proto__'`.execute(other.db)
    expect(stored.rows).toEqual([{ next_id: 2, exact: '12345678901234567890.10' }])
    await expect(sql`insert into things (next_id) values (99)`.execute(other.db)).rejects.toThrow('foreign key')
  })

  test('a platform with accounts refuses an import', async () => {
    await using opened = await openTestPlatform(createDatabase)
    await opened.newAccount()
    const document = await exported(opened.operator)

    const again = take(opened.platform.database.db, document)

    await expect(again).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('has accounts') })
    expect(contentOf(await exported(opened.operator))).toBe(contentOf(document))
  })
})

describe.each(databases)('a file that is no export of this platform on $name', ({ createDatabase }) => {
  let database: Awaited<ReturnType<typeof openPlatformDatabase>>
  let opening: AsyncDisposableStack
  let whole: string
  let empty: string

  beforeAll(async () => {
    opening = new AsyncDisposableStack()
    database = opening.use(await openPlatformDatabase(opening.use(await createDatabase()).at))
    empty = await exported(databaseOperator(database.db))
    await using opened = await openTestPlatform(createDatabase)
    await newCompany(opened, [{ email: 'ana@one.example', firstName: 'Ana', lastName: 'Silva' }])
    whole = await exported(opened.operator)
  })
  afterAll(() => opening.disposeAsync())

  test.each<[string, (document: string) => string, string]>([
    ['nothing', () => '', 'header is missing'],
    ['no JSON', () => 'accounts: []', 'broken or cut off'],
    ['another document', () => '{"accounts":[]}', 'header is missing'],
    ['an export that was cut off in a row', (document) => document.slice(0, -200), 'broken or cut off'],
    ['an export that was cut off at its end', (document) => document.slice(0, -4), 'broken or cut off'],
    ['an export with something behind it', (document) => `${document}{}`, 'broken or cut off'],
    ['an export of another format', (document) => document.replace('"format":1', '"format":2'), '"export"'],
    ['an export of an older version', (document) => document.replace('"0001-initial"', ''), 'is older than this one'],
    [
      'an export of a newer version',
      (document) => document.replace('"0001-initial"', '"0001-initial","9999-later"'),
      'by a newer version of Rollcall (migration "9999-later")',
    ],
    [
      'an export of a development version',
      (document) => document.replace('"0001-initial"', '"0001-accounts","0016-word-bytes"'),
      'by a development version of Rollcall from before the first release (migration "0001-accounts")',
    ],
    ['an export without one of the tables', (document) => document.replace(/"entitlements":\[[^\]]*\],/, ''), 'lacks'],
    ['an export with a table too many', (document) => document.replace('"users":[', '"user":[{}],"users":['), '"user"'],
    ['a row without one of its columns', (document) => document.replace('"origin":"operator",', ''), 'other columns'],
    ['a row that is no object', (document) => document.replace('"users":[', '"users":[7,'), 'other columns'],
    ['a value of another kind', (document) => document.replace('"origin":"operator"', '"origin":7'), 'do not fit'],
    [
      'a row that refers to nobody',
      (document) => document.replaceAll('"account_id":1', '"account_id":7'),
      'do not fit',
    ],
    ['a row that is there twice', (document) => document.replace(/("entitlements":\[\n)(.*)/, '$1$2,$2'), 'do not fit'],
  ])('changes nothing and is refused with the reason: %s', async (_what, change, reason) => {
    const taking = take(database.db, change(whole))

    await expect(taking).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringContaining(reason) })
    expect(contentOf(await exported(databaseOperator(database.db)))).toBe(contentOf(empty))
  })

  test('does not stand in the way of one that is', async () => {
    await take(database.db, whole)

    expect(contentOf(await exported(databaseOperator(database.db)))).toBe(contentOf(whole))
  })
})

test('an export contains the hashes of keys, and not the key that signs cursors', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const { name } = await opened.newAccount()
  const { key } = await opened.operator.createKey({ body: { account: name, name: 'secret', permissions: 'all' } })
  const { value } = await opened.platform.database.db.selectFrom('settings').selectAll().executeTakeFirstOrThrow()

  const document = await exported(opened.operator)

  expect(tablesOf(document).api_keys?.[0]?.hash).toMatch(/^[0-9a-f]{64}$/)
  expect(document).not.toContain(key)
  expect(document).not.toContain(value)
})

test('an export shows one moment, whatever is written meanwhile', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const company = await newCompany(opened)
  await company.send([{ identityId: 'early' }])
  const sink = new PassThrough({ highWaterMark: 1 })
  const writing = opened.operator.writeExport(sink).then(() => sink.end())

  let document = ''
  for await (const piece of sink) {
    if (document === '') await company.send([{ identityId: 'late' }])
    document += String(piece)
  }
  await writing

  expect(tablesOf(document).hris_user_identities).toMatchObject([{ identity_id: 'early' }])
})

test('an export never asks for many long rows at once, also behind short ones', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const { db } = opened.platform.database
  await sql`
    insert into settings (name, value)
    select 'note ' || lpad(n::text, 2, '0'), repeat('x', case when n > 40 then 1572864 else 1 end) from generate_series(1, 44) n
  `.execute(db)
  const largest: number[] = []
  const watch: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      largest.push(result.rows.reduce((sum, row) => sum + JSON.stringify(row).length, 0))
      return result
    },
  }

  const document = await exported(databaseOperator(db.withPlugin(watch)))

  expect(tablesOf(document).settings).toHaveLength(44)
  expect(Math.max(...largest)).toBeLessThan(2 * 1024 * 1024)
})

describe('an export through a running platform', () => {
  let folder: string
  let data: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rollcall-exports-'))
    data = join(folder, 'data')
    await cp(await platformFolder(), data, { recursive: true })
  })
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  const service = () => startService({ database: data, host: '127.0.0.1', port: 0, sync: null })

  test('is the one of its database, in a file for its owner only', async () => {
    await using running = await service()
    await databaseOperator(running.database.db).createAccount({
      body: { name: 'One', entitlements: [], termsAcceptedAt: null },
    })
    await using access = await openOperator({ database: data })
    const path = join(folder, 'export.json')
    await writeFile(path, 'an earlier one')

    const bytes = await writeOwnFile(path, (sink) => access.operator.writeExport(sink))

    const file = await stat(path)
    expect([file.mode & 0o777, file.size]).toEqual([0o600, bytes])
    const direct = await exported(databaseOperator(running.database.db))
    expect(contentOf(await exported(access.operator))).toBe(contentOf(direct))
    expect((await readdir(folder)).sort()).toEqual(['data', 'export.json'])
  })

  test('is for the operator only', async () => {
    await using running = await service()
    await using access = await openOperator({ database: '', url: running.operatorUrl, token: 'guess' })

    const bare = await fetch(`${running.operatorUrl}/export`)

    expect(bare.status).toBe(401)
    await expect(exported(access.operator)).rejects.toMatchObject({ code: 'blocked' })
  })

  test('leaves no file behind where the place cannot be written or the platform is gone', async () => {
    const running = await service()
    await using access = await openOperator({ database: '', url: running.operatorUrl, token: 'any' })
    await running[Symbol.asyncDispose]()

    const attempts = await Promise.allSettled([
      writeOwnFile(join(folder, 'export.json'), (sink) => access.operator.writeExport(sink)),
      writeOwnFile(join(folder, 'none', 'export.json'), async () => {}),
    ])

    expect(attempts).toMatchObject([{ reason: { code: 'platform_unreachable' } }, { reason: { code: 'usage' } }])
    expect(await readdir(folder)).toEqual(['data'])
  })
})
