import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import { sql } from 'kysely'
import { platformPrefix } from '../contract/platform/platform.ts'
import type { Database } from '../database/database.ts'
import { maintainRegularly } from '../database/maintain.ts'
import { errorCode, Failure } from '../errors.ts'
import { compressed, createApp } from '../http/server/app.ts'
import type { MountOptions } from '../http/server/mount.ts'
import { referencePath, serveReferencePage } from '../http/server/reference-page.ts'
import { type LimitKind, limitRequests } from '../http/server/request-limit.ts'
import { describeError } from '../telemetry/describe-error.ts'
import { findCaller } from './accounts/api-keys.ts'
import { authorize, bearerToken } from './accounts/authorize.ts'
import type { PlatformContext } from './core/context.ts'
import { cursorSecret } from './core/cursors.ts'
import { openPlatformDatabase } from './core/database.ts'
import { platformDocument } from './core/document.ts'
import { SchemaValidator } from './core/json-schema/validator.ts'
import type { PlatformSchema } from './core/schema.ts'
import { refusalOfUnknown } from './core/unimplemented.ts'
import { serveDownloads } from './documents/downloads.ts'
import { mountAreas } from './handlers.ts'
import { type SyncSchedule, startNightlySync } from './identity-sync/nightly.ts'
import { operatorPrefix } from './operators/contract.ts'
import { serveOperator } from './operators/serve.ts'
import { servePersonnelPage } from './page/serve.ts'

/** How often an embedded database is vacuumed; it has no autovacuum. */
const maintainMs = 10 * 60_000
const documentPath = `${platformPrefix}/openapi.json`

/** The options of `startPlatform`. */
export type PlatformOptions = {
  /** `postgres://…`, the folder of an embedded database, or `memory:`. */
  readonly database: string
  readonly host?: string
  /** 0 takes a free one. */
  readonly port?: number
  /** When the identity sync of every account runs; null: only on request. */
  readonly sync?: SyncSchedule | null
  /** Enables the operator's API for callers with this token. */
  readonly operatorToken?: string
  /** Whether a proxy serves the Personnel page over HTTPS. */
  readonly isBehindHttps?: boolean
  /** Runs on the database before the platform accepts requests. */
  readonly prepare?: (db: Kysely<PlatformSchema>) => Promise<void>
  /** Maximum requests of one address to the public API; null: no limit. */
  readonly requestsPerMinute?: number | null
  /** The form of that limit; by default `minute`. */
  readonly rateLimit?: LimitKind
  /** The addresses and networks of reverse proxies, whose `X-Forwarded-For` names the caller. */
  readonly trustedProxies?: readonly string[]
  /** The public addresses of the API in its document; by default the path alone. */
  readonly baseAddresses?: readonly string[]
  readonly logger?: FastifyBaseLogger
  readonly now?: () => Date
  /** For tests: a reply that the contract does not list becomes a 500. */
  readonly validateResponses?: boolean
}

/** A running platform; disposing it stops the platform. */
export type Platform = AsyncDisposable & {
  /** The address of the public API on this machine. */
  readonly baseUrl: string
  /** The address of the operator's API, if it is enabled. */
  readonly operatorUrl: string
  readonly port: number
  readonly database: Database<PlatformSchema>
}

/** Starts the platform: its database, its HTTP servers and its nightly identity sync. Disposing waits for running requests and syncs. */
export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  const { host = '127.0.0.1', port = 0, sync = null, now = () => new Date() } = options
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openPlatformDatabase(options.database))
  const failed = (error: unknown) =>
    options.logger?.error({ event: 'maintenance.failed', failure: describeError(error) }, 'vacuum failed')
  if (database.kind === 'pglite') opening.use(maintainRegularly(database.pool, { pauseMs: maintainMs, failed }))
  await options.prepare?.(database.db)
  if (sync) opening.use(startNightlySync(database.db, { schedule: sync, report: logSyncs(options.logger), now }))
  const schemaValidator = opening.use(new SchemaValidator())
  const app = await createApp({
    logger: options.logger,
    trustedProxies: options.trustedProxies,
    refusalOfUnknown,
  })
  opening.defer(() => app.close())
  serveHealth(app, database.db)
  const secret = await cursorSecret(database.db)
  await servePublic(app, { db: database.db, schemaValidator: schemaValidator, cursorSecret: secret }, options)
  await servePersonnelPage(app, {
    db: database.db,
    now,
    listener: logSyncs(options.logger),
    isSecure: options.isBehindHttps ?? false,
    cursorSecret: secret,
  })
  if (options.operatorToken) serveOperator(app, { db: database.db, now }, options.operatorToken)
  const origin = await listen(app, host, port)
  const running = opening.move()
  return {
    baseUrl: `${origin}${platformPrefix}`,
    operatorUrl: `${origin}${operatorPrefix}`,
    port: Number(new URL(origin).port),
    database,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

async function servePublic(
  app: FastifyInstance,
  services: Pick<PlatformContext, 'db' | 'schemaValidator' | 'cursorSecret'>,
  options: PlatformOptions,
): Promise<void> {
  const { now = () => new Date(), validateResponses = false, requestsPerMinute, rateLimit: kind } = options
  if (requestsPerMinute) limitRequests(app, { prefix: platformPrefix, requestsPerMinute, kind })
  const shared = { ...services, now }
  const [baseAddress] = options.baseAddresses ?? []
  const mounting: MountOptions<PlatformContext> = {
    prefix: platformPrefix,
    validateResponses,
    authorize: async (request, operation) => {
      const key = bearerToken(request.headers.authorization)
      const caller = key === null ? null : await findCaller(services.db, { key, address: request.ip, now: now() })
      const baseUrl = baseAddress ?? `${request.protocol}://${request.host}${platformPrefix}`
      return { ...shared, baseUrl, operation, ...authorize(caller, operation) }
    },
  }
  mountAreas(app, mounting)
  serveDownloads(app, platformPrefix, shared)
  const document = platformDocument(now(), options.baseAddresses)
  app.get(documentPath, { compress: compressed }, async () => document)
  serveReferencePage(app, { documentPath, title: 'Compliance Management Public API' })
  for (const path of ['/', '/docs']) app.get(path, async (_request, reply) => reply.redirect(`${referencePath}/`))
}

function serveHealth(app: FastifyInstance, db: Kysely<PlatformSchema>): void {
  app.get('/healthz', async (_request, reply) => {
    const healthy = await sql`select 1`.execute(db).then(
      () => true,
      () => false,
    )
    return reply.code(healthy ? 200 : 503).send({ status: healthy ? 'ok' : 'the database does not answer' })
  })
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    const address = await app.listen({ host, port })
    return address.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
  } catch (error) {
    const code = errorCode(error) ?? 'unknown reason'
    throw new Failure(
      'config_invalid',
      `the platform cannot listen on ${host}:${port} (${code}); choose another --host or --port`,
      {
        cause: error,
      },
    )
  }
}

function logSyncs(logger: FastifyBaseLogger | undefined) {
  return {
    onFinished: (accountId: number, changed: number) =>
      logger?.info({ event: 'identity_sync.finished', accountId, changed }, 'identity sync finished'),
    onFailed: (accountId: number | null, error: unknown) =>
      logger?.error(
        { event: 'identity_sync.failed', accountId, failure: describeError(error) },
        'identity sync failed',
      ),
  }
}
