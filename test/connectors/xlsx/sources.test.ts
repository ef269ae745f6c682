import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Reading } from '../../../src/connectors/connector.ts'
import { FolderSource } from '../../../src/connectors/folder/settings.ts'
import { sftpConnector } from '../../../src/connectors/sftp/open.ts'
import { SftpSource } from '../../../src/connectors/sftp/settings.ts'
import { allRows, openFile, readCsv } from '../../helpers/sources/csv.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'
import { openIn, openOptions } from '../../helpers/sources/folder-source.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { csv, httpSource, openHttp, startHrServer } from '../../helpers/sources/hr-server.ts'
import { encrypted, keyOwner } from '../../helpers/sources/openpgp.ts'
import { account, sshServer } from '../../helpers/sources/ssh-server.ts'
import { rowOf, workbookOf, xlsx } from '../../helpers/sources/workbooks.ts'

const sheet = `${rowOf(1, 'id', 'name')}${rowOf(3, '007', 'Ana')}${rowOf(4, '008', 'Bo')}`
const book = await workbookOf({ sheet })
const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

async function expectPeople(reading: Reading): Promise<void> {
  const rows = await allRows(reading)
  expect(reading).toMatchObject({ headers: ['id', 'name'], columnLabels: ['A / id', 'B / name'] })
  expect(rows.map(({ values, origin }) => [values, origin])).toEqual([
    [['007', 'Ana'], { file: 'people.xlsx', line: 3 }],
    [['008', 'Bo'], { file: 'people.xlsx', line: 4 }],
  ])
  expect(reading.cellBytes?.()).toBe('007Ana008Bo'.length)
}

describe('a workbook is read', () => {
  test('from a folder, also beside its side file', async () => {
    await using folder = await exportFolder()
    await folder.write('people.xlsx', book)
    await folder.write('people.rows', '2\n')
    const settings = { type: 'folder', path: '*.xlsx', ...xlsx } as const
    const sideFile = { suffix: '.rows', holds: 'rows' } as const

    await expectPeople(await openIn(folder, settings))
    await expectPeople(await openIn(folder, { ...settings, complete: { quietSeconds: 0, sideFile } }))
    await folder.write('people.rows', '3\n')
    const other = await openIn(folder, { ...settings, complete: { quietSeconds: 0, sideFile } })

    await expect(allRows(other)).rejects.toThrow(
      'people.xlsx has 2 rows, not counting a header, and its side file states 3',
    )
  })

  test('from an SFTP server, and its copy is removed', async () => {
    await using server = await sshServer()
    await using spool = await exportFolder()
    const old = new Date('2026-05-01T01:00:00Z')
    await writeFile(join(server.folder, 'people.xlsx'), book)
    await utimes(join(server.folder, 'people.xlsx'), old, old)
    const source = SftpSource.parse({
      ...{ type: 'sftp', host: '127.0.0.1', port: server.port, username: account.username, password: 'elsewhere' },
      ...{ hostKeys: [server.fingerprint], path: '*.xlsx', mode: 'snapshot', ...xlsx },
    })
    const secret = (path: string) => (path === 'password' ? { read: async () => account.password } : null)

    const reading = await sftpConnector(source, { baseDir: spool.path, spoolDir: spool.path, secret }).open(
      openOptions(),
    )
    await expectPeople(reading)

    expect(await readdir(spool.path)).toEqual([])
  })

  test('over HTTP, with any type but that of another format', async () => {
    await using server = await startHrServer(csv(book, { 'content-type': type }))
    await using unnamed = await startHrServer(csv(book, { 'content-type': 'application/octet-stream' }))
    await using text = await startHrServer(csv('id\n1\n'))
    await using folder = await temporaryFolder()
    const open = (url: string, format: 'csv' | 'xlsx') =>
      openHttp({ url: `${url}/people.xlsx`, format }, { folder: folder.path })

    await expectPeople(await open(server.url, 'xlsx'))
    await expectPeople(await open(unnamed.url, 'xlsx'))
    expect(server.requests[0]?.headers.accept).toBe(`${type}, */*;q=0.5`)
    await expect(open(text.url, 'xlsx')).rejects.toThrow('answers with text/csv: expected xlsx; check format')
    await expect(open(server.url, 'csv')).rejects.toThrow(`answers with ${type}: expected csv; check format`)
  })

  test('that is encrypted', async () => {
    const owner = await keyOwner()
    const secrets = { 'decrypt.privateKey': owner.privateKey }
    const settings = { ...xlsx, decrypt: { privateKey: owner.privateKey } }

    const { rows } = await readCsv(await encrypted(book, { to: owner }), settings, { secrets })

    expect(rows).toEqual([
      ['007', 'Ana'],
      ['008', 'Bo'],
    ])
  })

  test('again from its beginning', async () => {
    await using folder = await exportFolder()
    await folder.write('people.xlsx', book)
    const opened = await openFile(folder, 'people.xlsx', xlsx)

    expect(await allRows(opened)).toEqual(await allRows(opened))
    expect(opened.cellBytes()).toBe('007Ana008Bo'.length)
  })
})

describe('settings', () => {
  const issuesOf = (settings: object) =>
    FolderSource.safeParse({ path: 'exports/*', mode: 'snapshot', ...settings }).error?.issues.map(
      ({ path, message }) => `${path}: ${message}`,
    )

  test('of a folder of workbooks name its type', () => {
    expect(issuesOf({ type: 'folder', format: 'xlsx', sheet: 'People' })).toBeUndefined()
    expect(issuesOf({ type: 'folder' })).toBeUndefined()
    expect(issuesOf({ type: 'csv', format: 'xlsx' })).toEqual([
      'type: a folder of workbooks or JSON files has type: folder',
    ])
  })

  test('name a sheet of a workbook only', () => {
    expect(issuesOf({ type: 'folder', sheet: 1 })).toEqual(['sheet: is for format: xlsx'])
    expect(issuesOf({ type: 'folder', format: 'xlsx', sheet: 0 })).toEqual([
      'sheet: Too small: expected number to be >=1',
    ])
    expect(() => httpSource({ url: 'https://hr.example/people', format: 'json', sheet: 1 })).toThrow(
      'is for format: xlsx',
    )
    expect(() => httpSource({ url: 'https://hr.example/people', format: 'xlsx', records: '/a' })).toThrow(
      'is for format: json',
    )
  })
})
