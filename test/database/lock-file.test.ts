import { readFile, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockFolder } from '../../src/database/lock-file.ts'
import { type Child, nextLine, startChild } from '../helpers/servers/children.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'

const holdFolder = new URL('./children/hold-folder.ts', import.meta.url)

async function outcome(child: Child) {
  const { held, code, message } = JSON.parse(await nextLine(child))
  return { held, code, message }
}

test('a folder names its holder until it is released', async () => {
  await using folder = await temporaryFolder()

  const claim = await lockFolder(folder.path)
  const holder = JSON.parse(await readFile(join(folder.path, 'lock'), 'utf8'))
  await claim[Symbol.asyncDispose]()

  expect(holder).toMatchObject({ pid: process.pid, host: hostname() })
  await expect(readFile(join(folder.path, 'lock'))).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a second process is refused with the pid of the first, and ends with 75', async () => {
  await using folder = await temporaryFolder()
  await using first = startChild(holdFolder, folder.path)
  await outcome(first)

  await using second = startChild(holdFolder, folder.path)
  const { held, code, message } = await outcome(second)

  expect({ held, code }).toEqual({ held: false, code: 'already_active' })
  expect(message).toContain(`in use by process ${first.pid}`)
  expect(await second.finish()).toBe(75)
})

test('the same process cannot have a folder twice', async () => {
  await using folder = await temporaryFolder()
  await using _claim = await lockFolder(folder.path)

  const again = lockFolder(folder.path)

  await expect(again).rejects.toMatchObject({
    code: 'already_active',
    message: expect.stringContaining(`${process.pid}`),
  })
})

test('a folder whose holder was killed is free at once', async () => {
  await using folder = await temporaryFolder()
  await using killed = startChild(holdFolder, folder.path)
  await outcome(killed)

  await killed.kill()

  await using _claim = await lockFolder(folder.path)
  expect(JSON.parse(await readFile(join(folder.path, 'lock'), 'utf8'))).toMatchObject({ pid: process.pid })
})

test('the file of a killed holder does not matter, even if its pid is reused', async () => {
  await using folder = await temporaryFolder()
  const holder = { pid: process.ppid, host: hostname(), startedAt: '2026-01-01T00:00:00.000Z' }
  await writeFile(join(folder.path, 'lock'), JSON.stringify(holder))

  await using _claim = await lockFolder(folder.path)

  expect(JSON.parse(await readFile(join(folder.path, 'lock'), 'utf8'))).toMatchObject({ pid: process.pid })
})

test('of several processes that start over a killed one, exactly one gets the folder', async () => {
  await using folder = await temporaryFolder()
  await using killed = startChild(holdFolder, folder.path)
  await outcome(killed)
  await killed.kill()

  await using starters = new AsyncDisposableStack()
  const children = Array.from({ length: 6 }, () => starters.use(startChild(holdFolder, folder.path)))
  const outcomes = await Promise.all(children.map(outcome))

  const winner = children[outcomes.findIndex(({ held }) => held)]
  const refusals = outcomes.filter(({ held }) => !held).map(({ message }) => message)
  expect(refusals).toHaveLength(5)
  expect(refusals.every((message) => message.includes(`in use by process ${winner?.pid};`))).toBe(true)
})
