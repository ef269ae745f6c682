import { lutimes, mkdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type ChoiceSettings, chooseRemoteExport } from '../../../src/connectors/remote/choice.ts'
import { folderOf } from '../../../src/connectors/sftp/choice.ts'
import { unseen } from '../../helpers/nasty.ts'
import { failureOf, sessionOn } from '../../helpers/sources/sftp.ts'
import { attributes } from '../../helpers/sources/sftp-folder.ts'
import { type SshServer, sshServer } from '../../helpers/sources/ssh-server.ts'

const longAgo = new Date('2024-01-01T00:00:00Z')

type Settings = Partial<ChoiceSettings> & {
  readonly path?: string
  readonly taken?: (version: string) => boolean
  readonly isNewest?: boolean
}

describe('the newest export', () => {
  test('is the one that was modified last, and of several the last by name', async () => {
    await using server = await filled({ 'a.csv': 1, 'b.csv': 3, 'c.csv': 3, 'd.csv': 2 })

    const chosen = await choose(server)

    expect(chosen).toMatchObject({ file: { name: 'c.csv', bytes: 3 }, more: false })
  })

  test('is found by its exact name without a listing', async () => {
    await using server = await filled({ 'a.csv': 1, 'b.csv': 2 })

    const chosen = await choose(server, { path: 'a.csv' })

    expect(chosen?.file.name).toBe('a.csv')
    expect(server.activity.requests.filter((request) => request.startsWith('OPENDIR'))).toEqual([])
  })

  test('is never a folder or a companion', async () => {
    await using server = await filled({ 'a.csv': 1, 'a.csv.done': 5, 'a.csv.sha256': 6 })
    await mkdir(join(server.folder, 'archive'))

    const chosen = await choose(server, {
      path: '*',
      complete: { quietSeconds: 0, marker: '.done', sideFile: { suffix: '.sha256', holds: 'sha256' } },
    })

    expect(chosen?.file.name).toBe('a.csv')
    expect([...(chosen?.companions.keys() ?? [])].toSorted()).toEqual(['a.csv.done', 'a.csv.sha256'])
  })

  test('is one that has a marker as new as itself', async () => {
    await using server = await filled({ 'a.csv': 1, 'a.done': 1, 'b.csv': 3, 'b.csv.done': 2, 'c.csv': 5 })

    const chosen = await choose(server, { complete: { quietSeconds: 60, marker: '.done' } })

    expect(chosen?.file.name).toBe('a.csv')
  })

  test.each<[string, Record<string, number>, Settings, RegExp]>([
    ['nothing matches', { 'a.txt': 1 }, {}, /^no file matches \*\.csv on 127/],
    ['the named file is missing', {}, { path: 'people.csv' }, /^no file matches people\.csv on/],
    [
      'nothing has its marker',
      { 'a.csv': 1 },
      { complete: { quietSeconds: 0, marker: '.done' } },
      /its marker \(\.done\)/,
    ],
    ['it is longer than allowed', { 'a.csv': 1 }, { maxBytes: 2 }, /3 bytes long, and maxBytes allows 2/],
  ])('is refused where %s', async (_case, files, settings, expected) => {
    await using server = await filled(files)

    const failure = await failureOf(choose(server, settings))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(expected)
  })

  test('is refused where a symbolic link matches, wherever that leads', async () => {
    await using server = await filled({ 'a.csv': 1 })
    await symlink('/etc/passwd', join(server.folder, 'b.csv'))
    await lutimes(join(server.folder, 'b.csv'), longAgo, longAgo)

    const failure = await failureOf(choose(server))

    expect(failure.message).toMatch(/^b\.csv on .* is a symbolic link: /)
  })

  test('is refused where it is empty or a folder', async () => {
    await using server = await sshServer()
    await writeFile(join(server.folder, 'empty.csv'), '')
    await mkdir(join(server.folder, 'folder.csv'))

    const failures = [
      await failureOf(choose(server, { path: 'empty.csv' })),
      await failureOf(choose(server, { path: 'folder.csv' })),
    ]

    expect(failures[0]?.message).toMatch(/is empty \(0 bytes\)/)
    expect(failures[1]?.message).toMatch(/is a folder/)
  })

  test.each([
    ['a line break', 'a\nb.csv'],
    ['an escape', 'a\u001b[31m.csv'],
    ['a change of direction', 'a\u202evsc.csv'],
    ['a character without width', 'a\u200b.csv'],
    ['tags', 'a\u{e0041}.csv'],
    ['bytes that are no text', 'a\ufffd.csv'],
  ])('is refused where its name holds %s, and the refusal does not', async (_case, name) => {
    await using server = await sshServer()
    let listed = false
    server.faults.answer = ({ name: request, id, sftp }) => {
      if (request !== 'READDIR' || listed) return false
      listed = true
      sftp.name(id, [{ filename: name, longname: '', attrs: attributes({ mode: 0o100644, size: 9, mtimeMs: 1e12 }) }])
      return true
    }

    const failure = await failureOf(choose(server))

    expect(failure.message).toMatch(/^a.*has a name with characters that are not shown/)
    expect(failure.message).not.toMatch(unseen)
  })
})

describe('each export', () => {
  test('is read in turn, the oldest first, and says whether more are waiting', async () => {
    await using server = await filled({ 'b.csv': 1, 'c.csv': 1, 'a.csv': 2 })
    const taken = new Set<string>()

    const order: unknown[] = []
    for (let turn = 0; turn < 4; turn += 1) {
      const chosen = await choose(server, { take: 'each', taken: (version) => taken.has(version) })
      order.push(chosen && [chosen.file.name, chosen.more])
      if (chosen) taken.add(chosen.file.version)
    }

    expect(order).toEqual([['b.csv', true], ['c.csv', true], ['a.csv', false], null])
  })

  test('of one time is read by its name, in which numbers count as numbers', async () => {
    await using server = await filled({ 'delta-10.csv': 1, 'delta-9.csv': 1 })

    expect((await choose(server, { take: 'each' }))?.file.name).toBe('delta-9.csv')
    expect((await choose(server))?.file.name).toBe('delta-10.csv')
  })

  test('is read in the order of its own dates where asOf says so', async () => {
    await using server = await filled({ 'people-2024-03-02.csv': 1, 'people-2024-03-01.csv': 2 })

    const asOf = { from: 'fileName' as const, pattern: '(?<year>\\d{4})-(?<month>\\d{2})-(?<day>\\d{2})' }
    const chosen = await choose(server, { take: 'each', asOf })
    const newest = await choose(server, { take: 'each', asOf, isNewest: true })

    expect(chosen?.file.name).toBe('people-2024-03-01.csv')
    expect([newest?.file.name, newest?.more]).toEqual(['people-2024-03-02.csv', false])
  })

  test('is nothing where nothing has arrived', async () => {
    await using server = await sshServer()

    expect(await choose(server, { take: 'each' })).toBeNull()
    expect(await choose(server, { take: 'each', path: 'people.csv' })).toBeNull()
  })
})

describe('an export that may still be written', () => {
  test('is read once two listings, a quiet period apart, found it unchanged', async () => {
    await using server = await sshServer()
    const path = join(server.folder, 'people.csv')
    await writeFile(path, 'id\n')
    let looks = 0
    server.faults.answer = ({ name }) => {
      if (name === 'OPENDIR') looks += 1
      return false
    }

    const startedAt = performance.now()
    const chosen = await choose(server, { complete: { quietSeconds: 0.2 } })

    expect(chosen?.file.bytes).toBe(3)
    expect(looks).toBe(2)
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(200)
  })

  test('is awaited while it grows, even if the clock of the server is slow', async () => {
    await using server = await sshServer()
    const path = join(server.folder, 'people.csv')
    await writeFile(path, 'id\n')
    const slow = new Date(Date.now() - 60 * 60 * 1000)
    await utimes(path, slow, slow)
    let looks = 0
    server.faults.answer = ({ name, id, sftp }) => {
      if (name !== 'OPENDIR' || ++looks !== 2) return false
      void writeFile(path, 'id\nana\n')
        .then(() => utimes(path, slow, slow))
        .then(() => sftp.emit('OPENDIR', id, '.'))
      return true
    }

    const chosen = await choose(server, { complete: { quietSeconds: 0.1 } })

    expect(chosen?.file.bytes).toBe(7)
    expect(looks).toBe(4)
  })

  test('is refused if it keeps changing', async () => {
    await using server = await sshServer()
    let size = 1
    server.faults.answer = ({ name, id, sftp }) => {
      if (name !== 'LSTAT') return false
      sftp.attrs(id, attributes({ mode: 0o100644, size: size++, mtimeMs: Date.now() }))
      return true
    }

    const failure = await failureOf(choose(server, { path: 'people.csv', complete: { quietSeconds: 0.05 } }))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(/people\.csv is still being written/)
  })
})

/** A server with files of three bytes, each with its modification time in days. */
async function filled(files: Readonly<Record<string, number>>): Promise<SshServer> {
  const server = await sshServer()
  for (const [name, day] of Object.entries(files)) {
    const modifiedAt = new Date(longAgo.getTime() + day * 24 * 60 * 60 * 1000)
    await writeFile(join(server.folder, name), 'id\n')
    await utimes(join(server.folder, name), modifiedAt, modifiedAt)
  }
  return server
}

async function choose(server: SshServer, { taken = () => false, isNewest = false, ...settings }: Settings = {}) {
  await using session = await sessionOn(server)
  const choice = {
    path: '*.csv',
    take: 'newest' as const,
    complete: { quietSeconds: 0 },
    maxBytes: 1e9,
    asOf: { from: 'modificationTime' as const },
    timeZone: 'UTC',
    ...settings,
  }
  const { signal } = new AbortController()
  return await chooseRemoteExport(folderOf(session, choice), choice, {
    ...{ signal, isNewest },
    findDecided: async (versions) => new Set(versions.filter(taken)),
  })
}
