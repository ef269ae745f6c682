import { mkdir, mkdtempDisposable, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findDrafts, removeDrafts, replaceFile } from '../../src/system/replace-file.ts'

const newFolder = () => mkdtempDisposable(join(tmpdir(), 'replace-file-'))

test('a file is written as a whole, for its owner only', async () => {
  await using folder = await newFolder()
  const path = join(folder.path, 'key')

  const result = await replaceFile(path, async (draft) => {
    await draft.writeFile('secret\n')
    return 7
  })

  expect(result).toBe(7)
  expect(await readFile(path, 'utf8')).toBe('secret\n')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await readdir(folder.path)).toEqual(['key'])
})

test('readers see the old content until the new one is complete', async () => {
  await using folder = await newFolder()
  const path = join(folder.path, 'key')
  await writeFile(path, 'old')

  const result = await replaceFile(path, async (draft) => {
    await draft.writeFile('half of the new')
    return readFile(path, 'utf8')
  })

  expect(result).toBe('old')
  expect(await readFile(path, 'utf8')).toBe('half of the new')
})

test('a full disk is a failure that names the file', async () => {
  await using folder = await newFolder()
  const path = join(folder.path, 'key')

  const failed = replaceFile(path, () => writeFile('/dev/full', 'x'))

  await expect(failed).rejects.toMatchObject({
    code: 'disk_full',
    message: `cannot write ${path}: its disk is full (ENOSPC); free some space on it`,
  })
  expect(await readdir(folder.path)).toEqual([])
})

test('the old file stays if writing fails, and no draft remains', async () => {
  await using folder = await newFolder()
  const path = join(folder.path, 'key')
  await writeFile(path, 'old')

  const replacing = replaceFile(path, async (draft) => {
    await draft.writeFile('half')
    throw new Error('the disk is full')
  })

  await expect(replacing).rejects.toThrow('the disk is full')
  expect(await readFile(path, 'utf8')).toBe('old')
  expect(await readdir(folder.path)).toEqual(['key'])
})

test('a draft that a killed process left behind does no harm', async () => {
  await using folder = await newFolder()
  const path = join(folder.path, 'key')
  await writeFile(`${path}.${process.pid}.draft`, 'left behind')

  await replaceFile(path, (draft) => draft.writeFile('new'))

  expect(await readFile(path, 'utf8')).toBe('new')
  expect(await readdir(folder.path)).toEqual(['key'])
})

test('old drafts are removed, and neither new ones nor what somebody put beside the file', async () => {
  await using folder = await newFolder()
  const path = join(folder.path, 'key')
  const names = ['key.12.draft', 'key.34.draft', 'key.20260102', 'key.old.draft', 'other.12.draft']
  for (const name of names) await writeFile(join(folder.path, name), '')
  const [old, before] = [new Date('2026-01-01'), new Date('2026-01-02')]
  for (const name of names.filter((one) => one !== 'key.34.draft')) await utimes(join(folder.path, name), old, old)

  const drafts = await findDrafts(path, before)
  await removeDrafts(path, before)

  expect([drafts, await findDrafts(path, before)]).toEqual([[join(folder.path, 'key.12.draft')], []])
  expect((await readdir(folder.path)).sort()).toEqual(names.slice(1).sort())
})

test('a draft that cannot be removed is no failure, and the others are removed', async () => {
  await using folder = await newFolder()
  const path = join(folder.path, 'key')
  // A folder stands for what may not be removed.
  await mkdir(`${path}.12.draft`)
  await writeFile(`${path}.34.draft`, '')

  await removeDrafts(path, new Date(Date.now() + 60_000))

  expect(await readdir(folder.path)).toEqual(['key.12.draft'])
})
