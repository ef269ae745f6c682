import { findServer, installServer, packages, startBinary } from './binaries.ts'
import { hasEngine, startContainer } from './containers.ts'
import { whyNotInstall } from './programs.ts'
import { durable, type Use } from './use.ts'

export type ServerKind = 'redis' | 'postgres'

/** A server that a test run may use; disposing ends it where this process started it. */
export type Server = AsyncDisposable & {
  readonly url: string
  /** Where it comes from, for the line that a run prints. */
  readonly origin: string
}

/** A server that this process started, and may treat as badly as life does. */
export type StartedServer = Server & {
  /** Ends all of it at once, without a word. PostgreSQL keeps what was committed, Redis keeps nothing. */
  kill(): Promise<void>
  /** Starts it again after a `kill`, at the same address; resolves when it can be used. */
  start(): Promise<void>
  /** Stops it in the middle of whatever it does; its connections stay open, and nobody answers there. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Keeps it on these processors, a list of their numbers, from here on until it ends. */
  keepOn(processors: string): Promise<void>
}

/** Starts a server, or returns why this method is not available. */
type StartMethod<S extends Server> = (kind: ServerKind, use: Use) => Promise<S | string>
type StartMethods<S extends Server> = Readonly<Record<string, StartMethod<S>>>

const names = { redis: 'Redis', postgres: 'PostgreSQL' } as const
const variables = { redis: 'REDIS_URL', postgres: 'DATABASE_URL' } as const

const ownWays: StartMethods<StartedServer> = {
  containers: startContainer,
  binaries: startBinary,
  install: async (kind, use) => (await installServer(kind)) ?? startBinary(kind, use),
}
const methods: StartMethods<Server> = { environment: fromEnvironment, ...ownWays }

/**
 * Finds or starts a server with the first available method, and prints the method on stderr. `ROLLCALL_TEST_SERVERS` allows
 * one method only. If none is available, it throws with the reason of each.
 */
export async function startServer(kind: ServerKind, use = durable): Promise<Server> {
  const server = await nearest({ kind, use, open: methods, only: onlyMethod() })
  process.stderr.write(`test servers: ${names[kind]} from ${server.origin}\n`)
  return server
}

/** Where the servers of a run will come from, the nearest way first, without starting any of them. */
export async function foreseeServers(): Promise<string[]> {
  const only = onlyMethod()
  const kinds: readonly ServerKind[] = ['postgres', 'redis']
  return await Promise.all(kinds.map(async (kind) => `${names[kind]}${await foresee(kind, only)}`))
}

async function foresee(kind: ServerKind, only: string | undefined): Promise<string> {
  const may = (method: string) => only === undefined || only === method
  if (may('environment') && process.env[variables[kind]]) return ` from ${variables[kind]}`
  if (may('containers') && (await hasEngine())) return ' in a container'
  const server = may('binaries') ? await findServer(kind) : null
  if (server !== null) return ` from ${server}`
  const reason = may('install') ? await whyNotInstall() : `not to be found (${only})`
  return reason === null ? `, which apt will install (${packages[kind]})` : ` missing (${reason})`
}

/** Starts a server that nobody else uses: the nearest way of starting one, or the one that `ROLLCALL_TEST_SERVERS` names. */
export async function startOwnServer(kind: ServerKind): Promise<StartedServer> {
  const only = onlyMethod()
  return await nearest({
    kind,
    use: durable,
    open: ownWays,
    only: only !== undefined && only in ownWays ? only : undefined,
  })
}

function onlyMethod(): string | undefined {
  const only = process.env.ROLLCALL_TEST_SERVERS
  if (only === undefined || only in methods) return only
  throw new Error(`ROLLCALL_TEST_SERVERS is "${only}"; it can be ${Object.keys(methods).join(', ')}`)
}

async function nearest<S extends Server>(desired: {
  kind: ServerKind
  use: Use
  open: StartMethods<S>
  only: string | undefined
}): Promise<S> {
  const { kind, use, open, only } = desired
  const reasons: string[] = []
  for (const [name, method] of Object.entries(open)) {
    if (only !== undefined && name !== only) continue
    const server = await method(kind, use)
    if (typeof server !== 'string') return server
    reasons.push(`${name}: ${server}`)
  }
  throw new Error(
    `found no ${names[kind]} for the tests; set ${variables[kind]}, start a Docker engine or install it (docs/testing.md)\n  ${reasons.join('\n  ')}`,
  )
}

async function fromEnvironment(kind: ServerKind): Promise<Server | string> {
  const url = process.env[variables[kind]]
  if (url === undefined || url === '') return `${variables[kind]} is not set`
  return { url, origin: variables[kind], async [Symbol.asyncDispose]() {} }
}
