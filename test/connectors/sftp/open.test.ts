import { createHash } from 'node:crypto'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import type { OpenOptions, Reading } from '../../../src/connectors/connector.ts'
import { sftpConnector } from '../../../src/connectors/sftp/open.ts'
import { SftpSource } from '../../../src/connectors/sftp/settings.ts'
import { allRows } from '../../helpers/sources/csv.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'
import { failureOf, secrets } from '../../helpers/sources/sftp.ts'
import { account, type SshServer, sshServer } from '../../helpers/sources/ssh-server.ts'

const people = 'id,email\n1,ana@example.com\n2,ben@example.com\n'
const modifiedAt = new Date('2025-05-01T01:00:00Z')
const now = new Date('2025-05-02T03:04:05Z')

type Settings = Partial<z.input<typeof SftpSource>>

describe('an export on a server', () => {
  test('is read to its end, under the name it has there', async () => {
    await using server = await serving({ 'people.csv': people })
    await using spool = await exportFolder()

    const reading = await connect(server, spool).open(options())
    await server.idle()
    const rows = await allRows(reading)

    expect(reading).toMatchObject({
      mode: 'snapshot',
      asOf: modifiedAt.toISOString(),
      source: { name: 'people.csv', bytes: people.length },
      headers: ['id', 'email'],
    })
    expect(reading.textBytes?.()).toBe(people.length)
    expect(rows.map(({ values }) => values)).toEqual([
      ['1', 'ana@example.com'],
      ['2', 'ben@example.com'],
    ])
    expect(rows.map(({ origin }) => origin)).toEqual([
      { file: 'people.csv', line: 2 },
      { file: 'people.csv', line: 3 },
    ])
  })

  test.each<[string, (reading: Reading) => Promise<unknown>]>([
    ['was read to its end', ({ rows }) => Array.fromAsync(rows)],
    ['was given up half-way', giveUp],
    ['was closed before its first row', async () => {}],
  ])('leaves no copy behind once it %s', async (_case, read) => {
    await using server = await serving({ 'people.csv': people })
    await using spool = await exportFolder()

    const reading = await connect(server, spool).open(options())
    await read(reading)
    const before = await readdir(spool.path)
    await reading.close?.()
    await reading.close?.()

    expect(before.filter((name) => name.endsWith('.export'))).toHaveLength(1)
    expect(await readdir(spool.path)).toEqual([])
  })

  test('is read again from the copy, beside the first reader, whatever became of it on the server', async () => {
    await using server = await serving({ 'people.csv': people, 'people.csv.count': '2' })
    await using spool = await exportFolder()
    const complete = { sideFile: { suffix: '.count', holds: 'rows' } } as const
    const first = await connect(server, spool, { complete }).open(options())
    await writeFile(join(server.folder, 'people.csv'), 'id,email\n3,eva@example.com\n')

    const second = await first.reopen?.()
    const firstRows = first.rows[Symbol.asyncIterator]()
    await firstRows.next()
    const again = await Array.fromAsync(second?.rows ?? [])
    await firstRows.return?.()
    await first.close?.()

    expect(second).toMatchObject({ source: first.source, asOf: first.asOf, headers: first.headers })
    expect(again.flat().map(({ values }) => values[0])).toEqual(['1', '2'])
    expect(second?.textBytes?.()).toBe(people.length)
  })

  test('leaves no copy behind where it is no readable export', async () => {
    await using server = await serving({ 'people.csv': '\n\n' })
    await using spool = await exportFolder()

    const failure = await failureOf(connect(server, spool).open(options()))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toContain('people.csv')
    expect(failure.message).not.toContain(spool.path)
    expect(await readdir(spool.path)).toEqual([])
  })

  test('has the same version until its content, its time or its name changes', async () => {
    await using server = await serving({ 'people.csv': people })
    await using spool = await exportFolder()
    const versionOf = async () => {
      const reading = await connect(server, spool).open(options())
      await allRows(reading)
      return reading.source?.version
    }

    const versions = [await versionOf(), await versionOf()]
    await utimes(join(server.folder, 'people.csv'), now, now)
    versions.push(await versionOf())
    await put(server, 'qeople.csv', people, now)
    versions.push(await versionOf())

    expect(versions[0]).toBe(versions[1])
    expect(new Set(versions).size).toBe(3)
  })

  test('is not fetched where its date lies ahead', async () => {
    await using server = await serving({ 'people.csv': people })
    await using spool = await exportFolder()
    const before = new Date('2025-01-01T00:00:00Z')

    const failure = await failureOf(connect(server, spool).open({ ...options(), now: () => before }))

    expect(failure.message).toMatch(/lies ahead/)
    expect(server.activity.fileBytes).toBe(0)
  })

  test('is fetched on from where the connection broke', async () => {
    const many = `id\n${Array.from({ length: 100_000 }, (_, id) => `${id}\n`).join('')}`
    await using server = await serving({ 'people.csv': many })
    await using spool = await exportFolder()
    const connector = connect(server, spool)

    server.faults.cutAfterBytes = 400_000
    const failure = await failureOf(connector.open(options()))
    delete server.faults.cutAfterBytes
    const rows = await allRows(await connector.open(options()))

    expect(failure).toMatchObject({ code: 'source_unreachable', retry: true })
    expect(rows).toHaveLength(100_000)
    expect(server.activity.fileBytes).toBeLessThan(many.length + 128 * 1024)
  })

  test('is refused without a login if the server has another key', async () => {
    await using server = await serving({ 'people.csv': people })
    await using another = await sshServer()
    await using spool = await exportFolder()

    const failure = await failureOf(connect(server, spool, { hostKeys: [another.fingerprint] }).open(options()))

    expect(failure.message).toContain(server.fingerprint)
    expect(server.activity.logins).toEqual([])
  })
})

describe('each export on a server', () => {
  test('is read in turn until nothing is new', async () => {
    await using server = await serving({ 'a.csv': people })
    await put(server, 'b.csv', people, now)
    await using spool = await exportFolder()
    const connector = connect(server, spool, { take: 'each', mode: 'delta' })
    const taken = new Set<string>()

    const readings: Reading[] = []
    for (let turn = 0; turn < 3; turn += 1) {
      const reading = await connector.open({ ...options(), findDecided: async () => taken })
      await allRows(reading)
      if (reading.source) taken.add(reading.source.version)
      readings.push(reading)
    }

    expect(readings).toMatchObject([
      { mode: 'delta', source: { name: 'a.csv', more: true } },
      { mode: 'delta', source: { name: 'b.csv' } },
      { mode: 'delta', source: null, headers: [], asOf: now.toISOString() },
    ])
    expect(readings[1]?.source?.more).toBeUndefined()
  })
})

describe('a side file', () => {
  const sum = createHash('sha256').update(people).digest('hex')
  const sha256 = { suffix: '.sha256', holds: 'sha256' } as const
  const count = { suffix: '.count', holds: 'rows' } as const

  test.each([
    ['its sum', 'people.csv.sha256', `${sum}  people.csv\n`, sha256],
    ['its sum under the shorter name', 'people.sha256', sum.toUpperCase(), sha256],
    ['its count of rows', 'people.csv.count', '2\n', count],
  ])('is held against the export: %s', async (_case, name, content, sideFile) => {
    await using server = await serving({ 'people.csv': people, [name]: content })
    await using spool = await exportFolder()

    const reading = await connect(server, spool, { complete: { sideFile } }).open(options())

    expect(await allRows(reading)).toHaveLength(2)
  })

  test.each([
    ['another sum', { 'people.csv.sha256': '0'.repeat(64) }, sha256, /does not have the sha256 sum/],
    [
      'another count',
      { 'people.csv.count': '3' },
      count,
      /has 2 rows, not counting a header, and its side file states 3/,
    ],
    ['no sum', { 'people.csv.sha256': 'soon' }, sha256, /holds no sha256 sum/],
    ['more than it may', { 'people.csv.sha256': ' '.repeat(70_000) }, sha256, /longer than 64 KiB/],
    ['nothing, as it is missing', {}, sha256, /no side file people\.csv\.sha256 or people\.sha256/],
  ])('that states %s refuses it, and leaves no copy behind', async (_case, beside, sideFile, expected) => {
    await using server = await serving({ 'people.csv': people, ...beside })
    await using spool = await exportFolder()
    const connector = connect(server, spool, { complete: { sideFile } })

    const failure = await failureOf(connector.open(options()).then(allRows))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(expected)
    expect(await readdir(spool.path)).toEqual([])
  })
})

describe('afterwards', () => {
  test('an export stays unless configured otherwise, without a login', async () => {
    await using server = await serving({ 'people.csv': people })
    await using spool = await exportFolder()
    const { source, archive } = await readFrom(server, spool)
    const { connections } = server.activity

    await archive(source, 'accepted')
    await archive(source, 'refused')

    expect(server.activity.connections).toBe(connections)
    expect(await readdir(server.folder)).toEqual(['people.csv'])
  })

  test.each([
    ['accepted', { accepted: 'archive', archiveDir: 'done' }, ['done']],
    ['accepted', { accepted: 'delete' }, []],
    ['accepted', { refused: 'move' }, ['people.csv', 'people.csv.ok']],
    ['refused', { refused: 'move' }, ['rejected']],
    ['refused', { accepted: 'delete' }, ['people.csv', 'people.csv.ok']],
  ] as const)('an export whose plan was %s is treated according to %j', async (outcome, afterwards, left) => {
    await using server = await serving({ 'people.csv': people, 'people.csv.ok': '' })
    await using spool = await exportFolder()
    const { source, archive } = await readFrom(server, spool, { afterwards, complete: { marker: '.ok' } })

    await archive(source, outcome)

    expect((await readdir(server.folder)).toSorted()).toEqual(left)
    for (const folder of left.filter((name) => !name.startsWith('people')))
      expect(await readdir(join(server.folder, folder))).toHaveLength(2)
  })
})

test('no failure reveals a secret', async () => {
  await using server = await serving({ 'people.csv': people })
  await using spool = await exportFolder()
  const secret = 'tr0ub4dor&3'

  const connector = connect(server, spool, {}, { password: secret })
  const failure = await failureOf(connector.open(options()))

  expect(`${failure.message}${failure.stack}${String(failure.cause)}`).not.toContain(secret)
})

async function giveUp({ rows }: Reading): Promise<void> {
  for await (const _slice of rows) return
}

function connect(
  server: SshServer,
  spool: ExportFolder,
  settings: Settings = {},
  values: Readonly<Record<string, string>> = { password: account.password },
) {
  const source = SftpSource.parse({
    type: 'sftp',
    host: '127.0.0.1',
    port: server.port,
    username: account.username,
    password: 'is read from its place',
    hostKeys: [server.fingerprint],
    path: '*.csv',
    mode: 'snapshot',
    ...settings,
  })
  return sftpConnector(source, { baseDir: '/nowhere', spoolDir: spool.path, secret: secrets(values) })
}

function options(): OpenOptions {
  const { signal } = new AbortController()
  return { now: () => now, signal, findDecided: async () => new Set() }
}

async function readFrom(server: SshServer, spool: ExportFolder, settings: Settings = {}) {
  const { open, archive } = connect(server, spool, settings)
  const reading = await open(options())
  await allRows(reading)
  if (!reading.source || !archive) throw new Error('expected an export that can be archived')
  return { source: reading.source, archive }
}

/** A server with files that are old enough to be quiet. */
async function serving(files: Readonly<Record<string, string>>): Promise<SshServer> {
  const server = await sshServer()
  for (const [name, content] of Object.entries(files)) await put(server, name, content, modifiedAt)
  return server
}

async function put(server: SshServer, name: string, content: string, at: Date): Promise<void> {
  await writeFile(join(server.folder, name), content)
  await utimes(join(server.folder, name), at, at)
}
