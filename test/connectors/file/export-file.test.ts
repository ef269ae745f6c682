import { execFile } from 'node:child_process'
import { appendFile, chmod, mkdir, open, rename, rm, symlink, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { exportFileAt, readBytes } from '../../../src/connectors/file/export-file.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'
import { asNobody, type FolderSettings, openIn, refusalOf, rowsOf } from '../../helpers/sources/folder-source.ts'

const run = promisify(execFile)
const header = 'id,name\n'

describe('a source that cannot be read is refused', () => {
  test.for<[string, FolderSettings, string]>([
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
    [
      'links run in a circle',
      { path: 'circle/*.csv' },
      'cannot read FOLDER/circle/*.csv: its symbolic links run in a circle',
    ],
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
  ])('%s', async ([, settings, expected]) => {
    await using folder = await exportFolder()
    await folder.write('empty', '')
    await folder.write('blank', '\n\r\n\n')
    await folder.write('mark', '\uFEFF')
    await symlink('circle', join(folder.path, 'circle'))
    await run('mkfifo', [join(folder.path, 'fifo')])

    const message = await refusalOf(() => openIn(folder, settings))

    expect(message).toContain(expected.replace('FOLDER', folder.path))
  })

  test('without permission', async () => {
    await using folder = await exportFolder()
    const file = await folder.write('people.csv', header)
    await chmod(folder.path, 0o755)
    await chmod(file, 0)

    const message = await asNobody(() => refusalOf(() => openIn(folder)))

    expect(message).toBe(`cannot read ${file}: permission denied; let the account that runs Rollcall read it`)
  })

  test('without permission to look into the folder', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)
    await chmod(folder.path, 0o711)

    const message = await asNobody(() => refusalOf(() => openIn(folder)))

    expect(message).toBe(`cannot read ${folder.path}: permission denied; let the account that runs Rollcall read it`)
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
  ])('%s between its header and its rows', async ([, change]) => {
    await using folder = await exportFolder()
    const file = await folder.write('people.csv', `${header}1,a\n2,b\n`, {
      modifiedAt: new Date('2026-11-20T01:00:00Z'),
    })
    const reading = await openIn(folder)

    await change(file, folder)
    const message = await refusalOf(() => rowsOf(reading))

    expect(message).toContain('people.csv changed while it was read: write an export under another name')
  })

  test('replaced by a link to a device without an end', async () => {
    await using folder = await exportFolder()
    const file = await folder.write('people.csv', `${header}1,a\n2,b\n`)
    const reading = await openIn(folder)

    await rm(file)
    await symlink('/dev/zero', file)

    expect(await refusalOf(() => rowsOf(reading))).toContain('people.csv is a symbolic link')
  })

  test('taken away between its header and its rows', async () => {
    await using folder = await exportFolder()
    const file = await folder.write('people.csv', `${header}1,a\n2,b\n`)
    const reading = await openIn(folder)

    await rm(file)

    expect(await refusalOf(() => rowsOf(reading))).toBe(
      `cannot read ${file}: there is no such file or folder; check the path`,
    )
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
    const reading = await openIn(folder)
    const slices = reading.rows[Symbol.asyncIterator]()

    await slices.next()
    await change(file)
    const message = await refusalOf(async () => {
      while (!(await slices.next()).done);
    })

    expect(message).toContain('people.csv changed while it was read')
  })
})

describe('a single file', () => {
  test('is described under the name that is asked for, and read byte by byte as it was', async () => {
    await using folder = await exportFolder()
    const path = await folder.write('spooled', header, { modifiedAt: new Date('2026-11-20T01:00:00Z') })

    const file = await exportFileAt(path, 'people.csv')
    const chunks = await Array.fromAsync(readBytes(file, new AbortController().signal))

    expect(file).toMatchObject({ path, name: 'people.csv', bytes: 8, modifiedAtMs: Date.UTC(2026, 10, 20, 1) })
    expect(Buffer.concat(chunks).toString()).toBe(header)
  })

  test.for([
    ['missing', 'there is no such file or folder'],
    ['empty', 'empty is empty (0 bytes)'],
    ['link', 'is a symbolic link'],
    ['folder', 'is a folder'],
  ])('is refused when it is %s', async ([name = '', expected]) => {
    await using folder = await exportFolder()
    await folder.write('empty', '')
    await symlink('empty', join(folder.path, 'link'))
    await mkdir(join(folder.path, 'folder'))

    expect(await refusalOf(() => exportFileAt(join(folder.path, name)))).toContain(expected)
  })
})

test('rows arrive in slices, so that memory does not grow with the file', async () => {
  await using folder = await exportFolder()
  await folder.write('people.csv', header + '12345,somebody\n'.repeat(100_000))
  const sizes: number[] = []

  for await (const slice of (await openIn(folder)).rows) sizes.push(slice.length)

  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(100_000)
  expect(Math.max(...sizes)).toBeLessThan(10_000)
})

test('an abort ends the reading with the reason of the abort', async () => {
  await using folder = await exportFolder()
  await folder.write('people.csv', header + '12345,somebody\n'.repeat(100_000))
  const controller = new AbortController()
  const { rows } = await openIn(folder, {}, { signal: controller.signal })
  const slices = rows[Symbol.asyncIterator]()

  await slices.next()
  controller.abort(new Error('enough'))

  await expect(slices.next()).rejects.toThrow('enough')
})
