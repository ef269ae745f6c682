import { writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { takeNewFileLock } from '../../src/system/file-lock.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'

test('where no file can be locked, a lock is refused after some attempts, and none of their files is left', async () => {
  await using folder = await temporaryFolder()
  const tried: string[] = []
  const newPath = () => join(folder.path, `${tried.length}.lock`)
  const lockNothing = (path: string) => {
    tried.push(path)
    writeFileSync(path, '')
    return null
  }

  const take = () => takeNewFileLock(newPath, lockNothing)

  expect(take).toThrow(
    expect.objectContaining({
      code: 'source_unreadable',
      message: expect.stringMatching(/can be locked: put dataDir on a local disk/),
    }),
  )
  expect(tried).toHaveLength(5)
  expect(await readdir(folder.path)).toEqual([])
})
