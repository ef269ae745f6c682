import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { failureOf, sessionOn } from '../../helpers/sources/sftp.ts'
import { attributes, type SftpRequest } from '../../helpers/sources/sftp-folder.ts'
import { type SshServer, sshServer } from '../../helpers/sources/ssh-server.ts'

const plain = attributes({ mode: 0o100644, size: 10, mtimeMs: 1_700_000_000_000 })

describe('a listing', () => {
  test('has the accepted entries, with the kinds of links and folders', async () => {
    await using server = await sshServer()
    await writeFile(join(server.folder, 'people.csv'), 'id\n')
    await mkdir(join(server.folder, 'archive.csv'))
    await symlink('people.csv', join(server.folder, 'latest.csv'))
    await writeFile(join(server.folder, 'notes.txt'), '')
    await using session = await sessionOn(server)

    const entries = await session.list('.', (name) => name.endsWith('.csv'))

    expect(entries.map(({ name, kind }) => [name, kind]).toSorted()).toEqual([
      ['archive.csv', 'folder'],
      ['latest.csv', 'link'],
      ['people.csv', 'file'],
    ])
    expect(entries.find(({ name }) => name === 'people.csv')?.bytes).toBe(3)
  })

  test('skips names that no folder can hold', async () => {
    const names = [
      '../../etc/passwd.csv',
      'a/b.csv',
      '..',
      '.',
      '',
      'nul\0.csv',
      `${'x'.repeat(2000)}.csv`,
      'people.csv',
    ]
    await using server = await sshServer()
    server.faults.answer = listing(names)
    await using session = await sessionOn(server)

    const entries = await session.list('.', () => true)

    expect(entries.map(({ name }) => name)).toEqual(['people.csv'])
  })

  test.each([
    ['entries', ['people.csv', 'people.csv', 'people.csv']],
    ['empty answers', []],
  ])('of endless %s ends in a refusal', async (_case, names) => {
    await using server = await sshServer()
    const batch = names.flatMap((name) => Array.from({ length: 300 }, () => name))
    server.faults.answer = ({ name, id, sftp }) => {
      if (name !== 'READDIR') return false
      sftp.name(
        id,
        batch.map((filename) => ({ filename, longname: filename, attrs: plain })),
      )
      return true
    }
    await using session = await sessionOn(server)

    const failure = await failureOf(session.list('.', () => false))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(/more than 50000 entries/)
  })

  test('of a folder that is missing or closed says which and why', async () => {
    await using server = await sshServer()
    server.faults.answer = ({ name, path, id, sftp }) => {
      if (name !== 'OPENDIR' || path !== 'closed') return false
      sftp.status(id, 3)
      return true
    }
    await using session = await sessionOn(server)

    const missing = await failureOf(session.list('nowhere', () => true))
    const closed = await failureOf(session.list('closed', () => true))

    expect(missing.message).toMatch(/^cannot list nowhere on 127\.0\.0\.1:\d+: there is no such file or folder/)
    expect(closed.message).toMatch(/^cannot list closed on .*: permission denied/)
    expect([missing.code, closed.code]).toEqual(['source_unreadable', 'source_unreadable'])
  })
})

describe('an answer that is not one', () => {
  type Request = (session: Awaited<ReturnType<typeof sessionOn>>) => Promise<unknown>
  const stats: Request = (session) => session.stats('people.csv')
  const open: Request = (session) => session.open('people.csv')
  const list: Request = (session) => session.list('.', () => true)

  test.each<[string, string, Request, (request: SftpRequest) => void]>([
    ['a name for the state of a file', 'LSTAT', stats, ({ id, sftp }) => sftp.name(id, [])],
    ['a success for the state of a file', 'LSTAT', stats, ({ id, sftp }) => sftp.status(id, 0)],
    ['a state without its size', 'LSTAT', stats, ({ id, sftp }) => sftp.attrs(id, { mode: 0o100644 } as never)],
    ['a size that no file has', 'LSTAT', stats, ({ id, sftp }) => sftp.attrs(id, { ...plain, size: 2 ** 60 })],
    ['a success for an opened file', 'OPEN', open, ({ id, sftp }) => sftp.status(id, 0)],
    ['a state for an opened file', 'OPEN', open, ({ id, sftp }) => sftp.attrs(id, plain)],
    ['a success for a listing', 'READDIR', list, ({ id, sftp }) => sftp.status(id, 0)],
    ['bytes for a listing', 'READDIR', list, ({ id, sftp }) => sftp.data(id, Buffer.from('people.csv'))],
  ])('is refused: %s', async (_case, name, ask, answer) => {
    await using server = await sshServer()
    await writeFile(join(server.folder, 'people.csv'), 'id\n')
    server.faults.answer = (request) => {
      if (request.name !== name) return false
      answer(request)
      return true
    }
    await using session = await sessionOn(server)

    const failure = await failureOf(ask(session))

    expect(failure.code).toMatch(/^source_unread?able$|^source_unreachable$/)
    expect(failure.message).toMatch(/not one of SFTP version 3|does not tell the kind|closed the connection/)
  })
})

describe('a request', () => {
  test('that is never answered ends after the idle time, and the session with it', async () => {
    await using server = await silentOn('LSTAT')
    await using session = await sessionOn(server, { idleTimeoutMs: 150 })

    const failures = await Promise.all([failureOf(session.stats('a')), failureOf(session.stats('b'))])

    expect(failures).toMatchObject([{ code: 'source_unreachable' }, { code: 'source_unreachable' }])
    expect(failures[0].message).toMatch(/has not answered for 150 ms/)
    expect((await failureOf(session.list('.', () => true))).message).toBe(failures[0].message)
    await server.idle()
  })

  test('ends with the time limit of the session, however active the server is', async () => {
    await using server = await sshServer()
    server.faults.answer = ({ name, id, sftp }) => {
      if (name === 'READDIR') setTimeout(() => sftp.name(id, []), 10)
      return name === 'READDIR'
    }
    await using session = await sessionOn(server, { totalTimeoutMs: 200 })

    const failure = await failureOf(session.list('.', () => true))

    expect(failure).toMatchObject({ code: 'source_unreachable' })
    expect(failure.message).toMatch(/took longer than 200 ms/)
  })

  test('ends at once when it is given up, and so does the connection', async () => {
    const controller = new AbortController()
    const requested = Promise.withResolvers<void>()
    await using server = await silentOn('LSTAT', requested.resolve)
    await using session = await sessionOn(server, { signal: controller.signal })

    const failing = failureOf(session.stats('people.csv'))
    await requested.promise
    controller.abort(new Error('stop'))

    expect((await failing).message).toBe('stop')
    await server.idle()
  })

  test('ends when the connection is lost', async () => {
    await using server = await sshServer()
    server.faults.answer = ({ name, cut }) => {
      if (name === 'LSTAT') cut()
      return name === 'LSTAT'
    }
    await using session = await sessionOn(server)

    const failure = await failureOf(session.stats('people.csv'))

    expect(failure).toMatchObject({ code: 'source_unreachable', retry: true })
    expect(failure.message).toMatch(/closed the connection/)
  })

  test('ends when the server ends SFTP and keeps the connection', async () => {
    await using server = await sshServer()
    server.faults.answer = ({ name, sftp }) => {
      if (name === 'LSTAT') sftp.end()
      return name === 'LSTAT'
    }
    await using session = await sessionOn(server)

    const failure = await failureOf(session.stats('people.csv'))

    expect(failure).toMatchObject({ code: 'source_unreachable' })
  })
})

function listing(names: readonly string[]): SshServer['faults']['answer'] {
  const waiting = [...names]
  return ({ name, id, sftp }) => {
    if (name !== 'READDIR' || waiting.length === 0) return false
    sftp.name(
      id,
      waiting.splice(0).map((filename) => ({ filename, longname: '', attrs: plain })),
    )
    return true
  }
}

async function silentOn(request: string, onRequest: () => void = () => {}): Promise<SshServer> {
  const server = await sshServer()
  server.faults.answer = ({ name }) => {
    if (name === request) onRequest()
    return name === request
  }
  return server
}
