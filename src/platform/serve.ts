import { randomBytes } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Kysely } from 'kysely'
import type { LimitKind } from '../http/server/request-limit.ts'
import type { PlatformSchema } from './core/schema.ts'
import type { SyncSchedule } from './identity-sync/nightly.ts'
import { ensureKeyFile } from './operators/key-file.ts'
import { databaseOperator } from './operators/operator.ts'
import { announceService } from './operators/service-file.ts'
import { readSeed } from './seed/file.ts'
import { type Platform, startPlatform } from './start.ts'

/** The options of `startService`. */
export type ServeOptions = {
  readonly database: string
  readonly host: string
  readonly port: number
  readonly sync: SyncSchedule | null
  /** The seed for a database without accounts. */
  readonly seed?: string
  readonly keyFile?: string
  readonly operatorToken?: string
  readonly requestsPerMinute?: number | null
  readonly rateLimit?: LimitKind
  readonly trustedProxies?: readonly string[]
  readonly baseAddresses?: readonly string[]
  readonly isBehindHttps?: boolean
  readonly logger?: FastifyBaseLogger
}

const tokenBytes = 32

/** Starts the platform as a service, with seed and key file; the commands of this machine can reach it. */
export async function startService(options: ServeOptions): Promise<Platform> {
  const isEmbedded = !/^postgres(ql)?:/.test(options.database) && !options.database.startsWith('memory:')
  const operatorToken =
    options.operatorToken ?? (isEmbedded ? randomBytes(tokenBytes).toString('base64url') : undefined)
  const seed = options.seed === undefined ? null : await readSeed(options.seed)
  await using starting = new AsyncDisposableStack()
  const platform = starting.use(
    await startPlatform({
      database: options.database,
      host: options.host,
      port: options.port,
      sync: options.sync,
      requestsPerMinute: options.requestsPerMinute ?? null,
      rateLimit: options.rateLimit,
      trustedProxies: options.trustedProxies ?? [],
      baseAddresses: options.baseAddresses ?? [],
      operatorToken,
      isBehindHttps: options.isBehindHttps ?? false,
      prepare: async (db) => {
        if (seed && !(await hasAccounts(db))) await databaseOperator(db).seed({ body: seed })
        if (options.keyFile !== undefined) await ensureKeyFile(db, options.keyFile, new Date())
      },
      logger: options.logger,
    }),
  )
  if (isEmbedded && operatorToken !== undefined) {
    const service = { pid: process.pid, operatorUrl: platform.operatorUrl, token: operatorToken }
    starting.use(await announceService(options.database, service))
  }
  const started = starting.move()
  return { ...platform, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. */
export async function untilStopped(): Promise<void> {
  const stopped = Promise.withResolvers<void>()
  const stop = () => {
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
    stopped.resolve()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  await stopped.promise
}

async function hasAccounts(db: Kysely<PlatformSchema>): Promise<boolean> {
  return (await db.selectFrom('accounts').select('id').limit(1).executeTakeFirst()) !== undefined
}
