import { mkdir, readdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ArchiveRequest } from '../../../src/connectors/remote/connector.ts'
import { archiveRemoteExport } from '../../../src/connectors/sftp/archive.ts'
import { toRemoteFile } from '../../../src/connectors/sftp/matches.ts'
import { failureOf, sessionOn } from '../../helpers/sources/sftp.ts'
import { type SshServer, sshServer } from '../../helpers/sources/ssh-server.ts'

const now = new Date('2025-05-02T03:04:05Z')
const archived = '2025-05-02T030405Z-people.csv'

describe('an export that is archived', () => {
  test('moves into a new folder, with its companions', async () => {
    await using server = await filled('people.csv', 'people.csv.done', 'people.sha256', 'other.csv')

    await archive(server, { suffixes: ['.done', '.sha256'] })

    expect(await namesIn(server)).toEqual(['archive', 'other.csv'])
    expect(await namesIn(server, 'archive')).toEqual([
      archived,
      `${archived}.done`,
      archived.replace('.csv', '.sha256'),
    ])
  })

  test('moves into a folder of several levels', async () => {
    await using server = await filled('people.csv')

    await archive(server, { target: 'archive/2025/05' })
    await archive(server, { source: { name: 'people.csv', bytes: 3, version: 'gone' }, target: 'archive/2025/05' })

    expect(await namesIn(server)).toEqual(['archive'])
    expect(await namesIn(server, 'archive/2025/05')).toEqual([archived])
  })

  test('moves with its companions, even if the server refused one of them at first', async () => {
    await using server = await filled('people.csv', 'people.csv.done')
    const source = await identityOf(server)
    let renames = 0
    server.faults.answer = ({ name, id, sftp }) => {
      if (name !== 'RENAME') return false
      renames += 1
      if (renames === 2) sftp.status(id, 3)
      return renames === 2
    }

    await failureOf(archive(server, { source, suffixes: ['.done'] }))
    await archive(server, { source, suffixes: ['.done'] })

    expect(await namesIn(server)).toEqual(['archive'])
    expect(await namesIn(server, 'archive')).toEqual([archived, `${archived}.done`])
  })

  test('moves next to one of the same name, which stays as it is', async () => {
    await using server = await filled('people.csv')
    await mkdir(join(server.folder, 'archive'))
    await writeFile(join(server.folder, 'archive', archived), 'earlier')

    await archive(server)

    expect(await namesIn(server, 'archive')).toEqual([archived.replace('Z-', 'Z-2-'), archived].toSorted())
    expect(await readFile(join(server.folder, 'archive', archived), 'utf8')).toBe('earlier')
  })

  test('is deleted if configured', async () => {
    await using server = await filled('people.csv', 'people.done', 'other.csv')

    await archive(server, { target: null, suffixes: ['.done'] })

    expect(await namesIn(server)).toEqual(['other.csv'])
  })

  test('twice, or after it was removed, does no harm', async () => {
    await using server = await filled('people.csv')
    const source = await identityOf(server)

    await archive(server, { source })
    await archive(server, { source })

    expect(await namesIn(server, 'archive')).toEqual([archived])
  })

  test('stays if it changed since it was read', async () => {
    await using server = await filled('people.csv', 'people.done')
    const source = await identityOf(server)
    await writeFile(join(server.folder, 'people.csv'), 'something newer')

    await archive(server, { source, target: null, suffixes: ['.done'] })

    expect(await namesIn(server)).toEqual(['people.csv', 'people.done'])
  })

  test('stays if a symbolic link replaced it', async () => {
    await using server = await filled('other.csv')
    const source = { name: 'people.csv', bytes: 3, version: (await identityOf(server, 'other.csv')).version }
    await symlink('other.csv', join(server.folder, 'people.csv'))

    await archive(server, { source, target: null })

    expect(await namesIn(server)).toEqual(['other.csv', 'people.csv'])
  })

  test.each([
    ['archive', '*.csv'],
    [null, '*.csv'],
  ])('is moved back if another file replaced it in the last moment, on its way to %s', async (target, path) => {
    await using server = await filled('people.csv')
    const source = await identityOf(server)
    let replaced = false
    server.faults.answer = ({ name, id, sftp, path: from, to }) => {
      if (name !== 'RENAME' || replaced) return false
      replaced = true
      void writeFile(join(server.folder, 'people.csv'), 'newer').then(() => sftp.emit('RENAME', id, from, to))
      return true
    }

    await archive(server, { source, target, path })

    expect(await readFile(join(server.folder, 'people.csv'), 'utf8')).toBe('newer')
    expect((await namesIn(server)).filter((name) => name.startsWith('.'))).toEqual([])
  })

  test.each<[string, (server: SshServer) => Promise<unknown>, RegExp]>([
    ['a file', ({ folder }) => writeFile(join(folder, 'archive'), ''), /^archive on 127.* is no folder/],
    ['a link', ({ folder }) => symlink('/tmp', join(folder, 'archive')), /^archive on 127.* is no folder/],
  ])('stays where %s stands in place of the archive', async (_case, put, expected) => {
    await using server = await filled('people.csv')
    await put(server)

    const failure = await failureOf(archive(server))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(expected)
    expect(await namesIn(server)).toContain('people.csv')
  })

  test('stays if the account may not move it, and the refusal contains advice', async () => {
    await using server = await filled('people.csv')
    server.faults.answer = ({ name, id, sftp }) => {
      if (name === 'RENAME') sftp.status(id, 3)
      return name === 'RENAME'
    }

    const failure = await failureOf(archive(server))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(/^cannot move people\.csv to archive\/.*: permission denied; let the account/)
  })
})

async function filled(...names: string[]): Promise<SshServer> {
  const server = await sshServer()
  for (const name of names) {
    await writeFile(join(server.folder, name), 'id\n')
    await utimes(join(server.folder, name), now, now)
  }
  return server
}

async function identityOf(server: SshServer, name = 'people.csv') {
  await using session = await sessionOn(server)
  const stats = await session.stats(name)
  if (!stats) throw new Error('the server lost its file')
  return { name, bytes: stats.bytes, version: toRemoteFile('.', { name, ...stats }).version }
}

async function archive(
  server: SshServer,
  settlement: Partial<ArchiveRequest & { readonly path: string }> = {},
): Promise<void> {
  const source = settlement.source ?? (await identityOf(server))
  await using session = await sessionOn(server)
  await archiveRemoteExport(session, { path: '*.csv', target: 'archive', suffixes: [], now, ...settlement, source })
}

async function namesIn(server: SshServer, folder = '.'): Promise<string[]> {
  return (await readdir(join(server.folder, folder))).toSorted()
}
