import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import type { OpenOptions } from '../../../src/connectors/connector.ts'
import { sftpConnector } from '../../../src/connectors/sftp/open.ts'
import { SftpSource } from '../../../src/connectors/sftp/settings.ts'
import { unseen } from '../../helpers/nasty.ts'
import { allRows } from '../../helpers/sources/csv.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'
import {
  byteByByte,
  endlessListing,
  lies,
  listing,
  pretending,
  silentAt,
  stating,
  tooMuch,
} from '../../helpers/sources/hostile-sftp.ts'
import { failureOf, secrets } from '../../helpers/sources/sftp.ts'
import type { SftpRequest } from '../../helpers/sources/sftp-folder.ts'
import { account, type SshServer, sshServer } from '../../helpers/sources/ssh-server.ts'

const header = 'id,email\n'
const people = `${header}1,ana@example.com\n2,ben@example.com\n`
const modifiedAt = new Date('2025-05-01T01:00:00Z')
const earlier = new Date('2025-04-30T01:00:00Z')
const later = new Date('2025-05-01T02:00:00Z')
const long = 'x'.repeat(64 * 1024)

type Settings = Partial<z.input<typeof SftpSource>>
type Lie = (request: SftpRequest) => boolean

let server: SshServer
beforeAll(async () => {
  server = await sshServer()
})
afterAll(() => server[Symbol.asyncDispose]())
beforeEach(async () => {
  await put('people.csv', people)
  lies(server, undefined)
  server.activity.fileBytes = 0
  delete server.faults.cutAfterBytes
})

describe('a server that means harm', () => {
  test.each<[string, () => Lie, RegExp]>([
    [
      'lists what is no longer there',
      () => listing({ name: 'people-2.csv', size: 99, at: later }),
      /^cannot read people-2\.csv on .*: there is no such file/,
    ],
    [
      'answers with an old listing',
      () => listing({ name: 'people.csv', size: people.length, at: earlier }),
      /^people\.csv on .* changed while it was fetched/,
    ],
    [
      'states less than it sends, so that two leavers would be seen',
      () => stating(header.length, modifiedAt),
      /^people\.csv on .* is longer than the 9 bytes that the server states/,
    ],
    [
      'states more than it sends',
      () => stating(people.length + 1000, modifiedAt),
      /^people\.csv on .* changed while it was fetched/,
    ],
    ['states more than is allowed', () => stating(2 ** 40, modifiedAt), /is 1099511627776 bytes long, and maxBytes/],
    ['sends more than it was asked for', tooMuch, /people\.csv|SFTP/],
    ['states a time that lies ahead', () => stating(people.length, new Date('2025-05-20T01:00:00Z')), /ahead/],
    ['lists without an end', () => endlessListing(modifiedAt), /holds more than 50000 entries/],
    [
      'shows a name that would write a line of its own',
      () => listing({ name: 'a\n✔ finished\u009b2J.csv', size: 9, at: later }),
      /^a\\u000a✔ finished\\u009b2J\.csv on .* has a name with characters that are not shown/,
    ],
  ])('and %s is refused in words, in time, and leaves nothing behind', async (_what, lie, expected) => {
    await using workspace = await somewhere()
    lies(server, lie())

    const failure = await failureOf(readAll(workspace))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(expected)
    expect(failure.message).not.toMatch(unseen)
    expect(server.activity.fileBytes).toBeLessThanOrEqual(people.length + 1)
    expect(await workspace.remaining()).toEqual([])
    await expectHonestNight(workspace)
  })

  test.each(['OPENDIR', 'READDIR', 'OPEN', 'FSTAT', 'READ', 'LSTAT', 'CLOSE'])(
    'and falls silent at %s is given up in time, and the next night goes on',
    async (operation) => {
      await using workspace = await somewhere()
      lies(server, silentAt(operation))

      const failure = await failureOf(readAll(workspace, { idleTimeoutMs: 100 }))

      expect(failure).toMatchObject({ code: 'source_unreachable' })
      expect(failure.message).toMatch(/has not answered for 100 ms: the next run continues where it broke off/)
      await expectHonestNight(workspace)
    },
  )

  test('and names files by paths, dots and 64 KB is read for its honest one, and nothing is written elsewhere', async () => {
    await using workspace = await somewhere()
    const names = ['../../people-1.csv', '/etc/people-2.csv', '..', `${long}.csv`, `nul\0.csv`]
    const listed = names.map((name) => ({ name, size: people.length, at: later }))
    lies(server, listing(...listed, { name: 'people.csv', size: people.length, at: modifiedAt }))

    const rows = await readAll(workspace)

    expect(rows).toEqual(['1', '2'])
    expect(await workspace.remaining()).toEqual([])
    expect(server.activity.requests.filter((request) => request.startsWith('OPEN ')).at(-1)).toBe('OPEN people.csv')
  })

  test('and sends a byte at a time, of a file without an end, costs a bounded time and no memory', async () => {
    await using workspace = await somewhere()
    lies(server, byteByByte(512 * 1024 * 1024, modifiedAt))
    const before = process.memoryUsage().arrayBuffers
    let most = 0
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }, 20)

    const failure = await failureOf(readAll(workspace, { totalTimeoutMs: 700 }))
    clearInterval(timer)

    expect(failure).toMatchObject({ code: 'source_unreachable' })
    expect(failure.message).toMatch(/took longer than 700 ms/)
    // The blocks that are asked for at once, what waits in ssh2, and no block for each byte.
    expect(most).toBeLessThan(24 * 1024 * 1024)
    await expectHonestNight(workspace)
  })

  test('and sends a byte now and then is given up as one that is silent', async () => {
    await using workspace = await somewhere()
    lies(server, byteByByte(512 * 1024 * 1024, modifiedAt))

    const failure = await failureOf(readAll(workspace, { idleTimeoutMs: 200 }))

    expect(failure).toMatchObject({ code: 'source_unreachable' })
    expect(failure.message).toMatch(
      /has not sent a block of 30 KiB within 400 ms: the next run continues where it broke off/,
    )
  })

  test('and breaks off a new state of the file each time fills no disk with parts', async () => {
    await using workspace = await somewhere()
    const size = 256 * 1024
    for (const minute of [1, 2, 3]) {
      await put('people.csv', 'x'.repeat(size), new Date(modifiedAt.getTime() + minute * 60_000))
      server.activity.fileBytes = 0
      server.faults.cutAfterBytes = size / 2
      await failureOf(readAll(workspace))
    }

    expect(await workspace.remaining()).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.part$/)])
    await put('people.csv', people)
    await expectHonestNight(workspace)
  })

  test('and has a folder named like an export is read for its files', async () => {
    await using workspace = await somewhere()
    await mkdir(join(server.folder, 'people-9.csv'), { recursive: true })

    expect(await readAll(workspace)).toEqual(['1', '2'])
  })
})

describe('afterwards, a server', () => {
  test.each<[string, Lie, Settings, string, RegExp]>([
    ['falls silent', silentAt('RENAME'), { idleTimeoutMs: 100 }, 'source_unreachable', /has not answered for 100 ms/],
    [
      'says that it moved a file and did not',
      pretending('RENAME'),
      {},
      'source_unreadable',
      /says that it has moved people\.csv to archive\/.*, and it has not/,
    ],
  ])('that %s is named, and the export stays', async (_what, lie, limits, code, expected) => {
    await using workspace = await somewhere()
    const settings: Settings = { afterwards: { accepted: 'archive' } }
    const reading = await workspace.connector(settings).open(workspace.options)
    await allRows(reading)
    if (reading.source === null) throw new Error('nothing was read')
    lies(server, lie)

    const failure = await failureOf(
      workspace.connector({ ...settings, ...limits }).archive?.(reading.source, 'accepted') ?? Promise.resolve(),
    )

    expect(failure).toMatchObject({ code })
    expect(failure.message).toMatch(expected)
    expect(await readdir(server.folder)).toContain('people.csv')
  })
})

type Workspace = AsyncDisposable & {
  readonly connector: (settings: Settings) => ReturnType<typeof sftpConnector>
  readonly options: OpenOptions
  readonly remaining: () => Promise<string[]>
}

async function somewhere(): Promise<Workspace> {
  const spool: ExportFolder = await exportFolder()
  const { signal } = new AbortController()
  return {
    connector: (settings) => {
      const source = SftpSource.parse({
        type: 'sftp',
        host: '127.0.0.1',
        port: server.port,
        username: account.username,
        password: 'is read from its place',
        hostKeys: [server.fingerprint],
        path: '*.csv',
        mode: 'snapshot',
        ...settings,
      })
      const secret = secrets({ password: account.password })
      return sftpConnector(source, { baseDir: '/nowhere', spoolDir: join(spool.path, 'incoming', 'acme'), secret })
    },
    options: { now: () => new Date('2025-05-02T03:04:05Z'), signal, findDecided: async () => new Set() },
    // Also what stands beside the folder of downloads.
    remaining: async () =>
      (await readdir(spool.path, { recursive: true, withFileTypes: true })).flatMap((entry) =>
        entry.isFile() ? [entry.name] : [],
      ),
    [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose](),
  }
}

async function readAll(workspace: Workspace, settings: Settings = {}): Promise<(string | undefined)[]> {
  const reading = await workspace.connector(settings).open(workspace.options)
  return (await allRows(reading)).map(({ values }) => values[0])
}

async function expectHonestNight(workspace: Workspace): Promise<void> {
  lies(server, undefined)
  delete server.faults.cutAfterBytes

  expect(await readAll(workspace)).toEqual(['1', '2'])
  expect(await workspace.remaining()).toEqual([])
}

async function put(name: string, content: string, at = modifiedAt): Promise<void> {
  await writeFile(join(server.folder, name), content)
  await utimes(join(server.folder, name), at, at)
}
