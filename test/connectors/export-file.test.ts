import { execFile } from 'node:child_process'
import { appendFile, chmod, mkdir, open, rename, rm, symlink, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { Failure } from '../../src/errors.ts'
import { allRows, openCsv, readCsv, type Settings } from '../helpers/csv.ts'
import { type ExportFolder, exportFolder } from '../helpers/exports.ts'

const run = promisify(execFile)
const header = 'id,name\n'

describe('which file is read', () => {
  test('the newest match', async () => {
    await using folder = await exportFolder()
    await folder.write('z.csv', 'id\n1\n', { modifiedAt: new Date('2026-11-18T01:00:00Z') })
    await folder.write('a.csv', 'id\n2\n', { modifiedAt: new Date('2026-11-20T01:00:00Z') })
    await folder.write('m.csv', 'id\n3\n', { modifiedAt: new Date('2026-11-19T01:00:00Z') })

    const reading = await openCsv(folder)

    expect(reading.source).toEqual({ name: 'a.csv', bytes: 5 })
    expect(reading.asOf).toBe('2026-11-20T01:00:00.000Z')
    expect((await allRows(reading)).map(({ origin }) => origin)).toEqual([{ file: 'a.csv', line: 2 }])
  })

  test('of several from the same moment the last one by name', async () => {
    await using folder = await exportFolder()
    const modifiedAt = new Date('2026-11-20T01:00:00Z')
    for (const name of ['day-09.csv', 'day-10.csv', 'day-08.csv']) await folder.write(name, header, { modifiedAt })

    const { source } = await openCsv(folder)

    expect(source.name).toBe('day-10.csv')
  })

  test('folders and hidden files are no exports', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header, { modifiedAt: new Date('2026-11-18T01:00:00Z') })
    await folder.write('.people.csv', header)
    await mkdir(join(folder.path, 'archive.csv'))

    const { source } = await openCsv(folder)

    expect(source.name).toBe('people.csv')
  })

  test('a name with brackets is found as it stands', async () => {
    await using folder = await exportFolder()
    await folder.write('people [final].csv', header)

    const { source } = await openCsv(folder, { path: 'people [final].csv' })

    expect(source.name).toBe('people [final].csv')
  })

  test('an absolute path and a symbolic link are followed', async () => {
    await using folder = await exportFolder()
    await symlink(await folder.write('2026-11-20.csv', header), join(folder.path, 'latest.csv'))

    const { headers } = await openCsv(folder, { path: join(folder.path, 'latest.csv') })

    expect(headers).toEqual(['id', 'name'])
  })
})

describe('a source that cannot be read is refused', () => {
  test.for<[string, Settings, string]>([
    [
      'nothing matches',
      { path: '*.csv' },
      'no file matches *.csv in FOLDER: check the path, and whether the export has arrived',
    ],
    ['the file is missing', { path: 'people.csv' }, 'no file matches people.csv in FOLDER: check the path'],
    ['the folder is missing', { path: 'exports/*.csv' }, 'cannot read FOLDER/exports: there is no such file or folder'],
    ['the path is a folder', { path: '.' }, 'FOLDER is a folder: name a file in it'],
    [
      'the path goes through a file',
      { path: 'empty/people.csv' },
      'cannot read FOLDER/empty/people.csv: a part of the path is no folder',
    ],
    ['links run in a circle', { path: 'circle' }, 'cannot read FOLDER/circle: its symbolic links run in a circle'],
    ['the name is too long', { path: 'x'.repeat(300) }, 'the path is too long'],
    ['the path is a device', { path: '/dev/zero' }, '/dev/zero is no regular file: write the export to a file first'],
    ['the path is a FIFO', { path: 'fifo' }, 'FOLDER/fifo is no regular file: write the export to a file first'],
    ['the file has 0 bytes', { path: 'empty' }, 'empty is empty (0 bytes): check the export'],
    ['the file has blank lines only', { path: 'blank' }, 'blank holds no header: its first line must name the columns'],
    [
      'the file has a byte order mark only',
      { path: 'mark' },
      'mark holds no header: its first line must name the columns',
    ],
  ])('%s', async ([, settings, message]) => {
    await using folder = await exportFolder()
    await folder.write('empty', '')
    await folder.write('blank', '\n\r\n\n')
    await folder.write('mark', '\uFEFF')
    await symlink('circle', join(folder.path, 'circle'))
    await run('mkfifo', [join(folder.path, 'fifo')])

    const failure = await failureOf(() => openCsv(folder, settings))

    expect(failure.code).toBe('source_unreadable')
    expect(failure.exit).toBe(66)
    expect(failure.message).toContain(message.replace('FOLDER', folder.path))
  })

  test('without permission', async () => {
    await using folder = await exportFolder()
    const file = await folder.write('people.csv', header)
    await chmod(folder.path, 0o755)
    await chmod(file, 0)

    const failure = await asNobody(() => failureOf(() => openCsv(folder)))

    expect(failure.message).toBe(`cannot read ${file}: permission denied; let the account that runs Rollcall read it`)
  })

  test('without permission to look into the folder', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)
    await chmod(folder.path, 0o711)

    const failure = await asNobody(() => failureOf(() => openCsv(folder)))

    expect(failure.message).toBe(
      `cannot read ${folder.path}: permission denied; let the account that runs Rollcall read it`,
    )
  })

  test.for<[string, string | Uint8Array, Settings, string]>([
    [
      'UTF-16 with a mark, declared as UTF-8',
      Buffer.from('\uFEFFid,name\n', 'utf16le'),
      {},
      'people.csv begins with the byte order mark of utf-16le, but the configuration says encoding: utf-8: write encoding: utf-16le',
    ],
    [
      'UTF-8 with a mark, declared as something else',
      '\uFEFFid,name\n',
      { encoding: 'windows-1252' },
      'people.csv begins with the byte order mark of utf-8, but the configuration says encoding: windows-1252: write encoding: utf-8',
    ],
    [
      'UTF-16 without a mark, declared as UTF-8',
      Buffer.from(header, 'utf16le'),
      {},
      'people.csv: the header is not in the configured encoding',
    ],
    [
      'a header with invalid bytes',
      Buffer.from('id,prénom\n', 'latin1'),
      {},
      'people.csv: the header is not in the configured encoding',
    ],
    [
      'a header with a misplaced quote',
      'id,na"me\n1,x\n',
      {},
      'people.csv:1: a quote in the header is not enclosed and doubled',
    ],
    [
      'a header that never ends',
      `"${'x'.repeat(2_000_000)}`,
      {},
      'people.csv: the row after line 0 is longer than 1 MiB',
    ],
  ])('%s', async ([, content, settings, message]) => {
    const failure = await failureOf(() => readCsv(content, settings))

    expect(failure.code).toBe('source_unreadable')
    expect(failure.message).toContain(message)
  })

  test.for([
    [
      'a quote that is not closed',
      `${header}1,x\n2,"y\n3,z\n`,
      'people.csv: a quote that opens after line 2 is not closed at the end of the file: the export was cut off',
    ],
    [
      'a record of more than 1 MiB',
      `${header}1,x\n2,${'y'.repeat(1_100_000)}\n3,z\n`,
      'people.csv: the row after line 2 is longer than 1 MiB',
    ],
    [
      'a record of a million cells',
      `${header}1,x\n${','.repeat(1_100_000)}\n3,z\n`,
      'people.csv: the row after line 2 is longer than 1 MiB',
    ],
    [
      'a quote that swallows more than 1 MiB',
      `${header}1,x\n2,"y\n${'3,z\n'.repeat(300_000)}`,
      'people.csv: the row after line 2 is longer than 1 MiB',
    ],
  ])('%s ends the reading', async ([, content = '', message]) => {
    const failure = await failureOf(() => readCsv(content))

    expect(failure.code).toBe('source_unreadable')
    expect(failure.message).toContain(message)
  })

  test('no value of a person stands in a message', async () => {
    const secret = 'Rumpelstilzchen'

    const failure = await failureOf(() => readCsv(`${header}1,"${secret}\n`))

    expect(`${failure.message} ${failure.stack} ${failure.cause}`).not.toContain(secret)
  })
})

describe('a file that changes while it is read is refused', () => {
  test.for<[string, (file: string, folder: ExportFolder) => Promise<unknown>]>([
    ['appended to', (file) => appendFile(file, '3,c\n')],
    ['cut off', (file) => truncate(file, 10)],
    ['written again', (_, folder) => folder.write('people.csv', `${header}1,c\n2,b\n`)],
    ['replaced', async (file, folder) => rename(await folder.write('new', `${header}1,a\n2,b\n`), file)],
    [
      'replaced by a FIFO',
      async (file) => {
        await rm(file)
        await run('mkfifo', [file])
      },
    ],
    [
      'replaced by a device without an end',
      async (file) => {
        await rm(file)
        await symlink('/dev/zero', file)
      },
    ],
  ])('%s between its header and its rows', async ([, change]) => {
    await using folder = await exportFolder()
    const file = await folder.write('people.csv', `${header}1,a\n2,b\n`, {
      modifiedAt: new Date('2026-11-20T01:00:00Z'),
    })
    const reading = await openCsv(folder)

    await change(file, folder)
    const failure = await failureOf(() => allRows(reading))

    expect(failure.code).toBe('source_unreadable')
    expect(failure.message).toContain('people.csv changed while it was read: write an export under another name')
  })

  test.for<[string, (file: string) => Promise<unknown>]>([
    ['appended to', (file) => appendFile(file, 'x,y\n')],
    ['cut off', (file) => truncate(file, 300_000)],
    [
      'changed in its last byte',
      async (file) => {
        await using handle = await open(file, 'r+')
        await handle.write('x', (await handle.stat()).size - 1)
      },
    ],
  ])('%s in the middle of its rows', async ([, change]) => {
    await using folder = await exportFolder()
    const file = await folder.write('people.csv', header + '1,a\n'.repeat(400_000), {
      modifiedAt: new Date('2026-11-20T01:00:00Z'),
    })
    const reading = await openCsv(folder)
    const slices = reading.rows[Symbol.asyncIterator]()

    await slices.next()
    await change(file)
    const failure = await failureOf(async () => {
      while (!(await slices.next()).done);
    })

    expect(failure.message).toContain('people.csv changed while it was read')
  })
})

test('rows arrive in slices, so that memory does not grow with the file', async () => {
  await using folder = await exportFolder()
  await folder.write('people.csv', header + '12345,somebody\n'.repeat(100_000))
  const sizes: number[] = []

  for await (const slice of (await openCsv(folder)).rows) sizes.push(slice.length)

  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(100_000)
  expect(Math.max(...sizes)).toBeLessThan(10_000)
})

test('an abort ends the reading with the reason of the abort', async () => {
  await using folder = await exportFolder()
  await folder.write('people.csv', header + '12345,somebody\n'.repeat(100_000))
  const controller = new AbortController()
  const { rows } = await openCsv(folder, {}, { signal: controller.signal })
  const slices = rows[Symbol.asyncIterator]()

  await slices.next()
  controller.abort(new Error('enough'))

  await expect(slices.next()).rejects.toThrow('enough')
})

async function failureOf(act: () => Promise<unknown>): Promise<Failure> {
  const error = await act().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Failure)) throw new Error(`expected a Failure, got ${String(error)}`)
  return error
}

/** Root may read everything, so that a test of permissions has to be somebody else for a moment. */
async function asNobody<T>(act: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    return await act()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}
