import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

const Started = z.object({ baseUrl: z.string(), operatorUrl: z.string() })
const Created = z.object({ id: z.number(), key: z.string() })

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-commands-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

function start(...args: string[]) {
  const env = { PATH: process.env.PATH, PLATFORM_DATABASE_URL: join(folder, 'data') }
  return spawn(process.execPath, ['src/main.ts', 'platform', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
}

async function run(...args: string[]) {
  const child = start(...args)
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), exitOf(child)])
  return { stdout, stderr, exit }
}

async function exitOf(child: ChildProcess): Promise<unknown> {
  const [exit] = await once(child, 'close')
  return exit
}

test('the platform serves until SIGTERM, is operated meanwhile, and leaves with 0', async () => {
  const service = start('serve', '--port', '0', '--seed', 'config/platform-seed.yaml', '--json')
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
  service.kill('SIGTERM')

  expect([created.exit, sync.exit, revoked.exit, await ended]).toEqual([0, 0, 0, 0])
  expect([listed.status, refused.status]).toEqual([200, 401])
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

test('what cannot be done says so in one line and leaves with the exit code of its failure', async () => {
  const unknown = await run('sync-identities', '--account', 'Nobody')
  const badPermission = await run(
    'keys',
    'create',
    '--account',
    'Nobody',
    '--name',
    'x',
    '--permission',
    'personel-get',
  )
  const contradiction = await run('keys', 'create', '--account', 'Nobody', '--name', 'x', '--all', '--all-read')
  const badAddress = await run('keys', 'create', '--account', 'Nobody', '--name', 'x', '--allow-address', 'here')
  const noExport = await run('import', '--file', join(folder, 'none.json'))
  const badDate = await run('keys', 'create', '--account', 'Nobody', '--name', 'x', '--expires', 'soon')
  const noSeed = await run('seed', '--file', join(folder, 'none.yaml'))
  const noToken = await run('keys', 'list', '--url', 'http://127.0.0.1:9/operator/v1')

  expect([unknown.exit, badDate.exit, noSeed.exit, noToken.exit]).toEqual([66, 2, 66, 2])
  expect([badPermission.exit, contradiction.exit, badAddress.exit, noExport.exit]).toEqual([2, 2, 2, 66])
  expect(badPermission.stderr).toContain('did you mean personnel-get?')
  for (const { stderr } of [badPermission, contradiction, badAddress, noExport]) expect(stderr).toMatch(/^✖ [^\n]+\n$/)
  for (const { stderr } of [unknown, badDate, noSeed, noToken]) expect(stderr).toMatch(/^✖ [^\n]+\n$/)
})

test('accounts get their terms and entitlements, and keys their addresses', async () => {
  await run('accounts', 'create', '--name', 'Solo', '--entitlement', 'A')

  const terms = await run('terms', 'accept', '--account', 'Solo')
  const granted = await run('entitlements', 'grant', '--account', 'Solo', 'B', 'C')
  const revoked = await run('entitlements', 'revoke', '--account', 'Solo', 'A', '--json')
  await run('keys', 'create', '--account', 'Solo', '--name', 'office', '--allow-address', '10.0.0.0/8', '::1')
  const shown = await run('accounts', 'show', '--account', 'Solo', '--json')
  const keys = await run('keys', 'list')

  expect(terms.stdout).toContain('account Solo accepted the terms at 2')
  expect([granted.stdout, JSON.parse(revoked.stdout)]).toEqual(['A\nB\nC\n', ['B', 'C']])
  expect(JSON.parse(shown.stdout)).toMatchObject({ name: 'Solo', entitlements: ['B', 'C'], counts: { keys: 1 } })
  expect(keys.stdout).toMatch(/^1\tactive\tSolo\toffice\tall\t\S+\t10\.0\.0\.0\/8,::1\n$/)
})

test('everything goes into a file and out of it again, also while the platform runs', async () => {
  const file = join(folder, 'export.json')
  const other = ['--database', join(folder, 'other')]
  const service = start('serve', '--port', '0', '--seed', 'config/platform-seed.yaml', '--json')
  await once(service.stdout, 'data')

  const written = await run('export', '--file', file, '--json')
  const refused = await run('import', '--file', file)
  const taken = await run('import', '--file', file, ...other)
  const again = await run('import', '--file', file, ...other)
  const piped = await run('export', '--file', '-', ...other)
  service.kill('SIGTERM')
  await exitOf(service)
  await writeFile(file, piped.stdout.slice(0, -20))
  const broken = await run('import', '--file', file, '--database', join(folder, 'third'))

  expect(JSON.parse(written.stdout)).toEqual({ file, bytes: expect.any(Number) })
  expect([written, refused, taken, again, piped, broken].map(({ exit }) => exit)).toEqual([0, 75, 0, 75, 0, 78])
  expect(refused.stderr).toContain('stop it for the import')
  expect(taken.stdout).toMatch(/^took over \d+ rows of \d+ tables\n$/)
  expect(JSON.parse(piped.stdout).tables.accounts).toMatchObject([{ name: 'Acme' }])
  expect(broken.stderr).toMatch(/^✖ the export is broken or cut off[^\n]+\n$/)
})

test('the document names the servers that it is told', async () => {
  const servers = ['https://public-api.drata.com/public/v2', 'https://public-api.eu.drata.com/public/v2']

  const told = await run('openapi', '--server', ...servers)
  const untold = await run('openapi')
  const wrong = await run('openapi', '--server', 'ftp://example.com')

  expect(JSON.parse(told.stdout).servers).toEqual(servers.map((url) => ({ url })))
  expect(JSON.parse(untold.stdout).servers).toEqual([{ url: '/public/v2' }])
  expect(wrong.exit).toBe(2)
})

test('the service takes as many requests a minute as it is told', async () => {
  const service = start('serve', '--port', '0', '--json', '--no-sync', '--requests-per-minute', '1')
  const [line] = await once(service.stdout, 'data')
  const { baseUrl } = Started.parse(JSON.parse(String(line)))

  const statuses = [(await fetch(baseUrl)).status, (await fetch(baseUrl)).status]
  service.kill('SIGTERM')

  expect([...statuses, await exitOf(service)]).toEqual([404, 429, 0])
})
