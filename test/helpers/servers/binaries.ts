import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, glob, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { findProgram, install } from './programs.ts'
import type { ServerKind, StartedServer } from './servers.ts'
import { durable, postgresSettings, type Use } from './use.ts'

const run = promisify(execFile)
const maxOutputLength = 10_000
const readyLimitMs = 60_000
/** The packages of Debian that bring the servers. */
export const packages = { redis: 'redis-server', postgres: 'postgresql' } as const

type Account = { readonly uid: number; readonly gid: number }

/** Starts a server that is installed on this machine, or says what is missing. */
export async function startBinary(kind: ServerKind, use = durable): Promise<StartedServer | string> {
  return kind === 'redis' ? startRedis() : startPostgres(use)
}

/** Installs a server with apt where that is possible: null when it is there, else the reason why not. */
export async function installServer(kind: ServerKind): Promise<string | null> {
  return await install(packages[kind])
}

/** Where `startBinary` finds the server; null where it does not. */
export async function findServer(kind: ServerKind): Promise<string | null> {
  return kind === 'redis' ? await findProgram('redis-server') : await findPostgres()
}

async function startRedis(): Promise<StartedServer | string> {
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
  const handled = await launch(
    {
      program,
      args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
      options: {},
      log: 'stdout',
      sign: 'Ready to accept connections',
      // Asked politely, it stays for as long as it writes its first append-only file; nothing of it is to be kept.
      ending: 'SIGKILL',
    },
    opening,
  )
  return { url: `redis://127.0.0.1:${port}`, origin: program, ...handled }
}

/** What is special about a PostgreSQL that a test has for itself. */
export type Cluster = {
  readonly settings?: Readonly<Record<string, string>>
  /** Files in its data folder, by name. */
  readonly files?: Readonly<Record<string, string | Buffer>>
  /** The address of a primary. The server then begins as its replica. */
  readonly replicaOf?: string
}

/** Starts a PostgreSQL that is installed on this machine, or says what is missing. */
export async function startPostgres(use: Use, cluster: Cluster = {}): Promise<StartedServer | string> {
  const bin = await findPostgres()
  if (bin === null) return 'there is no initdb in PATH or in /usr/lib/postgresql'
  const account = await serverAccount()
  await using opening = new AsyncDisposableStack()
  const folder = await temporaryFolder(opening, account)
  const data = join(folder, 'data')
  const password = cluster.replicaOf ? new URL(cluster.replicaOf).password : randomBytes(12).toString('hex')
  if (cluster.replicaOf) await copyCluster({ bin, folder, primary: cluster.replicaOf, account })
  else await createCluster({ bin, folder, password, account })
  for (const [name, content] of Object.entries(cluster.files ?? {})) {
    await writeOwned(join(data, name), content, account)
  }
  const port = await freePort()
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    ...postgresSettings(use),
    ...cluster.settings,
  }
  const program = join(bin, 'postgres')
  const handled = await launch(
    {
      program,
      args: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      options: { ...account, cwd: folder },
      log: 'stderr',
      sign: cluster.replicaOf
        ? 'ready to accept read-only connections'
        : 'database system is ready to accept connections',
      // PostgreSQL's fast shutdown: it does not wait for clients.
      ending: 'SIGINT',
    },
    opening,
  )
  return { url: `postgres://rollcall:${password}@127.0.0.1:${port}/postgres`, origin: program, ...handled }
}

type Launch = {
  readonly program: string
  readonly args: readonly string[]
  readonly options: Partial<Account> & { readonly cwd?: string }
  /** Where it says that it is ready, and how. */
  readonly log: 'stdout' | 'stderr'
  readonly sign: string
  /** The signal that ends it when it is no longer needed. */
  readonly ending: 'SIGKILL' | 'SIGINT'
}

/** Starts a server and takes over what was opened for it. */
export async function launch(
  { program, args, options, log, sign, ending }: Launch,
  opening: AsyncDisposableStack,
): Promise<Omit<StartedServer, 'url' | 'origin'>> {
  let child: ChildProcess
  async function begin(): Promise<void> {
    const begun = spawn(program, args, options)
    child = begun
    await waitForOutput(begun, begun[log], sign)
  }
  opening.defer(() => stop(child, ending))
  await begin()
  const opened = opening.move()
  return {
    kill: () => killFamily(child),
    start: begin,
    pause: () => signalFamily(child, 'SIGSTOP'),
    resume: () => signalFamily(child, 'SIGCONT'),
    keepOn: (processors) => keepFamilyOn(child, processors),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function createCluster(cluster: {
  bin: string
  folder: string
  password: string
  account: Partial<Account>
}): Promise<void> {
  const { bin, folder, password, account } = cluster
  const passwordFile = join(folder, 'password')
  await writeOwned(passwordFile, password, account)
  const who = ['-U', 'rollcall', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`]
  await run(join(bin, 'initdb'), ['-D', join(folder, 'data'), ...who, '-E', 'UTF8', '--locale=C', '--no-sync'], {
    ...account,
    cwd: folder,
  })
}

async function copyCluster(cluster: {
  bin: string
  folder: string
  primary: string
  account: Partial<Account>
}): Promise<void> {
  const { bin, folder, primary, account } = cluster
  const copy = ['-d', primary, '-D', join(folder, 'data'), '--write-recovery-conf', '--checkpoint=fast', '--no-sync']
  await run(join(bin, 'pg_basebackup'), copy, { ...account, cwd: folder })
}

/** Writes a file that only the account of a server can read. */
export async function writeOwned(file: string, content: string | Buffer, account: Partial<Account>): Promise<void> {
  await writeFile(file, content, { mode: 0o600 })
  if (account.uid !== undefined && account.gid !== undefined) await chown(file, account.uid, account.gid)
}

async function findPostgres(): Promise<string | null> {
  const inPath = await findProgram('initdb')
  if (inPath !== null) return dirname(await realpath(inPath))
  const matches = await Array.fromAsync(glob('/usr/lib/postgresql/*/bin/initdb'))
  const newest = matches.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1)
  return newest === undefined ? null : dirname(newest)
}

/** The account for servers that refuse to run as root. */
export async function serverAccount(): Promise<Partial<Account>> {
  return process.getuid?.() === 0 ? await findAccount(['postgres', 'nobody']) : {}
}

async function findAccount(names: readonly string[]): Promise<Account> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  for (const name of names) {
    const [, , uid, gid] = lines.find(([user]) => user === name) ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error(`this server cannot run as root, and there is no account ${names.join(' or ')} on this machine`)
}

export async function temporaryFolder(lifetime: AsyncDisposableStack, account: Partial<Account> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-server-'))
  lifetime.defer(() => rm(folder, { recursive: true, force: true }))
  if (account.uid !== undefined && account.gid !== undefined) await chown(folder, account.uid, account.gid)
  return folder
}

/** Waits for a line of a server's log; what it said instead is the error when it ends, or takes too long. */
async function waitForOutput(child: ChildProcess, log: Readable, sign: string): Promise<void> {
  let output = ''
  const ready = Promise.withResolvers<void>()
  log.on('data', (chunk: Buffer) => {
    // Whoever asks too early makes it say much.
    output = (output + chunk.toString()).slice(-maxOutputLength)
    if (output.includes(sign)) ready.resolve()
  })
  child.on('error', ready.reject)
  child.on('exit', () => ready.reject(new Error(`${child.spawnfile} ended before it was ready:\n${output}`)))
  const late = () => ready.reject(new Error(`${child.spawnfile} was not ready in time:\n${output}`))
  const timer = setTimeout(late, readyLimitMs)
  try {
    await ready.promise
  } finally {
    clearTimeout(timer)
  }
}

/** Ends a server with all its processes as a power cut does: none of them is left to notice that the others have gone. */
async function killFamily(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return
  // A stopped parent starts no more, and does not see its children die.
  child.kill('SIGSTOP')
  for (let children = await childrenOf(child); children.length > 0; children = await childrenOf(child)) {
    signalAll(children, 'SIGKILL')
  }
  await stop(child, 'SIGKILL')
}

async function signalFamily(child: ChildProcess, signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  child.kill(signal)
  signalAll(await childrenOf(child), signal)
}

// What a process starts later is kept where it is itself.
async function keepFamilyOn(child: ChildProcess, processors: string): Promise<void> {
  const { pid = 0 } = child
  for (const one of [pid, ...(await childrenOf(child))]) await run('taskset', ['-acp', processors, String(one)])
}

/** The living processes that a server has started for its work; PostgreSQL has one for each connection. */
async function childrenOf({ pid }: ChildProcess): Promise<number[]> {
  const all = process.platform === 'linux' ? await processesOfLinux() : await processesOfPs()
  return all.flatMap(([own, parent, state = 'Z']) =>
    Number(parent) === pid && !state.startsWith('Z') ? [Number(own)] : [],
  )
}

type ProcessWords = readonly [own?: string, parent?: string, state?: string]

// A minimal Linux has no ps.
async function processesOfLinux(): Promise<ProcessWords[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  // Some have ended since they were listed.
  const states = await Promise.all(pids.map((own) => readFile(`/proc/${own}/stat`, 'utf8').catch(() => '')))
  return states.map((text) => {
    // The name stands in brackets, and may have brackets and blanks itself: "7 (a (b) c) S 1 …".
    const [, own, state, parent] = /^(\d+) \(.*\) (\S) (\d+)/s.exec(text) ?? []
    return [own, parent, state]
  })
}

async function processesOfPs(): Promise<ProcessWords[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,stat='])
  return stdout.split('\n').map((line) => {
    const [own, parent, state] = line.trim().split(/\s+/)
    return [own, parent, state]
  })
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has just ended by itself.
    }
  }
}

async function stop(child: ChildProcess, signal: 'SIGKILL' | 'SIGINT'): Promise<void> {
  if (!isRunning(child)) return
  const ended = once(child, 'exit')
  child.kill(signal)
  // What is paused takes no other signal than SIGKILL.
  await signalFamily(child, 'SIGCONT')
  await ended
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null
}
