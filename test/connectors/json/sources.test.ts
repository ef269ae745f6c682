import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Reading } from '../../../src/connectors/connector.ts'
import { FolderSource } from '../../../src/connectors/folder/settings.ts'
import { objectStorageConnector } from '../../../src/connectors/object-storage/open.ts'
import { ObjectStorageSource } from '../../../src/connectors/object-storage/settings.ts'
import { sftpConnector } from '../../../src/connectors/sftp/open.ts'
import { SftpSource } from '../../../src/connectors/sftp/settings.ts'
import { testBucket } from '../../helpers/sources/buckets.ts'
import { allRows } from '../../helpers/sources/csv.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'
import { identityOf, openIn, openOptions } from '../../helpers/sources/folder-source.ts'
import { account, sshServer } from '../../helpers/sources/ssh-server.ts'

const people = [
  { id: '007', name: 'Ana', manager: { id: '8' } },
  { id: '8', name: 'Ben', manager: null },
]
const text = JSON.stringify({ total: 2, people })
const json = { format: 'json', records: '/people' } as const
const end = '/total counts 2 records, and 2 were read'

async function expectPeople(reading: Reading): Promise<void> {
  const rows = await allRows(reading)
  expect(reading).toMatchObject({
    ...{ headers: ['id', 'name', 'manager.id', 'manager'], sparse: true, missingIsBlank: true },
    source: { name: 'people.json', bytes: text.length, records: 2, end: `the JSON text is complete: ${end}` },
  })
  expect(rows.map(({ values }) => values)).toEqual([
    ['007', 'Ana', '8', undefined],
    ['8', 'Ben', '', ''],
  ])
}

test('a JSON file is read from a folder, also beside its side file', async () => {
  await using folder = await exportFolder()
  await folder.write('people.json', text)
  await folder.write('people.rows', '2\n')
  const settings = { type: 'folder', path: '*.json', ...json } as const
  const complete = { quietSeconds: 0, sideFile: { suffix: '.rows', holds: 'rows' } } as const

  await expectPeople(await openIn(folder, settings))
  await expectPeople(await openIn(folder, { ...settings, complete }))
  await folder.write('people.rows', '3\n')

  await expect(openIn(folder, { ...settings, complete }).then(allRows)).rejects.toThrow(
    'people.json has 2 rows, not counting a header, and its side file states 3',
  )
})

test('of several JSON files each is read once, the oldest first, and a delta leaves out what it does not state', async () => {
  await using folder = await exportFolder()
  for (const [index, name] of ['b', 'c', 'a'].entries())
    await folder.write(`${name}.json`, `[{"id":"${name}"}]`, { modifiedAt: new Date(2026, 4, index + 1) })
  const settings = { type: 'folder', path: '*.json', format: 'json', take: 'each', mode: 'delta' } as const
  const decided = new Set<string>()
  const findDecided = async (versions: readonly string[]) => decided.intersection(new Set(versions))

  const names: string[] = []
  for (;;) {
    const reading = await openIn(folder, settings, { findDecided })
    if (reading.source === null) break
    names.push(reading.source.name)
    decided.add(identityOf(reading).version)
    expect(reading).toMatchObject({ mode: 'delta', missingIsBlank: false })
    expect(await allRows(reading)).toMatchObject([{ values: [reading.source.name.slice(0, 1)] }])
  }

  expect(names).toEqual(['b.json', 'c.json', 'a.json'])
})

test('a JSON file is read from an SFTP server, and its copy is removed', async () => {
  await using server = await sshServer()
  await using spool = await exportFolder()
  const old = new Date('2026-05-01T01:00:00Z')
  await writeFile(join(server.folder, 'people.json'), text)
  await utimes(join(server.folder, 'people.json'), old, old)
  const source = SftpSource.parse({
    ...{ type: 'sftp', host: '127.0.0.1', port: server.port, username: account.username, password: 'elsewhere' },
    ...{ hostKeys: [server.fingerprint], path: '*.json', mode: 'snapshot', ...json },
  })
  const secret = (path: string) => (path === 'password' ? { read: async () => account.password } : null)
  const context = { baseDir: spool.path, spoolDir: spool.path, secret }

  await expectPeople(await sftpConnector(source, context).open(openOptions()))

  expect(await readdir(spool.path)).toEqual([])
})

test('a JSON file is read from a bucket, and a cut one leaves no copy', async () => {
  await using bucket = await testBucket('s3')
  await using spool = await exportFolder()
  const settings = { ...bucket.settings, pattern: 'people.json', ...json }
  const context = { baseDir: '/', spoolDir: spool.path, secret: bucket.secret }
  const connector = objectStorageConnector(ObjectStorageSource.parse(settings), context)

  await bucket.put('people.json', text)
  await expectPeople(await connector.open(openOptions()))
  await bucket.put('people.json', text.slice(0, -3))

  await expect(connector.open(openOptions())).rejects.toThrow('people.json ends within its list of records')
  expect(await readdir(spool.path)).toEqual([])
})

test('settings of tables are refused for JSON, those of text for workbooks, and those of JSON for tables', () => {
  const issuesOf = (settings: object) =>
    FolderSource.safeParse({ path: 'exports/*', mode: 'snapshot', ...settings }).error?.issues.map(
      ({ path, message }) => `${path}: ${message}`,
    )

  expect(issuesOf({ type: 'folder', ...json, ignoredStatements: ['/total'] })).toBeUndefined()
  expect(issuesOf({ type: 'csv', ...json })).toEqual(['type: a folder of workbooks or JSON files has type: folder'])
  expect(issuesOf({ type: 'folder', ...json, records: 'people' })).toEqual([
    'records: expected a JSON pointer such as /data/items, or nothing for the whole',
  ])
  expect(
    issuesOf({
      ...{ type: 'folder', ...json, footer: { rows: 1 }, trailer: { startsWith: 'T', rowsAt: 2 }, headerLine: 2 },
      ...{ linesAfterHeader: 1, encoding: 'windows-1252' },
      ...{ delimiter: ';', quote: "'", escape: '\\', lastLine: 'any' },
    }),
  ).toEqual([
    ...['delimiter', 'quote', 'escape', 'lastLine', 'encoding'].map((path) => `${path}: is not for format: json`),
    ...['footer', 'trailer', 'headerLine', 'linesAfterHeader'].map((path) => `${path}: is not for format: json`),
  ])
  const sheet = { type: 'folder', format: 'xlsx', headerLine: 2, footer: { rows: 1 } }
  expect(issuesOf(sheet)).toBeUndefined()
  expect(issuesOf({ ...sheet, delimiter: ';', encoding: 'windows-1252', lastLine: 'any' })).toEqual(
    ['delimiter', 'lastLine', 'encoding'].map((path) => `${path}: is not for format: xlsx`),
  )
  expect(issuesOf({ type: 'csv', records: '/people', ignoredStatements: ['/total'] })).toEqual([
    'records: is for format: json',
    'ignoredStatements: is for format: json',
  ])
})
