import { chown, mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listenLocally } from '../../../src/daemon/control/local-socket.ts'
import { distrust } from '../../../src/daemon/control/socket-trust.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'

const another = 65_534

let opened: AsyncDisposableStack
let dataDir: string
beforeEach(async () => {
  opened = new AsyncDisposableStack()
  dataDir = opened.use(await temporaryFolder()).path
})
afterEach(() => opened.disposeAsync())

/** Listens at a path until the test ends. */
async function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.end())
  opened.defer(() => void server.close())
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(path, resolve)
  await promise
  return server
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777
}

test('only its account can use the socket and its folder', async () => {
  const path = await listenLocally(dataDir, listen)

  expect(path).toBe(join(dataDir, 'control', 'daemon.sock'))
  expect([await modeOf(path), await modeOf(dirname(path))]).toEqual([0o600, 0o700])
  expect(distrust(path, dataDir)).toBeNull()
})

test('a folder that was opened to others is closed again', async () => {
  await mkdir(join(dataDir, 'control'), { mode: 0o777 })

  const path = await listenLocally(dataDir, listen)

  expect(await modeOf(dirname(path))).toBe(0o700)
})

test('a data folder with a long path has its socket below the folder for temporary files', async () => {
  const long = join(dataDir, 'x'.repeat(100))
  await mkdir(long)

  const path = await listenLocally(long, listen)
  opened.defer(() => rm(path, { force: true }))
  const other = await listenLocally(`${long}y`, listen)
  opened.defer(() => rm(other, { force: true }))

  expect(path).toMatch(/\/rollcall-\d+\/[0-9a-f]{16}\.sock$/)
  expect([await modeOf(path), await modeOf(dirname(path))]).toEqual([0o600, 0o700])
  expect(distrust(path, long)).toBeNull()
  expect(other).not.toBe(path)
})

test('a data folder on a file system without sockets has it there too', async () => {
  const tried: string[] = []
  const path = await listenLocally(dataDir, async (at) => {
    tried.push(at)
    if (at.startsWith(dataDir)) throw Object.assign(new Error('listen'), { code: 'EOPNOTSUPP' })
    return await listen(at)
  })
  opened.defer(() => rm(path, { force: true }))

  expect(tried).toEqual([join(dataDir, 'control', 'daemon.sock'), path])
  expect(distrust(path, dataDir)).toBeNull()
})

test('a socket that a killed daemon left is replaced, and so is a file with its name', async () => {
  await mkdir(join(dataDir, 'control'))
  await writeFile(join(dataDir, 'control', 'daemon.sock'), '')

  const path = await listenLocally(dataDir, listen)

  expect((await stat(path)).isSocket()).toBe(true)
})

test('a running daemon keeps its socket, and a second one is refused', async () => {
  const path = await listenLocally(dataDir, listen)

  const second = listenLocally(dataDir, listen)

  await expect(second).rejects.toMatchObject({
    code: 'already_active',
    message: `another daemon serves the data folder ${dataDir}: stop it, or give this one a data folder of its own`,
  })
  expect((await stat(path)).isSocket()).toBe(true)
})

test('a path that cannot be listened on is reported with the reason', async () => {
  const refused = listenLocally(dataDir, () => Promise.reject(Object.assign(new Error('listen'), { code: 'EACCES' })))

  await expect(refused).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/^cannot listen at .*daemon\.sock \(EACCES\): let its account write there/),
  })
})

test('a folder of another account is neither used by a daemon nor trusted by a command', async () => {
  const path = await listenLocally(dataDir, listen)

  const refused = expect(listenLocally(dataDir, listen, another)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(
      /control, in which commands reach the daemon, belongs to another account: remove it/,
    ),
  })

  expect(distrust(path, dataDir, another)).toBe('belongs to another account')
  await refused
})

test('root asks the daemon of the account whose data folder it is, and no other', async () => {
  const path = await listenLocally(dataDir, listen)
  await givenAway(path, dirname(path), dataDir)

  expect(distrust(path, dataDir, 0)).toBeNull()
  expect(distrust(path, '/', 0)).toBe('belongs to another account')
})

/** Gives files to another account than root. They belong to one already if these tests do not run as root. */
async function givenAway(...files: readonly string[]): Promise<void> {
  if (process.getuid?.() === 0) for (const file of files) await chown(file, another, another)
}
