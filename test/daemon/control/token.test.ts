import { mkdtempDisposable, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ensureControlToken, readControlToken } from '../../../src/daemon/control/token.ts'

const newFolder = () => mkdtempDisposable(join(tmpdir(), 'control-token-'))

test('the token is made once and kept for the owner only', async () => {
  await using folder = await newFolder()
  const place = { dataDir: folder.path, configured: null }

  const made = await ensureControlToken(place)

  expect(await ensureControlToken(place)).toBe(made)
  expect(await readControlToken(place)).toBe(made)
  expect((await stat(join(folder.path, 'control-token'))).mode & 0o777).toBe(0o600)
})

test('a token file that a killed process left empty is filled at the next start', async () => {
  await using folder = await newFolder()
  const file = join(folder.path, 'control-token')
  await writeFile(file, '', { mode: 0o600 })

  const token = await ensureControlToken({ dataDir: folder.path, configured: null })

  expect(await readFile(file, 'utf8')).toBe(`${token}\n`)
})
