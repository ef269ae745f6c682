import { randomBytes } from 'node:crypto'
import { appendFile, readdir, readFile, rename, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { download } from '../../../src/connectors/sftp/fetch.ts'
import { toRemoteFile } from '../../../src/connectors/sftp/matches.ts'
import { takeFileLock } from '../../../src/system/file-lock.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'
import { failureOf, type SessionOptions, sessionOn } from '../../helpers/sources/sftp.ts'
import { type SshServer, sshServer } from '../../helpers/sources/ssh-server.ts'

const mebibyte = 1024 * 1024
const overlapBytes = 64 * 1024
const modifiedAt = new Date('2025-05-01T01:00:00Z')

describe('a download', () => {
  test.each([1, 30 * 1024, 30 * 1024 + 1, 3 * mebibyte])(
    'brings the %d bytes, the name and the time',
    async (bytes) => {
      const content = randomBytes(bytes)
      await using server = await serving(content)
      await using spool = await exportFolder()

      const file = await fetch(server, spool)

      expect(file).toMatchObject({ name: 'people.csv', bytes, modifiedAtMs: modifiedAt.getTime() })
      expect((await readFile(file.path)).equals(content)).toBe(true)
      expect(server.activity.fileBytes).toBe(bytes)
    },
  )

  test('is readable by this account alone, in a folder that is made for it', async () => {
    await using server = await serving(randomBytes(100))
    await using spool = await exportFolder()
    const spoolDir = join(spool.path, 'spool', 'people')

    const file = await fetch(server, { path: spoolDir })

    expect((await stat(file.path)).mode & 0o777).toBe(0o600)
    expect((await stat(spoolDir)).mode & 0o777).toBe(0o700)
  })

  test('continues where it was cut off, and fetches only the missing bytes and an overlap', async () => {
    const content = randomBytes(3 * mebibyte)
    await using server = await serving(content)
    await using spool = await exportFolder()
    server.faults.cutAfterBytes = 2 * mebibyte

    const failure = await failureOf(fetch(server, spool))
    const parts = await readdir(spool.path)
    const partBytes = (await stat(join(spool.path, parts[0] ?? ''))).size
    server.activity.fileBytes = 0
    server.faults.cutAfterBytes = Number.POSITIVE_INFINITY
    const file = await fetch(server, spool)

    expect(failure).toMatchObject({ code: 'source_unreachable' })
    expect(parts).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.part$/)])
    expect(partBytes).toBeGreaterThan(mebibyte)
    expect(server.activity.fileBytes).toBe(content.length - partBytes + overlapBytes)
    expect((await readFile(file.path)).equals(content)).toBe(true)
    expect(await filesIn(spool)).toEqual([expect.stringMatching(/\.export$/)])
  })

  test('continues after it was given up or the server stopped responding', async () => {
    const content = randomBytes(mebibyte)
    await using server = await serving(content)
    await using spool = await exportFolder()

    server.faults.stallAfterBytes = 300_000
    const silent = await failureOf(fetch(server, spool, { idleTimeoutMs: 200 }))
    delete server.faults.stallAfterBytes
    const controller = new AbortController()
    let reads = 0
    server.faults.answer = ({ name }) => {
      if (name === 'READ' && ++reads === 8) controller.abort(new Error('stop'))
      return false
    }
    const failure = await failureOf(fetch(server, spool, { signal: controller.signal }))
    server.faults.answer = undefined
    server.activity.fileBytes = 0
    const file = await fetch(server, spool)

    expect(silent.message).toMatch(/has not answered for 200 ms/)
    expect(failure.message).toBe('stop')
    expect((await readFile(file.path)).equals(content)).toBe(true)
    expect(server.activity.fileBytes).toBeLessThan(content.length - 200_000 + overlapBytes)
  })

  test('starts again if the end of the part differs from the server', async () => {
    const content = randomBytes(mebibyte)
    await using server = await serving(content)
    await using spool = await exportFolder()
    await breakOff(server, spool, mebibyte / 2)
    await overwrite(server, 0x55, 400_000)

    const file = await fetch(server, spool)

    expect((await readFile(file.path)).equals(await readFile(join(server.folder, 'people.csv')))).toBe(true)
  })

  test('starts again if size or time of the file on the server changed', async () => {
    await using server = await serving(randomBytes(mebibyte))
    await using spool = await exportFolder()
    await breakOff(server, spool, mebibyte / 2)
    await appendFile(join(server.folder, 'people.csv'), 'more')
    await utimes(join(server.folder, 'people.csv'), modifiedAt, modifiedAt)
    server.activity.fileBytes = 0

    const file = await fetch(server, spool)

    expect(file.bytes).toBe(mebibyte + 4)
    expect(server.activity.fileBytes).toBe(mebibyte + 4)
  })

  test('by two readers at once brings both of them the whole file', async () => {
    const content = randomBytes(mebibyte)
    await using server = await serving(content)
    await using spool = await exportFolder()
    await breakOff(server, spool, mebibyte / 2)

    const files = await Promise.all([fetch(server, spool), fetch(server, spool), fetch(server, spool)])

    for (const file of files) expect((await readFile(file.path)).equals(content)).toBe(true)
    expect(new Set(files.map(({ path }) => path)).size).toBe(3)
  })

  test('continues the part of a process that died at once, and never that of a process that runs', async () => {
    const content = randomBytes(mebibyte)
    await using server = await serving(content)
    await using spool = await exportFolder()
    await breakOff(server, spool, mebibyte / 2)
    const [part = ''] = await readdir(spool.path)
    const stem = join(spool.path, part.replace('.part', '.0b7c1d52-0000-4000-8000-000000000000'))
    await rename(join(spool.path, part), `${stem}.fetching`)
    const partBytes = (await stat(`${stem}.fetching`)).size

    server.activity.fileBytes = 0
    const lock = takeFileLock(`${stem}.lock`, { timeoutMs: 0 })
    await (await fetch(server, spool)).remove()
    const whileItRuns = server.activity.fileBytes
    lock?.[Symbol.dispose]()
    server.activity.fileBytes = 0
    await (await fetch(server, spool)).remove()

    expect(whileItRuns).toBe(content.length)
    expect(server.activity.fileBytes).toBe(content.length - partBytes + overlapBytes)
    expect(await readdir(spool.path)).toEqual([])
  })

  test('begins anew where the machine stopped, because the part was not synced', async () => {
    const content = randomBytes(mebibyte)
    await using server = await serving(content)
    await using spool = await exportFolder()
    await breakOff(server, spool, mebibyte / 2)
    const [part = ''] = await readdir(spool.path)
    const unsynced = join(spool.path, part.replace('.part', '.0b7c1d52-0000-4000-8000-000000000000.fetching'))
    await rename(join(spool.path, part), unsynced)
    await utimes(unsynced, new Date(0), new Date(0))

    server.activity.fileBytes = 0
    const { path } = await fetch(server, spool)

    expect(server.activity.fileBytes).toBe(content.length)
    expect((await readFile(path)).equals(content)).toBe(true)
  })
})

describe('parts in the spool', () => {
  test('are removed after a day, parts of other states and copies of dead processes at once, and other files stay', async () => {
    await using server = await serving(randomBytes(100))
    await using spool = await exportFolder()
    const uuid = '0b7c1d52-0000-4000-8000-000000000000'
    const yesterday = new Date(Date.now() - 25 * 60 * 60 * 1000)
    for (const name of [`${'a'.repeat(64)}.part`, 'notes.txt'])
      await spool.write(name, 'old', { modifiedAt: yesterday })
    for (const name of [`${'b'.repeat(64)}.part`, `${'c'.repeat(64)}.${uuid}.export`]) await spool.write(name, 'new')
    const running = `${'d'.repeat(64)}.${uuid}`
    await spool.write(`${running}.fetching`, 'new')
    using _lock = takeFileLock(join(spool.path, `${running}.lock`), { timeoutMs: 0 })

    const { path } = await fetch(server, spool)

    expect(await filesIn(spool)).toEqual([`${running}.fetching`, basename(path), 'notes.txt'].toSorted())
  })
})

describe('a file that changes while it is fetched', () => {
  test.each<[string, (path: string) => Promise<void>]>([
    ['grows', (path) => appendFile(path, 'more')],
    ['is cut off', (path) => truncate(path, 1000)],
    ['gets another time', (path) => utimes(path, new Date(), new Date())],
  ])('is refused if it %s, and leaves nothing behind', async (_case, change) => {
    await using server = await serving(randomBytes(mebibyte))
    await using spool = await exportFolder()
    const path = join(server.folder, 'people.csv')
    let changed = false
    server.faults.answer = ({ name, id, sftp }) => {
      if (name !== 'FSTAT' || changed) return false
      changed = true
      sftp.attrs(id, { mode: 0o100644, uid: 0, gid: 0, size: mebibyte, atime: seconds, mtime: seconds })
      void change(path)
      return true
    }

    const failure = await failureOf(fetch(server, spool))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(/people\.csv on .* changed while it was fetched/)
    expect(await readdir(spool.path)).toEqual([])
  })
})

test('a folder that cannot be written to is named', async () => {
  await using server = await serving(randomBytes(100))
  await using spool = await exportFolder()
  await spool.write('taken', 'a file')

  const failure = await failureOf(fetch(server, { path: join(spool.path, 'taken', 'spool') }))

  expect(failure).toMatchObject({ code: 'source_unreadable' })
  expect(failure.message).toMatch(/^cannot write to .*taken\/spool: the system answered ENOTDIR/)
})

const seconds = modifiedAt.getTime() / 1000

async function serving(content: Uint8Array): Promise<SshServer> {
  const server = await sshServer()
  const path = join(server.folder, 'people.csv')
  await writeFile(path, content)
  await utimes(path, modifiedAt, modifiedAt)
  return server
}

async function fetch(server: SshServer, spool: Pick<ExportFolder, 'path'>, options: SessionOptions = {}) {
  await using session = await sessionOn(server, options)
  const stats = await session.stats('people.csv')
  if (!stats) throw new Error('the server lost its file')
  return await download(session, toRemoteFile('.', { name: 'people.csv', ...stats }), {
    spoolDir: spool.path,
    serverId: 'test',
  })
}

/** The files of the spool, sorted, besides those of locks. */
async function filesIn({ path }: Pick<ExportFolder, 'path'>): Promise<string[]> {
  return (await readdir(path)).filter((name) => !name.includes('.lock')).toSorted()
}

async function breakOff(server: SshServer, spool: ExportFolder, afterBytes: number): Promise<void> {
  server.faults.cutAfterBytes = server.activity.fileBytes + afterBytes
  await failureOf(fetch(server, spool))
  delete server.faults.cutAfterBytes
}

/** Changes bytes without changing size and time. */
async function overwrite(server: SshServer, byte: number, from: number): Promise<void> {
  const path = join(server.folder, 'people.csv')
  const content = await readFile(path)
  await writeFile(path, content.fill(byte, from))
  await utimes(path, modifiedAt, modifiedAt)
}
