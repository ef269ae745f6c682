import { mkdir, readFile, truncate, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { readHeadFromBytes } from '../../../src/connectors/file/decode/head.ts'
import { findMatches, parseExportPattern } from '../../../src/connectors/folder/matches.ts'
import { previewSource } from '../../../src/daemon/proposal/preview-source.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { gzipOfZeros } from '../../helpers/sources/hostile-files.ts'
import { account, sshServer } from '../../helpers/sources/ssh-server.ts'
import { rowOf, workbookOf } from '../../helpers/sources/workbooks.ts'
import { zipOf } from '../../helpers/sources/zip.ts'

const text = 'Worker ID,First Name\nW1,Ana\n'
const mebibyte = 1024 * 1024

async function workFolder(files: Readonly<Record<string, string | Uint8Array>>) {
  const { path, ...rest } = await temporaryFolder()
  await mkdir(join(path, 'exports'))
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content)
  const look = async (at: string, more: object = {}) => {
    const preview = await previewSource(
      { location: at, ...more },
      { workingDirectory: path, configFolder: path, signal: new AbortController().signal },
    )
    if ('list' in preview) throw new Error('this is a list, and no export')
    return preview
  }
  return { path, look, ...rest }
}

test('a workbook is previewed as a whole, and a folder of workbooks becomes their pattern', async () => {
  const book = await workbookOf({ sheet: rowOf(1, 'id', 'name') })
  await using at = await workFolder({ 'exports/people.xlsx': book, 'people-2026-11-20.xlsx': book })
  await using mixed = await workFolder({ 'exports/people.xlsx': book, 'exports/people.csv': text })

  const folder = await at.look('exports')
  const file = await at.look('people-2026-11-20.xlsx')

  expect(folder).toMatchObject({ head: { name: 'people.xlsx', isWhole: true, isWorkbook: true }, laterExports: null })
  expect(folder.head.bytes.equals(book)).toBe(true)
  expect(folder.source).toEqual({ type: 'folder', path: 'exports/*.xlsx' })
  expect(file.source).toEqual({ type: 'folder', path: 'people-[0-9]*.xlsx' })
  expect((await mixed.look('exports')).source).toEqual({ type: 'csv', path: 'exports/*.csv' })
})

test('a packed workbook is refused by what it is, and a text that begins with PK is none', async () => {
  const book = await workbookOf({ sheet: rowOf(1, 'id', 'name') })
  await using at = await workFolder({ 'people.xlsx.gz': gzipSync(book), 'people.zip': await zipOf({ 'a.xlsx': book }) })

  for (const name of ['people.xlsx.gz', 'people.zip'])
    await expect(at.look(name)).rejects.toThrow(
      `${name} is a packed zip or workbook: unpack it to look at it here; a run reads a packed workbook with format: xlsx`,
    )
  const start = { name: 'people.csv', isWhole: false, signal: new AbortController().signal }
  expect((await readHeadFromBytes(Buffer.from('PKEY;name\n1;Ana\n'), start)).isWorkbook).toBeUndefined()
})

test('a workbook of which only the beginning could be fetched is refused', async () => {
  const { signal } = new AbortController()
  const bytes = await workbookOf({ sheet: rowOf(1, 'id', 'name') })

  await expect(
    readHeadFromBytes(bytes.subarray(0, 500), { name: 'people.xlsx', isWhole: false, signal }),
  ).rejects.toThrow(
    'people.xlsx is a zip or a workbook of more than 32 MiB, which is read from its end: look at a copy on this machine',
  )
})

test('of a folder the newest export is previewed, and the path becomes a pattern', async () => {
  await using at = await workFolder({ 'exports/old.csv': 'old,old\n', 'exports/new.csv': text })
  await utimes(join(at.path, 'exports', 'old.csv'), 1, 1)

  const { head, source } = await at.look('exports')

  expect({ ...head, bytes: head.bytes.toString() }).toEqual({
    name: 'new.csv',
    bytes: text,
    isWhole: true,
    hasFinalLineEnd: true,
  })
  expect(source).toEqual({ type: 'csv', path: 'exports/*.csv' })
})

test('a file with a date in its name stands for those that follow', async () => {
  await using at = await workFolder({ 'people-2026-11-20.csv': text })

  const { source, laterExports: later } = await at.look('people-2026-11-20.csv')

  expect({ source, later }).toEqual({ source: { type: 'csv', path: 'people-[0-9]*.csv' }, later: null })
})

test('a file without a date leaves open how later ones are named, and the preview says whether other files would be read', async () => {
  await using at = await workFolder({
    'people.csv.gz': gzipSync(text),
    'people-archive.csv.gz': '',
    'staff.csv': text,
    'staff-2026-11-20.csv': text,
  })

  const alone = await at.look('people.csv.gz')
  const beside = await at.look('staff.csv')
  const pattern = await at.look('staff-*.csv')

  expect([alone.laterExports, beside.laterExports, pattern.laterExports]).toEqual([
    { path: 'people.csv.gz', pattern: 'people{,[0-9]*,[-_. ][0-9]*}.csv.gz', isAlone: true },
    { path: 'staff.csv', pattern: 'staff{,[0-9]*,[-_. ][0-9]*}.csv', isAlone: false },
    null,
  ])
})

test.each([
  ['people.csv', ['people.csv', 'people2.csv', 'people-2026-11-21.csv', 'people_20261121T0200.csv', 'people 3.csv']],
  ['people-2026-11-20.csv', ['people-2026-11-20.csv', 'people-2026-11-21.csv', 'people-20261121.csv']],
])('the pattern for exports that follow %s matches none of another kind', async (name, exports) => {
  const others = ['people-archive.csv', 'people-left-2026.csv', 'people_new.csv', 'peoples.csv', 'people.old.csv']
  await using at = await workFolder({ [name]: text })
  const { source, laterExports: later } = await at.look(name)
  for (const one of [...exports, ...others]) await writeFile(join(at.path, one), text)

  const pattern = parseExportPattern(later?.pattern ?? String(source.path), at.path)
  const matches = await findMatches(pattern, { suffixes: [], folders: [] })

  expect(matches.map(({ file }) => file.name).toSorted()).toEqual(exports.toSorted())
})

test('a packed export is unpacked only as far as the preview reads', async () => {
  await using at = await workFolder({ 'people.zip': await zipOf({ 'people.csv': text }) })

  const { head } = await at.look('people.zip')

  expect(head.bytes.toString()).toBe(text)
})

describe('what is read of an export is bounded', () => {
  test('of 2 GB, the beginning and the last bytes', async () => {
    await using at = await workFolder({ 'people.csv': text })
    await truncate(join(at.path, 'people.csv'), 2 * 1024 ** 3)

    const { head } = await at.look('people.csv')

    expect(head).toMatchObject({ isWhole: false, hasFinalLineEnd: false })
    expect(head.bytes.length).toBe(32 * mebibyte)
  })

  test('of a file that unpacks to 2 GB, no more than shows that it is no export', async () => {
    await using at = await workFolder({ 'people.csv.gz': gzipOfZeros(2 * 1024 ** 3) })

    await expect(at.look('people.csv.gz')).rejects.toThrow('people.csv.gz unpacks to more than 200 times its size')
  })
})

const severalFiles = await zipOf({ a: 'x', b: 'y' })

describe('what cannot be an export is refused in a sentence', () => {
  test.each([
    ['a PDF', 'people.csv', '%PDF-1.7 and more of it, for it is long', 'people.csv is a PDF: have it exported as CSV'],
    [
      'an empty file',
      'people.csv',
      '',
      'people.csv is empty (0 bytes): check the export; an empty file says nothing about anybody',
    ],
    ['a zip of several files', 'people.csv', severalFiles, /is a zip with 2 entries/],
    [
      'a workbook',
      'people.csv',
      Buffer.from('d0cf11e0a1b11ae1'.repeat(8), 'hex'),
      /is an Excel workbook of the old kind, or one with a password/,
    ],
  ])('%s', async (_what, name, content, message) => {
    await using at = await workFolder({ [name]: content })

    await expect(at.look(name)).rejects.toThrow(message)
  })

  test('a path without a file, and an address of another kind', async () => {
    await using at = await workFolder({})

    await expect(at.look('nothing.csv')).rejects.toThrow(/nothing\.csv/)
    await expect(at.look('exports')).rejects.toThrow(/no file matches/)
    await expect(at.look('ftp://hr.example/people.csv')).rejects.toThrow(
      'a source is a file, a folder, or an address with sftp://, https://, s3://, gs:// or az://',
    )
  })
})

test('an export on an SFTP server is previewed with a secret from a file, which is referenced and not copied', async () => {
  await using server = await sshServer()
  await using at = await workFolder({ secret: `${account.password}\n` })
  await mkdir(join(server.folder, 'exports'))
  for (const name of ['people.csv', 'exports/people.csv']) await writeFile(join(server.folder, name), text)
  const from = { secretFile: 'secret', hostKey: server.fingerprint }
  const address = `sftp://${account.username}@127.0.0.1:${server.port}/people.csv`

  const { head, source } = await at.look(address, from)

  expect(head.bytes.toString()).toBe(text)
  expect(source).toEqual({
    type: 'sftp',
    host: '127.0.0.1',
    port: server.port,
    username: account.username,
    hostKeys: [server.fingerprint],
    path: '/people.csv',
    password: `\${file:secret}`,
  })
  const folder = await at.look(address.replace('/people.csv', '/exports'), from)
  expect(folder.source).toMatchObject({ path: '/exports/*.csv' })
  expect(folder.head.bytes.toString()).toBe(text)
  await mkdir(join(server.folder, 'api'))
  for (const name of ['api/people.json', 'api/.people.csv']) await writeFile(join(server.folder, name), '[{"id":1}]')
  for (const path of ['/api', '/api/']) {
    const named = { ...from, location: address.replace('/people.csv', path) }
    const options = { workingDirectory: at.path, configFolder: at.path, signal: new AbortController().signal }
    expect((await previewSource(named, options)).source).toMatchObject({ path: '/api/*.json', format: 'json' })
  }
  await expect(at.look(address)).rejects.toThrow(/needs --secret-file .* and --host-key/)
  await expect(at.look(address.replace('@', ':word@'))).rejects.toThrow(/others can read a password/)
})

test('an export at an address is previewed with a token from a file', async () => {
  const authorizations: (string | undefined)[] = []
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization)
    response.writeHead(200, { 'content-type': 'text/csv' }).end(text)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  await using _server = { [Symbol.asyncDispose]: async () => void server.close() }
  await using at = await workFolder({ token: 'token-of-hr\n' })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/people.csv`

  const { head, source } = await at.look(url, { secretFile: 'token' })

  expect(head).toMatchObject({ name: 'people.csv', isWhole: true })
  expect(source).toEqual({ type: 'http', url, format: 'csv', allowPrivate: true, bearer: `\${file:token}` })
  expect(authorizations).toEqual(['Bearer token-of-hr'])
  expect(await readFile(join(at.path, 'token'), 'utf8')).toBe('token-of-hr\n')
})
