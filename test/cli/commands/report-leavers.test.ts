import { execFile } from 'node:child_process'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { install } from '../../helpers/installation.ts'
import { unpack } from '../../helpers/unpack.ts'
import { change, type Host, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const run = promisify(execFile)
const period = ['--from', '2026-11-01', '--to', '2026-11-30']
const people = change(
  staff(12),
  { id: 'E0003', leavingDate: '2026-11-19', first: '=1+1' },
  { id: 'E0004', leavingDate: '2026-11-18', first: '<script>alert(1)</script>' },
)

async function open() {
  const { key } = await host.tenant()
  const at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  await at.writeExport(staff(12))
  await at.run('sync')
  await at.writeExport(people)
  await at.run('sync')
  return at
}

test('the report is printed as a summary, written in full, and packed so that others can verify it', async () => {
  await using at = await open()
  const folder = dirname(at.configFile)
  const [zip, page] = [join(folder, 'pack.zip'), join(folder, 'leavers.html')]

  const short = await at.run('report', 'leavers', ...period)
  const whole = await at.json<{ leavers: object[] }>('report', 'leavers', ...period)
  const written = await at.run('report', 'leavers', ...period, '--out', page, '--show-values')
  const packed = await at.run('report', 'leavers', ...period, '--pack', zip)

  expect(short).toMatchObject({ exit: 0, stdout: expect.stringMatching(/acme +2 +2 +0 +0 +0 /) })
  expect(whole.document.leavers).toMatchObject([
    { identityId: 'E0004', state: 'acknowledged', effectiveOn: '2026-11-18' },
    { identityId: 'E0003', state: 'acknowledged', effectiveOn: '2026-11-19' },
  ])
  expect(written).toMatchObject({ exit: 0, stdout: '' })
  expect(await readFile(page, 'utf8')).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
  expect((await stat(page)).mode & 0o777).toBe(0o600)
  expect(packed).toMatchObject({ exit: 0, stdout: expect.stringContaining('2 departures') })

  const unpacked = await unpack(zip, join(folder, 'pack'))
  expect(unpacked['audit.jsonl']).toContain('change.delivered')
  expect(unpacked['report.json']).not.toContain('@acme.example')
  const key = join(folder, 'data', 'audit-key.pub.pem')
  const signed = [
    'pkeyutl',
    '-verify',
    '-pubin',
    '-inkey',
    key,
    '-rawin',
    '-in',
    'MANIFEST',
    '-sigfile',
    'MANIFEST.sig',
  ]
  const cwd = join(folder, 'pack')
  expect((await run('openssl', signed, { cwd })).stdout).toContain('Signature Verified Successfully')
  await run('sha256sum', ['--strict', '-c', 'MANIFEST'], { cwd })
  const verify = () => run(process.execPath, ['verify.mjs', key], { cwd })
  expect((await verify()).stdout).toMatch(/^valid: .* audit entries are as they were signed/m)

  for (const [name, from, to] of [
    ['report.csv', 'E0003', 'E0005'],
    ['MANIFEST', 'report.csv', 'report.cSv'],
    ['verify.mjs', 'NOT VALID', 'not valid'],
    ['verify-population.mjs', 'wrong(', 'false && wrong('],
  ] as const) {
    const content = unpacked[name] ?? ''
    await writeFile(join(cwd, name), content.replace(from, to))
    await expect(verify()).rejects.toMatchObject({ code: 1, stdout: expect.stringMatching(/^not valid/i) })
    await writeFile(join(cwd, name), content)
  }
})

test.each([
  ['verify.mjs', ['node:crypto', 'node:fs', './verify-population.mjs', './verify-nights.mjs']],
  ['verify-nights.mjs', []],
  ['verify-population.mjs', []],
])('the script %s of the pack is short, and shares no code with the rest', async (name, imports) => {
  const script = await readFile(fileURLToPath(import.meta.resolve(`../../../src/daemon/reports/${name}`)), 'utf8')

  expect(script.split('\n').length).toBeLessThan(60)
  expect([...script.matchAll(/\b(?:from |import\()'(.*?)'/g)].map(([, from]) => from)).toEqual(imports)
})

test('a report is for its owner alone, also where others could read the file before', async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true, isEmbedded: true })
  const file = join(at.dataDir, 'report.csv')
  await writeFile(file, 'old', { mode: 0o644 })

  const { exit } = await at.run('report', 'leavers', '--out', file)

  expect([exit, ((await stat(file)).mode & 0o777).toString(8)]).toEqual([0, '600'])
  expect(await readFile(file, 'utf8')).not.toContain('old')
})

test.each([
  [['--from', '2026-02-30'], '--from takes a day such as 2026-01-31, not "2026-02-30"'],
  [['--from', '2026-12-01', '--to', '2026-11-01'], 'the period ends before it begins'],
  [['--pack', 'a.zip', '--out', 'b.csv'], '--pack contains every format'],
  [['--out', 'report.txt'], 'report.txt names no format: end it with .csv, .json or .html, or give --format'],
  [['--out', '/nowhere/at/all.csv'], '/nowhere/at/all.csv cannot be written (ENOENT)'],
  [['--connection', 'beta'], 'there is no connection "beta"'],
])('invalid arguments are refused: %j', async (args, sentence) => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })

  const refused = await at.run('report', 'leavers', ...args)

  expect(refused.exit).not.toBe(0)
  expect(refused.stderr).toContain(sentence)
})
