import { installServer, startBinary } from './server-binaries.ts'
import { startContainer } from './server-containers.ts'

export type ServerKind = 'redis' | 'postgres'

/** A server that a test run may use; disposing ends it where this process started it. */
export type Server = AsyncDisposable & {
  readonly url: string
  /** Where it comes from, for the line that a run prints. */
  readonly origin: string
}

/** Gives a server, or the reason why this way is closed. */
type Way = (kind: ServerKind) => Promise<Server | string>

const names = { redis: 'Redis', postgres: 'PostgreSQL' } as const
const variables = { redis: 'REDIS_URL', postgres: 'DATABASE_URL' } as const

const ways: Readonly<Record<string, Way>> = {
  environment: fromEnvironment,
  containers: startContainer,
  binaries: startBinary,
  install: async (kind) => (await installServer(kind)) ?? startBinary(kind),
}

/**
 * Finds or starts a server, the nearest way first, and prints on stderr which way it took. `ROLLCALL_TEST_SERVERS` names
 * one way and closes the others. Where no way leads anywhere, it throws with the reason of each.
 */
export async function startServer(kind: ServerKind): Promise<Server> {
  const only = process.env.ROLLCALL_TEST_SERVERS
  if (only !== undefined && !(only in ways)) {
    throw new Error(`ROLLCALL_TEST_SERVERS is "${only}"; it can be ${Object.keys(ways).join(', ')}`)
  }
  const reasons: string[] = []
  for (const [name, way] of Object.entries(ways)) {
    if (only !== undefined && name !== only) continue
    const server = await way(kind)
    if (typeof server !== 'string') {
      process.stderr.write(`test servers: ${names[kind]} from ${server.origin}\n`)
      return server
    }
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
