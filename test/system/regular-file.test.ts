import { execFileSync } from 'node:child_process'
import { mkdtempDisposable, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readProblem, readRegular, readRegularSync } from '../../src/system/regular-file.ts'

const newFolder = () => mkdtempDisposable(join(tmpdir(), 'regular-file-'))
const both = [
  ['read', readRegular],
  ['read at once', async (path: string) => readRegularSync(path)],
] as const

test.each(both)('a file is %s, also behind a link', async (_how, read) => {
  await using folder = await newFolder()
  await writeFile(join(folder.path, 'key'), 'sesame ✓\n')
  await symlink('key', join(folder.path, 'mounted'))

  expect(await read(join(folder.path, 'mounted'))).toBe('sesame ✓\n')
})

test.each(both)('a file that is not regular, or too large, is refused when it is %s', async (_how, read) => {
  await using folder = await newFolder()
  const pipe = join(folder.path, 'pipe')
  execFileSync('mkfifo', [pipe])
  await symlink('/dev/zero', join(folder.path, 'zeros'))
  await writeFile(join(folder.path, 'large'), '')
  await truncate(join(folder.path, 'large'), 1024 * 1024 + 1)
  const problemOf = async (name: string): Promise<string> => {
    const error = await read(join(folder.path, name)).catch((thrown: unknown) => thrown)
    return readProblem(error, 'create it')
  }

  expect(await Promise.all(['pipe', 'zeros', '.', 'large', 'none'].map(problemOf))).toEqual([
    ': it is a pipe; name a regular file',
    ': it is a device; name a regular file',
    ': it is a folder; name a regular file',
    ': it is larger than 1 MiB; check that it is the right file',
    ' (ENOENT): create it',
  ])
})
