import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { startService } from '../../../../src/platform/serve.ts'
import { call } from '../../../helpers/called.ts'
import { platformFolder } from '../../../helpers/servers/provided.ts'

const seedFile = 'config/platform-seed.yaml'
const Started = z.object({ baseUrl: z.string(), operatorUrl: z.string() })
const Created = z.object({ id: z.number(), key: z.string() })

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-commands-'))
  await cp(await platformFolder(), join(folder, 'data'), { recursive: true })
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

function environment() {
  return { PATH: process.env.PATH, PLATFORM_DATABASE_URL: join(folder, 'data') }
}

function start(...args: string[]) {
  const stdio = ['pipe', 'pipe', 'pipe'] as const
  return spawn(process.execPath, ['src/main.ts', 'platform', ...args], { env: environment(), stdio: [...stdio] })
}

function run(...args: string[]) {
  return runWith('', ...args)
}

async function runWith(input: string, ...args: string[]) {
  return await call(['platform', ...args], { env: environment(), input })
}

/** Runs the command in a separate process. */
async function spawned(input: string, ...args: string[]) {
  const child = start(...args)
  child.stdin.end(input)
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), exitOf(child)])
  return { stdout, stderr, exit }
}

/** A platform that the commands reach over HTTP, which is quicker than opening its database for each. */
function startPlatform() {
  const database = join(folder, 'data')
  return startService({ database, host: '127.0.0.1', port: 0, sync: null, seed: seedFile })
}

async function exitOf(child: ChildProcess): Promise<unknown> {
  const [exit] = await once(child, 'close')
  return exit
}

test('the platform serves until SIGTERM, is operated meanwhile, and leaves with 0', async () => {
  const service = start('serve', '--port', '0', '--seed', seedFile, '--json', '--requests-per-minute', '2')
  const errors = text(service.stderr)
  const ended = exitOf(service)
  const [line] = await once(service.stdout, 'data')
  const { baseUrl } = Started.parse(JSON.parse(String(line)))

  const created = await run('keys', 'create', '--account', 'Acme', '--name', 'test', '--json')
  const { key, id } = Created.parse(JSON.parse(created.stdout))
  const listed = await fetch(`${baseUrl}/personnel`, { headers: { authorization: `Bearer ${key}` } })
  const sync = await run('sync-identities', '--account', 'Acme')
  const revoked = await run('keys', 'revoke', `${id}`)
  const refused = await fetch(`${baseUrl}/personnel`, { headers: { authorization: `Bearer ${key}` } })
  const tooMany = await fetch(`${baseUrl}/personnel`)
  service.kill('SIGTERM')

  expect([created.exit, sync.exit, revoked.exit, await ended]).toEqual([0, 0, 0, 0])
  expect([listed.status, refused.status, tooMany.status]).toEqual([200, 401, 429])
  expect(sync.stdout).toContain('UNKNOWN 12')
  expect(await errors).not.toContain(key)
})

test('accounts and keys are made on a database that nobody serves', async () => {
  const account = await run('accounts', 'create', '--name', 'Solo', '--accept-terms', '--json')
  const key = await run('keys', 'create', '--account', 'Solo', '--name', 'reader', '--all-read', '--expires', 'never')
  const keys = await run('keys', 'list', '--json')

  expect(JSON.parse(account.stdout)).toEqual({ id: 1, name: 'Solo' })
  expect(key.stdout).toMatch(/^rck_[\w-]{43}\n$/)
  expect(JSON.parse(keys.stdout)).toMatchObject([
    { account: 'Solo', name: 'reader', access: 'all-read', expiresAt: null },
  ])
})

test('operators get their passwords from standard input or a file, and never from the command line', async () => {
  const password = 'correct horse battery'
  const file = join(folder, 'password')
  await writeFile(file, `${password}\r\n`)

  const created = await spawned(`${password}\n`, 'operators', 'create', '--name', 'ana')
  const short = await runWith('short\n', 'operators', 'create', '--name', 'bo')
  const none = await run('operators', 'create', '--name', 'bo', '--password-file', join(folder, 'none'))
  const unknown = await run('operators', 'create', '--name', 'bo', '--password', password)
  const changed = await run('operators', 'set-password', '--name', 'ana', '--password-file', file)
  const listed = await run('operators', 'list', '--json')

  expect([created.exit, changed.exit]).toEqual([0, 0])
  expect(created.stdout).toBe('operator 1: ana, all accounts\n')
  expect(JSON.parse(listed.stdout)).toEqual([{ id: 1, name: 'ana', account: null, createdAt: expect.any(String) }])
  expect([short.exit, none.exit, unknown.exit]).toEqual([2, 66, 2])
  expect(short.stderr).toContain('at least 12 characters')
})

test('a failing command prints one line and exits with the code of its failure', async () => {
  const unknown = await run('sync-identities', '--account', 'Nobody')
  const badDate = await run('keys', 'create', '--account', 'Nobody', '--name', 'x', '--expires', 'soon')
  const noSeed = await run('seed', '--file', join(folder, 'none.yaml'))
  const noToken = await run('keys', 'list', '--url', 'http://127.0.0.1:9/operator/v1')

  expect([unknown.exit, badDate.exit, noSeed.exit, noToken.exit]).toEqual([66, 2, 66, 2])
  for (const { stderr } of [unknown, badDate, noSeed, noToken]) expect(stderr).toMatch(/^✖ [^\n]+\n$/)
})

test('invalid settings of a key are refused before anything is opened', async () => {
  const key = ['keys', 'create', '--account', 'Nobody', '--name', 'x']

  const refused = await Promise.all([
    run(...key, '--permission', 'personel-get'),
    run(...key, '--all', '--all-read'),
    run(...key, '--allow-address', 'here'),
  ])

  expect(refused.map(({ exit }) => exit)).toEqual([2, 2, 2])
  expect(refused.map(({ stderr }) => stderr)).toEqual([
    expect.stringContaining('did you mean personnel-get?'),
    expect.stringContaining('--all-read or --all'),
    expect.stringContaining('"here" is no IPv4 or IPv6 address'),
  ])
})

test('accounts get their terms and entitlements, and keys their addresses', async () => {
  await using _running = await startPlatform()
  const acme = ['--account', 'Acme']
  const plan = ['CUSTOM_CONNECTIONS_AND_TESTS', 'CUSTOM_FIELDS_AND_FORMULAS', 'CUSTOM_FRAMEWORKS']

  const [terms, granted] = await Promise.all([
    run('terms', 'accept', ...acme),
    run('entitlements', 'grant', ...acme, 'A', 'B'),
    run('keys', 'create', ...acme, '--name', 'office', '--allow-address', '10.0.0.0/8', '::1'),
  ])
  const revoked = await run('entitlements', 'revoke', ...acme, 'A', '--json')
  const [shown, keys] = await Promise.all([run('accounts', 'show', ...acme, '--json'), run('keys', 'list')])

  expect(terms.stdout).toBe('account Acme accepted the terms at 2026-01-15T09:00:00.000Z\n')
  expect(granted.stdout).toBe(`${['A', 'B', ...plan].join('\n')}\n`)
  expect(JSON.parse(revoked.stdout)).toEqual(['B', ...plan])
  expect(JSON.parse(shown.stdout)).toMatchObject({ name: 'Acme', counts: { workspaces: 2, personnel: 12, keys: 1 } })
  expect(keys.stdout).toMatch(/^1\tactive\tAcme\toffice\tall\t\S+\t10\.0\.0\.0\/8,::1\n$/)
})

test('a group is set and removed, and only with people and a kind that there are', async () => {
  await using _running = await startPlatform()
  const group = ['--account', 'Acme', '--provider', 'Acme Okta', '--external-id', '00g-new']
  const set = ['groups', 'set', ...group, '--name', 'New', '--provider-type', 'OKTA_IDENTITY']

  const made = await run(...set, '--member', 'nora.lindqvist@acme.example', 'tomas.rey@acme.example')
  const refused = await Promise.all([
    run(...set, '--member', 'nobody@acme.example'),
    run('groups', 'set', ...group, '--name', 'New', '--provider-type', 'GOOGLE'),
    run('groups', 'set', ...group, '--name', 'New', '--provider-type', 'okta'),
  ])
  const removals = [await run('groups', 'remove', ...group), await run('groups', 'remove', ...group)]

  expect(made.stdout).toBe('group 3: 2 members\n')
  expect(refused.map(({ exit }) => exit)).toEqual([66, 75, 2])
  expect(removals.map(({ exit }) => exit)).toEqual([0, 66])
})

test('a running platform is exported to a file, and the file is imported elsewhere', async () => {
  await using _running = await startPlatform()
  const file = join(folder, 'export.json')
  const other = ['--database', join(folder, 'other')]

  const written = await run('export', '--file', file, '--json')
  const [refused, taken] = await Promise.all([run('import', '--file', file), run('import', '--file', file, ...other)])
  const piped = await spawned('', 'export', '--file', '-', ...other)

  expect([written, refused, taken, piped].map(({ exit }) => exit)).toEqual([0, 75, 0, 0])
  expect(JSON.parse(written.stdout)).toEqual({ file, bytes: expect.any(Number) })
  expect(refused.stderr).toContain('stop it for the import')
  expect(taken.stdout).toMatch(/^imported \d+ rows of \d+ tables\n$/)
  expect(JSON.parse(piped.stdout).tables.accounts).toMatchObject([{ name: 'Acme' }])
})

test('the document names the configured servers', async () => {
  const servers = ['https://public-api.drata.com/public/v2', 'https://public-api.eu.drata.com/public/v2']

  const [valid, wrong] = await Promise.all([
    run('openapi', '--server', ...servers),
    run('openapi', '--server', 'ftp://example.com'),
  ])

  expect(JSON.parse(valid.stdout).servers).toEqual(servers.map((url) => ({ url })))
  expect(wrong.exit).toBe(2)
})
