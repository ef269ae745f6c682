import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { access, chown, constants, glob, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { Server, ServerKind } from './servers.ts'

const run = promisify(execFile)
const packages = { redis: 'redis-server', postgres: 'postgresql' } as const

type Account = { readonly uid: number; readonly gid: number }

/** Starts a server that is installed on this machine, or says what is missing. */
export async function startBinary(kind: ServerKind): Promise<Server | string> {
  return kind === 'redis' ? startRedis() : startPostgres()
}

/** Installs a server with apt where that is possible: null when it is there, else the reason why not. */
export async function installServer(kind: ServerKind): Promise<string | null> {
  if (process.getuid?.() !== 0) return 'installing needs root'
  if ((await findProgram('apt-get')) === null) return 'there is no apt-get on this machine'
  // Run level 1 keeps the packages from starting servers of their own.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const install = () => run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', packages[kind]], { env })
  try {
    await install().catch(async () => {
      await run('apt-get', ['update', '-qq'], { env })
      await install()
    })
    return null
  } catch (error) {
    return `apt-get install ${packages[kind]} failed: ${error instanceof Error ? error.message : String(error)}`
  }
}

async function startRedis(): Promise<Server | string> {
  const program = await findProgram('redis-server')
  if (program === null) return 'there is no redis-server in PATH'
  await using opening = new AsyncDisposableStack()
  const folder = await temporaryFolder(opening)
  const port = await freePort()
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
  }
  const child = spawn(
    program,
    Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
  )
  // Asked politely, it stays for as long as it writes its first append-only file; nothing of it is to be kept.
  opening.defer(() => stop(child, 'SIGKILL'))
  await untilSaid(child, child.stdout, 'Ready to accept connections')
  const opened = opening.move()
  return { url: `redis://127.0.0.1:${port}`, origin: program, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

async function startPostgres(): Promise<Server | string> {
  const bin = await findPostgres()
  if (bin === null) return 'there is no initdb in PATH or in /usr/lib/postgresql'
  // The server refuses to run as root.
  const account = process.getuid?.() === 0 ? await findAccount(['postgres', 'nobody']) : {}
  await using opening = new AsyncDisposableStack()
  const folder = await temporaryFolder(opening, account)
  const password = randomBytes(12).toString('hex')
  await createCluster({ bin, folder, password, account })
  const port = await freePort()
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: 300 }
  const child = spawn(
    join(bin, 'postgres'),
    ['-D', join(folder, 'data'), ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...account, cwd: folder },
  )
  // SIGINT is PostgreSQL's fast shutdown: it does not wait for clients.
  opening.defer(() => stop(child, 'SIGINT'))
  await untilSaid(child, child.stderr, 'database system is ready to accept connections')
  const opened = opening.move()
  const url = `postgres://rollcall:${password}@127.0.0.1:${port}/postgres`
  return { url, origin: join(bin, 'postgres'), [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

async function createCluster(cluster: {
  bin: string
  folder: string
  password: string
  account: Partial<Account>
}): Promise<void> {
  const { bin, folder, password, account } = cluster
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password)
  if (account.uid !== undefined && account.gid !== undefined) await chown(passwordFile, account.uid, account.gid)
  const who = ['-U', 'rollcall', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`]
  await run(join(bin, 'initdb'), ['-D', join(folder, 'data'), ...who, '-E', 'UTF8', '--locale=C'], {
    ...account,
    cwd: folder,
  })
}

async function findPostgres(): Promise<string | null> {
  const inPath = await findProgram('initdb')
  if (inPath !== null) return dirname(await realpath(inPath))
  const found = await Array.fromAsync(glob('/usr/lib/postgresql/*/bin/initdb'))
  const newest = found.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1)
  return newest === undefined ? null : dirname(newest)
}

async function findProgram(name: string): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const program = join(folder, name)
    const executable = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (executable) return program
  }
  return null
}

async function findAccount(names: readonly string[]): Promise<Account> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  for (const name of names) {
    const [, , uid, gid] = lines.find(([user]) => user === name) ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error(`PostgreSQL cannot run as root, and there is no account ${names.join(' or ')} on this machine`)
}

async function temporaryFolder(lifetime: AsyncDisposableStack, account: Partial<Account> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-server-'))
  lifetime.defer(() => rm(folder, { recursive: true, force: true }))
  if (account.uid !== undefined && account.gid !== undefined) await chown(folder, account.uid, account.gid)
  return folder
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('the system gave no port')
  return address.port
}

/** Waits for a line of a server's log; what it said instead is the error when it ends. */
async function untilSaid(child: ChildProcess, log: Readable, sign: string): Promise<void> {
  let said = ''
  const ready = Promise.withResolvers<void>()
  log.on('data', (chunk: Buffer) => {
    if (said.length < 10_000) said += chunk.toString()
    if (said.includes(sign)) ready.resolve()
  })
  child.on('error', ready.reject)
  child.on('exit', () => ready.reject(new Error(`${child.spawnfile} ended before it was ready:\n${said}`)))
  await ready.promise
}

async function stop(child: ChildProcess, signal: 'SIGKILL' | 'SIGINT'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}
