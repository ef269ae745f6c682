import { lstat, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { readReplaceable, whyNotWritable, writeConfig } from '../../../src/daemon/config/write-config.ts'

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-test '))
  file = join(folder, 'rollcall.yaml')
  await writeFile(file, 'old')
})
afterEach(async () => {
  vi.restoreAllMocks()
  await rm(folder, { recursive: true, force: true })
})

test('a file behind a link is replaced, and the link stays', async () => {
  const link = join(folder, 'link.yaml')
  await symlink('rollcall.yaml', link)
  await writeConfig(link, 'new', { replaces: 'old' })

  expect((await lstat(link)).isSymbolicLink()).toBe(true)
  expect(await readFile(file, 'utf8')).toBe('new')
})

test('a file that somebody else changed stays', async () => {
  await expect(writeConfig(file, 'new', { replaces: 'older' })).rejects.toThrow('has changed at this moment')
  expect(await readFile(file, 'utf8')).toBe('old')
})

test('a file that a container mounts as a single one says so before anybody saves', async () => {
  const mounts = join(folder, 'mountinfo')
  const at = (path: string) => `49 27 254:0 /a ${path.replaceAll(' ', '\\040')} rw,relatime - ext4 /dev/vda rw\n`
  await writeFile(mounts, at(folder) + at(file))

  expect(await whyNotWritable(file, mounts)).toContain('is mounted as a single file, which cannot be replaced')
  await writeFile(mounts, at(folder))
  expect(await whyNotWritable(file, mounts)).toBeNull()
})

test('a file whose owner the daemon cannot keep says so', async () => {
  vi.spyOn(process, 'geteuid').mockReturnValue(4321)

  expect(await whyNotWritable(file)).toContain('would change its owner or its group')
})

test('a file that is not UTF-8 is not read, since its other bytes would be lost', async () => {
  await writeFile(file, Buffer.from('# M\xfcller\n', 'latin1'))

  await expect(readReplaceable(file)).rejects.toThrow('is not UTF-8')
})
