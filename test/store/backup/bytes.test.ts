import { execFileSync } from 'node:child_process'
import { type FileHandle, mkdtempDisposable, open, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { backupBytes } from '../../../src/store/backup/bytes.ts'

// A pipe simulates the dead disk: without a writer, neither an open nor a read returns.
async function silentPipe() {
  const folder = await mkdtempDisposable(join(tmpdir(), 'backup-bytes-'))
  const pipe = join(folder.path, 'pipe')
  execFileSync('mkfifo', [pipe])
  return { pipe, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}

const sentence = /^the disk of the backup .*pipe has not answered for 0\.02 s: check it/

test('the bytes of a file are read to the end', async () => {
  await using testDatabase = await silentPipe()
  const file = join(testDatabase.pipe, '..', 'file')
  const bytes = Buffer.alloc(200_000, 'ab')
  await writeFile(file, bytes)

  expect((await buffer(backupBytes(file))).equals(bytes)).toBe(true)
})

test('opening a file on a hanging disk is abandoned, and the file is closed later', async () => {
  await using testDatabase = await silentPipe()
  const opening = Promise.withResolvers<FileHandle>()
  const openFile = () => {
    opening.resolve(open(testDatabase.pipe, 'r'))
    return opening.promise
  }

  const refused = buffer(backupBytes(testDatabase.pipe, { limitMs: 20, openFile }))

  await expect(refused).rejects.toMatchObject({ code: 'source_unreadable', message: expect.stringMatching(sentence) })
  await using _writer = await open(testDatabase.pipe, 'r+')
  await expect.poll(async () => (await opening.promise).fd).toBe(-1)
})

test('reading a file on a hanging disk is abandoned, and the file is closed later', async () => {
  await using testDatabase = await silentPipe()
  const handle = await open(testDatabase.pipe, 'r+')

  const refused = buffer(backupBytes(testDatabase.pipe, { limitMs: 20, openFile: async () => handle }))

  await expect(refused).rejects.toMatchObject({ code: 'source_unreadable', message: expect.stringMatching(sentence) })
  await writeFile(testDatabase.pipe, 'late')
  await expect.poll(() => handle.fd).toBe(-1)
})
