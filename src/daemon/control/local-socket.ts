import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { errorCode, Failure } from '../../errors.ts'

/** The path of a Unix socket has to fit into the system's structure for it, and libuv cuts a longer one silently. */
const maxPathBytes = process.platform === 'darwin' ? 103 : 107
/** The errors of a file system that cannot hold sockets, such as a folder shared by another machine. */
const noSockets = new Set(['ENOTSUP', 'EOPNOTSUPP', 'EPERM', 'EINVAL', 'ENOSYS'])

/**
 * Listens on a socket that only this account can reach, and returns its path. Its own folder has mode 700, so that no one else can replace
 * the socket. The folder is in the data folder, or below the folder for temporary files if the path would be too long or the file system
 * cannot hold sockets.
 */
export async function listenLocally(
  dataDir: string,
  listen: (path: string) => Promise<unknown>,
  uid: number | undefined = process.getuid?.(),
): Promise<string> {
  const [near, far] = socketPaths(dataDir)
  if (fits(near)) {
    try {
      return await listenAt(near)
    } catch (error) {
      if (!noSockets.has(errorCode(error) ?? '')) throw explained(error, near)
    }
  }
  if (!fits(far)) {
    throw new Failure('config_invalid', `${far} is too long for a socket: name a shorter folder as dataDir or TMPDIR`)
  }
  return await listenAt(far).catch((error: unknown) => Promise.reject(explained(error, far)))

  async function listenAt(path: string): Promise<string> {
    await makeOwnFolder(dirname(path), uid)
    await removeLeftOver(path, dataDir)
    await listen(path)
    await chmod(path, 0o600)
    return path
  }
}

function explained(error: unknown, path: string): unknown {
  const code = errorCode(error)
  if (error instanceof Failure || code === undefined) return error
  const help = 'let its account write there, or name another dataDir'
  return new Failure('config_invalid', `cannot listen at ${path} (${code}): ${help}`, { cause: error })
}

function socketPaths(dataDir: string): readonly [near: string, far: string] {
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16)
  return [
    join(dataDir, 'control', 'daemon.sock'),
    join(tmpdir(), `rollcall-${process.getuid?.() ?? 0}`, `${name}.sock`),
  ]
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= maxPathBytes
}

async function makeOwnFolder(folder: string, uid: number | undefined): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  }
  const stats = await lstat(folder)
  if (!stats.isDirectory() || stats.uid !== uid) {
    const problem = stats.isDirectory() ? 'belongs to another account' : 'is no folder'
    const help = 'remove it, and start the daemon again as the account that owns the data folder'
    throw new Failure('config_invalid', `${folder}, in which commands reach the daemon, ${problem}: ${help}`)
  }
  if ((stats.mode & 0o777) !== 0o700) await chmod(folder, 0o700)
}

/** Removes the socket of a daemon that was killed. If it responds, its daemon is alive. */
async function removeLeftOver(path: string, dataDir: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const socket = connect(path)
  socket.on('connect', () => resolve(null)).on('error', (error) => resolve(errorCode(error) ?? 'unknown'))
  const refusal = await promise
  socket.destroy()
  if (refusal !== null) return await rm(path, { force: true })
  const help = 'stop it, or give this one a data folder of its own'
  throw new Failure('already_active', `another daemon serves the data folder ${dataDir}: ${help}`)
}
