import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliveryOperations } from '../../../src/contract/platform/delivery-operations.ts'
import { checkAll } from '../../../src/daemon/check.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { neededPermissions, testPermissions } from '../../../src/daemon/probe/key-permissions.ts'
import { createClient } from '../../../src/http/client/client.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { openWorkplace } from '../../helpers/workplace.ts'
import { openTestPlatform, type TestPlatform } from '../../platform/helpers/platforms.ts'

let at: TestPlatform
beforeAll(async () => {
  at = await openTestPlatform(createPostgresDatabase)
})
afterAll(() => at[Symbol.asyncDispose]())

const ofPeople = neededPermissions(['people'])
const vital = ofPeople.filter(({ isVital }) => isVital).flatMap(({ permissions }) => permissions)

async function keyOf(account: string, permissions: string[] | 'all' | 'all-read'): Promise<string> {
  return (await at.operator.createKey({ body: { account, name: 'tried', permissions } })).key
}

function tried(bearer: string) {
  return triedAt(at.platform.baseUrl, bearer)
}

function triedAt(baseUrl: string, bearer: string) {
  const client = createClient(deliveryOperations, { baseUrl, bearer })
  return testPermissions({ client, baseUrl }, new AbortController().signal)
}

/** The number of rows in each table of the platform, and a checksum of them. */
async function everything(): Promise<Record<string, unknown>> {
  const { db } = at.platform.database
  const tables = await sql<{ name: string }>`
    select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
    where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE' order by 1
  `.execute(db)
  const contents: Record<string, unknown> = {}
  for (const { name } of tables.rows) {
    const { rows } =
      await sql`select count(*), md5(string_agg(t::text, '|' order by t::text)) as sum from ${sql.raw(name)} t`.execute(
        db,
      )
    // Every request records when its key was last used.
    contents[name] = /api_keys$/.test(name) ? null : rows
  }
  return contents
}

test('a key with every permission is recognised, and the platform is left unchanged', async () => {
  const { name } = await at.newAccount()
  const key = await keyOf(name, 'all')
  const before = await everything()

  const results = await tried(key)

  expect(results.map(({ isGranted }) => isGranted)).toEqual(results.map(() => true))
  expect(results.length).toBe(11)
  expect(await everything()).toEqual(before)
})

test('each permission that a key lacks is named, also permissions to write', async () => {
  const { name } = await at.newAccount()
  const needed = ofPeople.map(({ permissions: [first = ''] }) => first)

  for (const lacking of needed) {
    const results = await tried(
      await keyOf(
        name,
        needed.filter((one) => one !== lacking),
      ),
    )
    expect(results.filter(({ isGranted }) => isGranted !== true).map(({ permissions: [first] }) => first)).toEqual([
      lacking,
    ])
  }
  expect(vital.length).toBe(5)
})

test('a missing permission that only some runs need is a warning of check', async () => {
  const { name } = await at.newAccount()
  await using work = await openWorkplace({ baseUrl: at.platform.baseUrl, key: await keyOf(name, vital) })
  await work.drop('people.csv', 'Employee ID,Email\n1,ana@acme.example\n')
  const config = await loadConfig(work.configFile, process.env)
  const { signal } = new AbortController()
  const options = { findDaemon: async () => null, events: silentEvents(), now: () => new Date(), signal }

  const checks = await Array.fromAsync(checkAll(config, options))

  const lacking = checks.filter(({ message }) => message.includes('lacks'))
  expect(lacking.map(({ level }) => level)).toEqual(ofPeople.filter(({ isVital }) => !isVital).map(() => 'warning'))
})

test('for a connection of records, each missing permission is named, and none about people is required', async () => {
  const { name } = await at.newAccount()
  const needed = neededPermissions(['records']).map(({ permissions: [first = ''] }) => first)
  const before = await everything()

  // The permission to write data also allows making a connection.
  for (const lacking of needed.filter((one) => one !== 'custom-connections-post')) {
    const key = await keyOf(
      name,
      needed.filter((one) => one !== lacking),
    )
    const client = createClient(deliveryOperations, { baseUrl: at.platform.baseUrl, bearer: key })
    const platform = { client, baseUrl: at.platform.baseUrl }
    const results = await testPermissions(platform, new AbortController().signal, ['records'])
    expect(results.filter(({ isGranted }) => isGranted !== true).map(({ permissions: [first] }) => first)).toEqual([
      lacking,
    ])
  }
  expect(needed).toEqual([
    'custom-connections-get',
    'custom-connections-post',
    'custom-connections-data-post',
    'custom-connections-data-put',
    'custom-connections-data-delete',
  ])
  expect(Object.keys(await everything())).toEqual(Object.keys(before))
})

test('a key that may only read is reported as unable to write', async () => {
  const { name } = await at.newAccount()

  const results = await tried(await keyOf(name, 'all-read'))

  expect(results.filter(({ isGranted }) => isGranted === false).map(({ purpose }) => purpose)).toEqual([
    'create the connection, if it is missing',
    'send people',
    'send departures',
    'retract people who were sent in error',
    'reset the sync of people who were edited by hand',
  ])
})

test('an invalid key, and an account without the feature, are named as such', async () => {
  const without = await at.newAccount({ entitlements: [] })

  await expect(tried('no key')).rejects.toMatchObject({
    code: 'blocked',
    message: expect.stringContaining(' answers 401: '),
  })
  await expect(tried(await keyOf(without.name, 'all'))).rejects.toMatchObject({
    code: 'blocked',
    message: expect.stringContaining(' answers 402: '),
  })
  const away = triedAt('http://127.0.0.1:1/public/v2', 'key')
  await expect(away).rejects.toMatchObject({ code: 'platform_unreachable' })
})

test('the page on security names each permission with what it is for', async () => {
  const page = await readFile(new URL('../../../docs/security.md', import.meta.url), 'utf8')

  const rows = neededPermissions(['people', 'records']).map(
    ({ permissions, purpose }) => `| ${permissions.map((one) => `\`${one}\``).join(' or ')} | ${purpose} | `,
  )

  expect(rows.filter((row) => !page.includes(row))).toEqual([])
})
