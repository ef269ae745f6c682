import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, open, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { removeAbandonedSpools } from '../../../src/connectors/http/lists/spool.ts'
import { openSpooled, releaseAbandonedDownloads } from '../../../src/connectors/remote/spool.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'

test('what a killed process left is continued by the next download, or removed; a running one keeps its own', async () => {
  await using folder = await temporaryFolder()
  const spool = join(folder.path, 'incoming', 'hr')
  const script = fileURLToPath(new URL('./children/fetch-and-die.ts', import.meta.url))
  const child = spawn(process.execPath, [script, spool], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')

  await releaseAbandonedDownloads(join(folder.path, 'incoming'))
  const whileAlive = await readdir(spool)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await using any = await open(join(folder.path, 'any'), 'w')
  // A part with its name may be continued, so its bytes have to be on the disk by then.
  const namesWhenSynced: string[][] = []
  const syncing = vi.spyOn(Object.getPrototypeOf(any), 'sync').mockImplementation(async () => {
    namesWhenSynced.push((await readdir(spool)).map((name) => name.replace(/.*\./, '')).toSorted())
  })
  await releaseAbandonedDownloads(join(folder.path, 'incoming'))
  syncing.mockRestore()
  await releaseAbandonedDownloads(join(folder.path, 'missing'))
  const afterwards = await readdir(spool)
  const continued = await openSpooled(spool, 'b'.repeat(64))
  const content = await readFile(continued.path, 'utf8')
  await (await continued.complete()).remove()

  expect(whileAlive.filter((name) => !name.includes('.lock')).toSorted()).toEqual([
    expect.stringMatching(/^a+\..*\.export$/),
    expect.stringMatching(/^b+\..*\.fetching$/),
  ])
  expect(namesWhenSynced).toEqual([expect.not.arrayContaining(['part'])])
  expect(afterwards).toEqual([`${'b'.repeat(64)}.part`])
  expect(content).toBe('half')
  expect(await readdir(spool)).toEqual([])
})

test('a part of a connection that nobody reads any more is removed after a day', async () => {
  await using folder = await temporaryFolder()
  const spool = join(folder.path, 'former')
  const spooled = await openSpooled(spool, 'a'.repeat(64))
  await spooled.keep()
  const part = join(spool, `${'a'.repeat(64)}.part`)
  await writeFile(join(spool, 'notes.txt'), '')

  await releaseAbandonedDownloads(folder.path)
  const onTheDay = await readdir(spool)
  await utimes(part, new Date(), new Date(Date.now() - 25 * 60 * 60 * 1000))
  await releaseAbandonedDownloads(folder.path)

  expect(onTheDay).toHaveLength(2)
  expect(await readdir(spool)).toEqual(['notes.txt'])
})

test('a folder that cannot be cleaned does not keep the others from it', async () => {
  await using folder = await temporaryFolder()
  const useless = `${'a'.repeat(64)}.part`
  for (const name of ['a', 'b', 'c']) await mkdir(join(folder.path, name))
  const dayBefore = new Date(Date.now() - 25 * 60 * 60 * 1000)
  for (const name of ['a', 'c']) {
    await writeFile(join(folder.path, name, useless), '')
    await utimes(join(folder.path, name, useless), dayBefore, dayBefore)
  }
  // A folder in the place of a lock cannot be opened as one.
  await mkdir(join(folder.path, 'b', `${'b'.repeat(64)}.${randomUUID()}.lock`))
  await mkdir(join(folder.path, 'b', `http-${randomUUID()}.lock`))
  const http = `http-${randomUUID()}.part`
  await writeFile(join(folder.path, 'c', http), '')

  await expect(releaseAbandonedDownloads(folder.path)).rejects.toThrow(/unable to open/)
  await expect(removeAbandonedSpools(folder.path)).rejects.toThrow(/unable to open/)

  for (const name of ['a', 'c']) expect(await readdir(join(folder.path, name))).toEqual([])
})
