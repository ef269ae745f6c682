import { appendFile, link, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exportFileAt } from '../../../src/connectors/file/export-file.ts'
import { moveInto, remove } from '../../../src/connectors/folder/move.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'
import { folderElsewhere, refusalOf } from '../../helpers/sources/folder-source.ts'

const text = 'id,name\n1,a\n'

describe('a file that changed after it was found', () => {
  const changes: readonly [string, (path: string, folder: ExportFolder) => Promise<unknown>, string][] = [
    ['was appended to', (path) => appendFile(path, '2,b\n'), `${text}2,b\n`],
    [
      'was replaced',
      async (path, folder) => rename(await folder.write('new', 'id,name\n2,b\n'), path),
      'id,name\n2,b\n',
    ],
  ]

  test.for(changes)('stays in its place when it %s, and is not moved', async ([, change, expected]) => {
    await using folder = await exportFolder()
    const path = await folder.write('people.csv', text)
    const file = await exportFileAt(path)

    await change(path, folder)
    await moveInto(join(folder.path, 'archive'), file, 'stamp')

    expect(await readFile(path, 'utf8')).toBe(expected)
    expect(await readdir(join(folder.path, 'archive'))).toEqual([])
  })

  test.for(changes)('stays in its place when it %s, and is not deleted', async ([, change, expected]) => {
    await using folder = await exportFolder()
    const path = await folder.write('people.csv', text)
    const file = await exportFileAt(path)

    await change(path, folder)
    await remove(file)

    expect(await readFile(path, 'utf8')).toBe(expected)
    expect(await readdir(folder.path)).toEqual(['people.csv'])
  })

  test.for(changes)('stays in its place when it %s, and leaves no copy elsewhere', async ([, change, expected]) => {
    await using folder = await exportFolder()
    await using elsewhere = await folderElsewhere()
    const path = await folder.write('people.csv', text)
    const file = await exportFileAt(path)

    await change(path, folder)
    await moveInto(elsewhere.path, file, 'stamp')

    expect(await readFile(path, 'utf8')).toBe(expected)
    expect(await readdir(elsewhere.path)).toEqual([])
  })
})

describe('a file that has gone', () => {
  test('is neither moved nor deleted, and leaves nothing behind', async () => {
    await using folder = await exportFolder()
    await using elsewhere = await folderElsewhere()
    const path = await folder.write('people.csv', text)
    const file = await exportFileAt(path)

    await rm(path)
    await moveInto(join(folder.path, 'archive'), file, 'stamp')
    await moveInto(elsewhere.path, file, 'stamp')
    await remove(file)

    expect(await readdir(folder.path, { recursive: true })).toEqual(['archive'])
    expect(await readdir(elsewhere.path)).toEqual([])
  })
})

test('another name of the same file stays as it is', async () => {
  await using folder = await exportFolder()
  const path = await folder.write('people.csv', text)
  await mkdir(join(folder.path, 'mine'))
  await link(path, join(folder.path, 'mine/people.csv'))

  await remove(await exportFileAt(path))

  expect(await readFile(join(folder.path, 'mine/people.csv'), 'utf8')).toBe(text)
})

test('a name that grows too long is refused, and the file stays', async () => {
  await using folder = await exportFolder()
  const path = await folder.write(`${'x'.repeat(250)}.csv`, text)

  const message = await refusalOf(async () => moveInto(join(folder.path, 'archive'), await exportFileAt(path), 'stamp'))

  expect(message).toContain('the name is too long')
  expect(await readFile(path, 'utf8')).toBe(text)
})
