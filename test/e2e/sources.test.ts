import { cp, mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CheckResult } from '../../src/daemon/probe/check-result.ts'
import type { Ended } from '../helpers/cli.ts'
import { keepSecret, worldMapping } from '../helpers/connected.ts'
import { fixtures } from '../helpers/presets/fixtures.ts'
import { lies, stating } from '../helpers/sources/hostile-sftp.ts'
import { json, startHrServer } from '../helpers/sources/hr-server.ts'
import { encrypted, keyOwner } from '../helpers/sources/openpgp.ts'
import { csvOf, openSourceWorkplace } from '../helpers/sources/source-workplace.ts'
import { account, keyPair, sshServer } from '../helpers/sources/ssh-server.ts'
import { zipOf } from '../helpers/sources/zip.ts'
import { isFull } from '../helpers/tier.ts'
import type { Workplace } from '../helpers/workplace.ts'
import { change, type Host, type HrPerson, staff, startHost } from '../helpers/world.ts'

const people = staff(12)
const afterwards = change(people, { id: 'E0004', leavingDate: '2026-11-18' }, { id: 'E0005', title: 'Director' })

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

function outputOf(...ended: readonly Ended[]): string {
  return ended.map(({ stdout, stderr }) => stdout + stderr).join('\n')
}

/** Two runs, with what happens in between. */
async function twice(work: Workplace, between: () => Promise<unknown>): Promise<readonly [Ended, Ended]> {
  const first = await work.run('sync')
  await between()
  return [first, await work.run('sync')]
}

/** The lines of a key that nobody says by chance. */
const linesOf = (key: string): readonly string[] => key.split('\n').filter((line) => line.length > 40)

describe('a wrapped export', () => {
  test('by gzip one night and by zip the next brings its leavers', { tags: ['full'] }, async () => {
    await using workplace = await openSourceWorkplace(host)
    const { work } = workplace
    await workplace.connect({ type: 'csv', path: 'exports/people.*', complete: { quietSeconds: 0 }, ...worldMapping })
    await work.drop('people.bin', gzipSync(csvOf(people)))

    const zipped = await zipOf({ 'anything.txt': csvOf(afterwards) })
    const [first, second] = await twice(work, () => work.drop('people.bin', zipped))

    expect([first.exit, second.exit]).toEqual([0, 0])
    expect((await workplace.people()).get('E0005')?.jobTitle).toBe('Director')
    expect(await workplace.leavers()).toEqual([['E0004', '2026-11-18']])
  })

  test('by OpenPGP brings its leavers, and neither key nor passphrase is ever printed', async () => {
    await using workplace = await openSourceWorkplace(host)
    const { work } = workplace
    const passphrase = 'tall blue horse'
    const [us, hr] = [await keyOwner({ passphrase }), await keyOwner()]
    const decrypt = {
      privateKey: await keepSecret(work, 'pgp-key', us.privateKey),
      passphrase: await keepSecret(work, 'pgp-passphrase', passphrase),
      verifyWith: hr.publicKey,
    }
    const source = { type: 'csv', path: 'exports/people.csv.pgp', complete: { quietSeconds: 0 }, ...worldMapping }
    await workplace.connect({ ...source, decrypt })
    await work.drop('people.csv.pgp', await encrypted(csvOf(people), { to: us, signedBy: hr, compressed: true }))

    const [first, second] = await twice(work, async () =>
      work.drop('people.csv.pgp', await encrypted(csvOf(afterwards), { to: us, signedBy: hr })),
    )
    await work.drop('people.csv.pgp', await encrypted(csvOf(people), { to: us }))
    const unsigned = await work.run('sync')
    await keepSecret(work, 'pgp-passphrase', 'short red horse')
    const locked = await work.run('check')

    expect([first.exit, second.exit, unsigned.exit, locked.exit]).toEqual([0, 0, 66, 66])
    expect(await workplace.leavers()).toEqual([['E0004', '2026-11-18']])
    const all = outputOf(first, second, unsigned, locked)
    for (const secret of [passphrase, 'short red horse', ...linesOf(us.privateKey)]) expect(all).not.toContain(secret)
  })
})

test('an export on an SFTP server brings its leavers; the secrets are never printed', async () => {
  const passphrase = 'correct horse battery'
  const key = keyPair('ed25519', passphrase)
  await using server = await sshServer({ publicKey: key.public })
  await using workplace = await openSourceWorkplace(host)
  const { work } = workplace
  const source = {
    type: 'sftp',
    host: '127.0.0.1',
    port: server.port,
    username: account.username,
    privateKey: await keepSecret(work, 'sftp-key', key.private),
    passphrase: await keepSecret(work, 'sftp-passphrase', passphrase),
    hostKeys: [server.fingerprint],
    path: 'out/people-*.csv',
    complete: { quietSeconds: 0 },
    afterwards: { accepted: 'archive' },
    ...worldMapping,
  }
  await workplace.connect(source)
  await mkdir(join(server.folder, 'out'))
  await writeFile(join(server.folder, 'out', 'people-1.csv'), csvOf(people))

  const [first, second] = await twice(work, () =>
    writeFile(join(server.folder, 'out', 'people-2.csv'), csvOf(afterwards)),
  )
  await keepSecret(work, 'sftp-passphrase', 'wrong donkey')
  const locked = await work.run('check')
  await keepSecret(work, 'sftp-passphrase', passphrase)
  await workplace.connect({ ...source, hostKeys: [`SHA256:${'A'.repeat(43)}`] })
  const stranger = await work.run('check')

  expect([first.exit, second.exit]).toEqual([0, 0])
  expect(await workplace.leavers()).toEqual([['E0004', '2026-11-18']])
  expect(await readdir(join(server.folder, 'out'))).toEqual(['archive'])
  expect(await readdir(join(server.folder, 'out', 'archive'))).toEqual([
    expect.stringMatching(/Z-people-1\.csv$/),
    expect.stringMatching(/Z-people-2\.csv$/),
  ])
  expect(locked.exit).not.toBe(0)
  expect(stranger.exit).not.toBe(0)
  expect(outputOf(stranger)).toMatch(/key/)
  const all = outputOf(first, second, locked, stranger)
  for (const secret of [passphrase, 'wrong donkey', ...linesOf(key.private)]) expect(all).not.toContain(secret)
})

test('an SFTP server that shows a part of an export as the whole separates no one, is reported, and is read again once it shows everything', async () => {
  await using server = await sshServer()
  await using workplace = await openSourceWorkplace(host)
  const { work } = workplace
  await workplace.connect({
    type: 'sftp',
    host: '127.0.0.1',
    port: server.port,
    username: account.username,
    password: await keepSecret(work, 'sftp-password', account.password),
    hostKeys: [server.fingerprint],
    path: 'people.csv',
    complete: { quietSeconds: 0 },
    ...worldMapping,
  })
  const file = join(server.folder, 'people.csv')
  await writeFile(file, csvOf(people))
  const honest = await work.run('sync')
  // The last person stays, so that the end is there, and two before them are missing.
  const [last] = people.slice(-1)
  const rest = people.filter(({ id }) => id !== last?.id)
  const partial = csvOf([...rest.slice(0, -2), ...(last ? [last] : [])])
  await writeFile(file, `${partial}${csvOf(rest.slice(-2)).split('\r\n').slice(1).join('\r\n')}`)
  lies(server, stating(Buffer.byteLength(partial), new Date(Date.now() - 60_000)))

  const lied = await work.run('sync')
  const alerts = await work.run('alerts')
  const leaversMeanwhile = await workplace.leavers()
  lies(server, undefined)
  await writeFile(file, csvOf(afterwards))
  const next = await work.run('sync')

  expect([honest.exit, lied.exit, next.exit]).toEqual([0, 66, 0])
  expect(outputOf(lied)).toContain('is longer than')
  expect(alerts.stdout).toMatch(/acme: run_failed since .*people\.csv on .* is longer than/)
  expect(leaversMeanwhile).toEqual([])
  expect(await workplace.leavers()).toEqual([['E0004', '2026-11-18']])
})

test('pages of JSON from an HTTP server bring their leavers; the token is never printed', async () => {
  const token = 'tok_51d3c0ffee'
  const months: { people: readonly HrPerson[] } = { people }
  await using server = await startHrServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://hr')
    if (request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end()
    const page = Number(url.searchParams.get('page') ?? 0)
    const rows = months.people.slice(page * 5, page * 5 + 5)
    const next = (page + 1) * 5 < months.people.length ? `/people?page=${page + 1}` : null
    const data = rows.map((person) => ({
      person: { id: person.id, email: person.email, names: { first: person.first }, title: person.title },
      employment: { start: person.start, end: person.leavingDate ?? null },
    }))
    return json({ data, next })(request, response)
  })
  await using workplace = await openSourceWorkplace(host)
  const { work } = workplace
  await workplace.connect({
    type: 'http',
    url: `${server.url}/people`,
    format: 'json',
    records: '/data',
    next: '/next',
    bearer: await keepSecret(work, 'token', token),
    allowPrivate: true,
    fields: {
      identityId: 'person.id',
      email: 'person.email',
      firstName: 'person.names.first',
      jobTitle: 'person.title',
      startedAt: 'employment.start',
      separatedAt: 'employment.end',
    },
  })

  const [first, second] = await twice(work, async () => {
    months.people = afterwards
  })
  const checked = await work.json<{ checks: readonly CheckResult[] }>('check')
  const shown = await work.run('run', 'last')
  const { document: run } = await work.json<{ source: { end: string } }>('run', 'last')
  await keepSecret(work, 'token', 'tok_other')
  const locked = await work.run('sync')

  expect([first.exit, second.exit]).toEqual([0, 0])
  const end = 'page 3 is the last: /next is null; two readings are equal'
  expect(checked.document.checks).toContainEqual(expect.objectContaining({ message: `end of the list: ${end}` }))
  expect(run.source.end).toBe(end)
  expect(outputOf(shown)).toContain(end)
  expect((await workplace.people()).size).toBe(12)
  expect((await workplace.people()).get('E0005')?.jobTitle).toBe('Director')
  expect(await workplace.leavers()).toEqual([['E0004', '2026-11-18']])
  expect(locked.exit).not.toBe(0)
  expect(outputOf(locked)).toMatch(/401/)
  for (const secret of [token, 'tok_other']) expect(outputOf(first, second, locked)).not.toContain(secret)
})

describe('an export of a known system arrives by its preset', () => {
  const systems = [
    ['workday', 'workday.csv', {}, { managerId: '21001', firstName: 'Jonas' }, '21002'],
    ['personio-de', 'personio-de-windows-1252.csv', { encoding: 'windows-1252' }, { firstName: 'Jonas' }, '00030'],
  ] as const

  test.each(isFull ? systems : systems.slice(-1))('%s', async (preset, file, format, jonas, key) => {
    await using workplace = await openSourceWorkplace(host)
    const { work } = workplace
    await cp(fileURLToPath(new URL(file, fixtures)), join(work.folder, 'exports', file))
    await utimes(join(work.folder, 'exports', file), new Date('2026-11-20'), new Date('2026-11-20'))
    await workplace.connect({ type: 'csv', path: 'exports/*.csv', complete: { quietSeconds: 0 }, preset, ...format })

    const { exit, document } = await work.json<{ rows: number; records: number }>('sync')

    const arrived = await workplace.people()
    const text = await readFile(fileURLToPath(new URL(file, fixtures)), 'latin1')
    expect({ exit, ...document }).toMatchObject({ exit: 0, rows: text.trimEnd().split('\n').length - 1 })
    expect(arrived.size).toBe(document.records)
    expect(arrived.get(key)).toMatchObject({ ...jonas, lastName: 'Weiß', jobTitle: 'Head of Engineering' })
    expect((await workplace.leavers()).length).toBeGreaterThan(0)
  })
})
