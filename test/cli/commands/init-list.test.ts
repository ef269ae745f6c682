import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { call } from '../../helpers/called.ts'
import { bearer } from '../../helpers/hr-systems/authentication.ts'
import { credentials } from '../../helpers/hr-systems/credentials.ts'
import { type RunningSystem, startSystem } from '../../helpers/hr-systems/server.ts'
import { requireSystem } from '../../helpers/hr-systems/systems.ts'
import { type Host, startHost } from '../../helpers/world.ts'

let host: Host
let hr: RunningSystem
let folder = ''

beforeAll(async () => {
  host = await startHost()
  folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  await writeFile(join(folder, 'key'), `${(await host.tenant()).key}\n`)
  await writeFile(join(folder, 'hr.token'), `${credentials.token}\n`)
  hr = await startSystem(
    { ...requireSystem('factorial-api'), authentication: bearer(credentials.token) },
    { people: 120 },
  )
})
afterAll(async () => {
  await hr[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
  await host[Symbol.asyncDispose]()
})

function init(...args: string[]) {
  const platform = ['--platform-url', host.platform.baseUrl, '--key-file', join(folder, 'key'), '--time-zone', 'UTC']
  return call(['init', '--yes', '--out', join(folder, 'list.yaml'), ...platform, ...args])
}

function atSystem(): readonly string[] {
  const address = `${hr.origin}/api/2025-10-01/resources/employees/employees`
  return ['--source', address, '--secret-file', join(folder, 'hr.token')]
}

test('of the address of a JSON list, its pages and fields are written, and a plan reads all of it', async () => {
  const written = await init(...atSystem(), '--field', 'identityId=id')
  const text = await readFile(join(folder, 'list.yaml'), 'utf8')
  const plan = await call(['plan', '--json', '--config', join(folder, 'list.yaml')])

  expect(written).toMatchObject({ exit: 0, stdout: expect.stringContaining('a JSON list with 9 columns') })
  expect(written.stdout).toContain('a second one was fetched with the token at /meta/end_cursor, sent as after_id')
  expect(written.stdout).toContain('Rollcall cannot tell whether the list includes people who have left')
  expect(parse(text).connections.hr.source).toMatchObject({
    type: 'http',
    format: 'json',
    records: '/data',
    pages: { by: 'cursor', next: '/meta/end_cursor', more: '/meta/has_next_page', total: '/meta/total', key: '/id' },
    bearer: '${file:hr.token}',
  })
  expect(parse(text).connections.hr.source).not.toHaveProperty('delimiter')
  expect(text + written.stdout + written.stderr).not.toContain(credentials.token)
  expect(plan.exit).toBe(0)
  expect(JSON.parse(plan.stdout)).toMatchObject({ records: 120, counts: { rejected: 0 } })
})

test('of a JSON file, its list and fields are written, and a plan reads all of it', async () => {
  const people = Array.from({ length: 30 }, (_, at) => ({
    ...{ employee_id: `E${at}`, email: `p${at}@example.com`, first_name: 'Ana', last_name: 'Berg' },
    status: 'Active',
  }))
  const json = join(folder, 'people.json')
  await writeFile(json, JSON.stringify({ data: { people }, offices: people.slice(0, 20) }))

  const unclear = await init('--replace', '--source', json)
  const written = await init('--replace', '--source', json, '--set', 'records=/data/people')
  const { source } = parse(await readFile(join(folder, 'list.yaml'), 'utf8')).connections.hr
  const plan = await call(['plan', '--json', '--config', join(folder, 'list.yaml')])

  expect(unclear).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining(
      "people.json has several lists of similar length, /data/people (30) and /offices (20): say which one holds the people with --set 'records=/data/people'",
    ),
  })
  expect(written).toMatchObject({ exit: 0, stdout: expect.stringContaining('a JSON list with 5 columns; 30 rows') })
  expect(source).toMatchObject({ type: 'folder', format: 'json', records: '/data/people' })
  expect(source).not.toHaveProperty('lastLine')
  expect(JSON.parse(plan.stdout)).toMatchObject({ records: 30, counts: { rejected: 0 } })
})

test('options of a table, and settings without a list, are refused', async () => {
  const json = join(folder, 'ana.json')
  const csv = join(folder, 'ana.csv')
  await writeFile(json, '[{"id": 1, "name": "Ana"}]')
  await writeFile(csv, 'id,name\n1,Ana\n')

  const refused = [
    await init('--replace', ...atSystem(), '--delimiter', ';'),
    await init('--replace', '--source', json, '--sheet', 'People'),
    await init('--replace', '--source', json, '--set', 'records=/data'),
    await init('--replace', '--source', csv, '--set', 'records=/data'),
    await init('--replace', '--source', csv, '--set', 'delimiter=;'),
  ]

  expect(refused.map(({ exit, stderr }) => [exit !== 0, stderr])).toEqual([
    [
      true,
      expect.stringContaining('is JSON and cannot be used with --encoding, --delimiter, --header-line and --sheet'),
    ],
    [true, expect.stringContaining('ana.json is JSON and cannot be used with --encoding')],
    [true, expect.stringContaining('ana.json has no list of records at /data: it is a list itself, so give no path')],
    [true, expect.stringContaining('ana.csv is no JSON, and has no list of records to choose')],
    [true, expect.stringContaining('--set takes only records and ignoredStatements for a JSON file: write delimiter')],
  ])
})
