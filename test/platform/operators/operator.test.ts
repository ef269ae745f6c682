import { existsSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, PostgresDialect } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openPlatformDatabase } from '../../../src/platform/core/database.ts'
import type { PlatformSchema } from '../../../src/platform/core/schema.ts'
import { openOperator } from '../../../src/platform/operators/access.ts'
import { ensureKeyFile } from '../../../src/platform/operators/key-file.ts'
import { databaseOperator } from '../../../src/platform/operators/operator.ts'
import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { readSeed } from '../../../src/platform/seed/file.ts'
import { startService } from '../../../src/platform/serve.ts'
import { createPostgresDatabase, databases } from '../../helpers/servers/databases.ts'
import { platformFolder } from '../../helpers/servers/provided.ts'
import { bodyOf, openTestPlatform } from '../helpers/platforms.ts'

const seedFile = 'config/platform-seed.yaml'
const ownerOnly = 0o600
const now = new Date('2026-03-02T10:00:00.000Z')

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-operator-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** A service on the embedded database of the folder. A new one is a copy of an empty one, which opens sooner. */
async function service(overrides: Partial<Parameters<typeof startService>[0]> = {}) {
  const database = join(folder, 'data')
  if (!existsSync(database)) await cp(await platformFolder(), database, { recursive: true })
  return await startService({ database, host: '127.0.0.1', port: 0, sync: null, ...overrides })
}

/** An account with this number of every object that a seed can name. */
function largeSeed(rows: number): SeedDocument {
  const named = <T>(make: (n: number) => T) => Array.from({ length: rows }, (_, index) => make(index))
  const emails = named((n) => `person-${n}@a.example`)
  const codes = named((n) => `C-${n}`)
  const request = { title: 'T', owners: emails, controls: codes, messages: named(() => ({ message: 'm' })) }
  const audit = {
    framework: 'SOC_2_TYPE_1',
    startDate: '2026-01-01',
    endDate: '2026-03-31',
    auditors: named((n) => ({ name: 'A', email: `auditor-${n}@a.example` })),
    internalAuditors: emails,
    controls: codes,
    requests: [{ ...request, code: 'R-1' }],
  }
  const controls = codes.map((code) => ({ code, name: code, description: 'd', owners: [] }))
  return SeedDocument.parse({
    accounts: [
      {
        name: `of ${rows}`,
        termsAcceptedAt: null,
        entitlements: named((n) => `FEATURE_${n}`),
        people: emails.map((email) => ({ email, firstName: 'A', lastName: 'B' })),
        customFields: named((n) => ({ name: `F ${n}`, type: 'TEXT', entityTypes: ['CONTROL', 'PERSONNEL'] })),
        workspaces: [{ name: 'first', controls, audits: [audit] }, ...named((n) => ({ name: `W ${n}` }))],
      },
    ],
  })
}

async function mode(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777
}

describe.each(databases)('seeding on $name', ({ createDatabase }) => {
  test('a seed opens accounts with workspaces and people, and a second time adds nothing', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const seed = await readSeed(seedFile)

    const first = await opened.operator.seed({ body: seed })
    const second = await opened.operator.seed({ body: seed })

    expect(first).toEqual({ accounts: 1, workspaces: 2, people: 12 })
    expect(second).toEqual({ accounts: 0, workspaces: 0, people: 0 })
    const client = await opened.clientOf('Acme', 'all')
    const people = bodyOf(await client.listPersonnel({ query: { 'expand[]': ['user'] } }), 200).data
    expect(people.map(({ user }) => user?.firstName)).toEqual(
      seed.accounts[0]?.people.map((person) => person.firstName),
    )
    expect(new Set(people.map(({ employmentStatus }) => employmentStatus))).toEqual(new Set(['UNKNOWN']))
    expect((await client.listCustomConnections({ query: {} })).status).toBe(200)
    const audits = await opened.platform.database.db.selectFrom('audits').select('status').execute()
    expect(audits.map(({ status }) => status).toSorted()).toEqual(['ACTIVE', 'COMPLETED', 'PREPARING'])
  })

  test('a seed sends no more parameters with a statement for many rows than for few', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const sent: number[] = []
    const { db } = opened.platform.database
    const operator = databaseOperator(
      new Kysely<PlatformSchema>({
        dialect: new PostgresDialect({ pool: opened.platform.database.pool }),
        log: ({ query }) => {
          sent.push(query.parameters.length)
        },
      }),
    )
    const mostFor = async (rows: number) => {
      sent.length = 0
      await operator.seed({ body: largeSeed(rows) })
      return Math.max(...sent)
    }

    const [few, many] = [await mostFor(3), await mostFor(30)]

    expect(many).toBe(few)
    const { count } = await db
      .selectFrom('personnel')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    expect(count).toBe(33)
  })

  test('seeding again restores what is missing and keeps what was changed', async () => {
    await using opened = await openTestPlatform(createDatabase)
    const seed = await readSeed(seedFile)
    await opened.operator.seed({ body: seed })
    const { db } = opened.platform.database
    await db.deleteFrom('workspaces').where('name', '=', 'Acme Pay').execute()
    await db.updateTable('workspaces').set({ description: 'edited' }).where('name', '=', 'Acme Cloud').execute()

    const again = await opened.operator.seed({ body: seed })

    expect(again).toEqual({ accounts: 0, workspaces: 1, people: 0 })
    const rows = await db.selectFrom('workspaces').select(['name', 'description']).orderBy('name').execute()
    expect(rows[0]).toEqual({ name: 'Acme Cloud', description: 'edited' })
  })
})

test.each([
  ['a missing file', null, 'source_unreadable', 'ENOENT'],
  ['no YAML', 'accounts: [', 'config_invalid', 'YAML'],
  ['an unknown key', 'accounts: []\nacounts: []', 'config_invalid', 'acounts'],
  [
    'a wrong value',
    'accounts:\n  - { name: 7, entitlements: [], termsAcceptedAt: null }',
    'config_invalid',
    'accounts.0.name',
  ],
])('a seed from %s is a failure that says where', async (_what, text, code, part) => {
  const file = join(folder, 'seed.yaml')
  if (text !== null) await writeFile(file, text)

  const reading = readSeed(file)

  await expect(reading).rejects.toMatchObject({ code, message: expect.stringContaining(part) })
})

test('an account name is taken once', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const { name } = await opened.newAccount()

  const again = opened.operator.createAccount({ body: { name, entitlements: [], termsAcceptedAt: null } })

  await expect(again).rejects.toMatchObject({ code: 'conflict' })
})

test('a folder that a service holds is operated through that service', async () => {
  await using running = await service({ seed: seedFile })
  const location = { database: join(folder, 'data') }

  await using access = await openOperator(location)
  const account = await access.operator.createAccount({
    body: { name: 'Other', entitlements: [], termsAcceptedAt: null },
  })
  const created = await access.operator.createKey({
    body: {
      account: 'Acme',
      name: 'through HTTP',
      permissions: ['personnel-get'],
    },
  })
  const sync = await access.operator.syncIdentities({ body: { account: 'Acme' } })
  await access.operator.revokeKey({ params: { keyId: created.id } })
  const listed = (await access.operator.listKeys({})).data

  expect(account).toEqual({ id: expect.any(Number), name: 'Other' })
  expect(sync).toMatchObject({ trigger: 'operator', counts: { UNKNOWN: 12 } })
  expect(listed).toEqual([
    expect.objectContaining({ id: created.id, state: 'revoked', permissions: ['personnel-get'] }),
  ])
  expect(running.database.kind).toBe('pglite')
})

test('accounts of a running service are shown and changed as on its database', async () => {
  await using running = await service({ seed: seedFile })
  await using access = await openOperator({ database: join(folder, 'data') })
  const { operator } = access
  const name = 'a/b %?#. \u00fc'
  await operator.createAccount({ body: { name, entitlements: [], termsAcceptedAt: null } })

  const granted = await operator.grantEntitlements({ params: { account: name }, body: { names: ['A', 'B'] } })
  const revoked = await operator.revokeEntitlements({ params: { account: name }, body: { names: ['A'] } })
  const accepted = await operator.acceptTerms({ params: { account: name } })
  const shown = await operator.showAccount({ params: { account: name } })

  expect([granted.entitlements, revoked.entitlements]).toEqual([['A', 'B'], ['B']])
  expect(accepted).toEqual({ ...revoked, termsAcceptedAt: expect.any(String) })
  expect(shown).toEqual(accepted)
  expect((await operator.listAccounts({})).data).toEqual(
    (await databaseOperator(running.database.db).listAccounts({})).data,
  )
})

test('refusals of a running service are the same failures as on the database', async () => {
  await using _running = await service({ seed: seedFile })
  await using access = await openOperator({ database: join(folder, 'data') })
  const { operator } = access

  const attempts = [
    operator.createAccount({ body: { name: 'Acme', entitlements: [], termsAcceptedAt: null } }),
    operator.createKey({ body: { account: 'Nobody', name: 'x', permissions: 'all' } }),
    operator.revokeKey({ params: { keyId: 999 } }),
    operator.syncIdentities({ body: { account: 'Nobody' } }),
    operator.createKey({ body: { account: 'Acme', name: '', permissions: 'all' } }),
    operator.createKey({ body: { account: 'Acme', name: 'x', permissions: ['personel-get'] } }),
    operator.createKey({ body: { account: 'Acme', name: 'x', permissions: 'all', expiresAt: '2020-01-01T00:00:00Z' } }),
    operator.createKey({ body: { account: 'Acme', name: 'x', permissions: 'all', allowedAddresses: ['here'] } }),
    operator.createAccount({ body: { name: 'a\0b', entitlements: [], termsAcceptedAt: null } }),
    operator.grantEntitlements({ params: { account: 'Acme' }, body: { names: [] } }),
    operator.grantEntitlements({ params: { account: 'Nobody' }, body: { names: ['A'] } }),
    operator.revokeEntitlements({ params: { account: 'Nobody' }, body: { names: ['A'] } }),
    operator.acceptTerms({ params: { account: 'Nobody' } }),
    operator.showAccount({ params: { account: 'a\0b' } }),
    operator.showAccount({ params: { account: 'Nobody' } }),
  ]

  const codes = await Promise.all(attempts.map((attempt) => attempt.catch((error: unknown) => error)))
  expect(codes).toMatchObject(
    [
      ...['conflict', 'not_found', 'not_found', 'not_found', 'usage', 'usage', 'usage', 'usage', 'usage', 'usage'],
      ...['not_found', 'not_found', 'not_found', 'usage', 'not_found'],
    ].map((code) => ({ code })),
  )
})

test('operators of the page are managed through a running service as on the database', async () => {
  await using running = await service({ seed: seedFile })
  await using access = await openOperator({ database: join(folder, 'data') })
  const { operator } = access
  const password = 'correct horse battery'

  const everywhere = await operator.createOperator({ body: { name: 'Ana of HR', account: null, password } })
  const confined = await operator.createOperator({
    body: { name: "Zoë d'Arc+1@acme.example", account: 'Acme', password },
  })
  await operator.setOperatorPassword({
    params: { operatorName: confined.name },
    body: { password: 'another horse battery' },
  })
  await operator.removeOperator({ params: { operatorName: everywhere.name } })
  const refusals = await Promise.all(
    [
      operator.createOperator({ body: { name: confined.name, account: null, password } }),
      operator.createOperator({ body: { name: 'x', account: 'Nobody', password } }),
      operator.createOperator({ body: { name: 'x', account: null, password: 'too short' } }),
      operator.createOperator({ body: { name: '../x', account: null, password } }),
      operator.setOperatorPassword({ params: { operatorName: 'nobody' }, body: { password } }),
      operator.removeOperator({ params: { operatorName: 'nobody' } }),
    ].map((attempt) => attempt.catch((error: unknown) => error)),
  )

  expect((await operator.listOperators({})).data).toEqual([confined])
  expect((await databaseOperator(running.database.db).listOperators({})).data).toEqual([confined])
  expect(confined).toMatchObject({ account: 'Acme' })
  expect(refusals).toMatchObject(
    ['conflict', 'not_found', 'usage', 'usage', 'not_found', 'not_found'].map((code) => ({ code })),
  )
  expect(JSON.stringify(refusals.map(String))).not.toContain('too short')
})

test('the operator token is readable by its owner only, and asked for', async () => {
  const running = await service()
  const file = join(folder, 'data', 'service.json')
  const permissions = await mode(file)

  const bare = await fetch(`${running.operatorUrl}/keys`)
  const guessed = openOperator({ database: '', url: running.operatorUrl, token: 'guess' })

  await using access = await guessed
  await expect(access.operator.listKeys({})).rejects.toMatchObject({ code: 'blocked', exit: 77 })
  expect([permissions, bare.status]).toEqual([ownerOnly, 401])
  await running[Symbol.asyncDispose]()
  await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('an address without a platform behind it is unreachable', async () => {
  const running = await service()
  const url = running.operatorUrl
  await running[Symbol.asyncDispose]()

  await using access = await openOperator({ database: '', url, token: 'any' })

  await expect(access.operator.listKeys({})).rejects.toMatchObject({ code: 'platform_unreachable', exit: 69 })
})

test('without an operator token the operator interface does not exist', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)

  const answer = await fetch(`${opened.platform.operatorUrl}/keys`, { headers: { authorization: 'Bearer ' } })

  expect(answer.status).toBe(404)
})

test('a service seeds a new database only', async () => {
  const first = await service({ seed: seedFile })
  await first.database.db.deleteFrom('workspaces').execute()
  await first[Symbol.asyncDispose]()

  await using second = await service({ seed: seedFile })

  expect(await second.database.db.selectFrom('workspaces').selectAll().execute()).toEqual([])
})

test('a key file holds a working key for its owner only, and the same one after a restart', async () => {
  const path = join(folder, 'shared', 'key')
  const first = await service({ seed: seedFile, keyFile: path })
  const key = (await readFile(path, 'utf8')).trim()
  const answer = await fetch(`${first.baseUrl}/workspaces`, { headers: { authorization: `Bearer ${key}` } })
  await first[Symbol.asyncDispose]()

  await using second = await service({ seed: seedFile, keyFile: path })

  expect([answer.status, await mode(path)]).toEqual([200, ownerOnly])
  expect((await readFile(path, 'utf8')).trim()).toBe(key)
  expect((await databaseOperator(second.database.db).listKeys({})).data).toHaveLength(1)
})

test('a key file with a key that does not work gets a new one, and the old one ends', async () => {
  const path = join(folder, 'key')
  await using empty = await createPostgresDatabase()
  await using database = await openPlatformDatabase(empty.at)
  const operator = databaseOperator(database.db, () => now)
  await operator.seed({ body: await readSeed(seedFile) })
  await ensureKeyFile(database.db, path, now)
  await writeFile(path, 'rck_of-another-database\n')

  await ensureKeyFile(database.db, path, now)

  expect((await readFile(path, 'utf8')).trim()).toMatch(/^rck_[\w-]{43}$/)
  expect((await operator.listKeys({})).data.map(({ state }) => state)).toEqual(['revoked', 'active'])
})

test('a key file without an account to make it for is a failure', async () => {
  await using empty = await createPostgresDatabase()
  await using database = await openPlatformDatabase(empty.at)

  const making = ensureKeyFile(database.db, join(folder, 'key'), now)

  await expect(making).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('--seed') })
})
