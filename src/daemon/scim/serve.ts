import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { columnsIn } from '../../connectors/expressions/check.ts'
import { badRequest, errorBody, ScimError, scimMediaType, scimPath } from '../../connectors/scim/errors.ts'
import { readsGroups } from '../../connectors/scim/person.ts'
import { readProjection } from '../../connectors/scim/projection.ts'
import { listResponse, resourceTypes, schemas, serviceProviderConfig } from '../../connectors/scim/provider.ts'
import { readBody, type ScimObject } from '../../connectors/scim/resource.ts'
import type { ScimSource } from '../../connectors/scim/settings.ts'
import { databaseFailure } from '../../database/failures.ts'
import { Refusal } from '../../http/refusal.ts'
import { send as sendJson } from '../../http/server/app.ts'
import { countRefusals, type RefusalCounts } from '../../http/server/refusal-counts.ts'
import { expressionsOf, type Mapping } from '../../identity/mapping/mapping.ts'
import { pendingCount } from '../../store/inbox/inbox.ts'
import { ensureConnection } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import { ensureScimConnection } from '../../store/scim/resources.ts'
import { openTurns } from '../../system/turns.ts'
import type { Events } from '../../telemetry/events.ts'
import { createInboxCapacity, type InboxCapacity } from '../webhooks/capacity.ts'
import type { ScimAnswer, ScimRequest } from './answers.ts'
import type { ChangeAnswer, ScimFeed } from './changes.ts'
import { createGroup, deleteGroup, patchGroup, replaceGroup } from './groups.ts'
import { type ListParameters, readList, readOne } from './lists.ts'
import { createUser, deleteUser, patchUser, replaceUser } from './users.ts'

/** What is served over SCIM, and with what. */
type ScimOptions = {
  /** The connections that are pushed, by their names, which are in their paths. */
  readonly feeds: ReadonlyMap<string, { readonly settings: ScimSource; readonly mapping: Mapping }>
  readonly db: Db
  readonly now: () => Date
  readonly events: Events
  /** Why a sender is not admitted to a connection; null if it is. Throws a refusal for an address that failed too often. */
  readonly admit: (request: FastifyRequest, connection: string) => Promise<string | null>
  /** The address of the daemon behind a proxy; null: the one that the request names. */
  readonly publicUrl: URL | null
  /** Maximum number of changes of one sort and connection that wait for one another. Senders have far fewer under way. */
  readonly maxUnderWay?: number
}

const retryAfterSeconds = '5'
const fullRetryAfterSeconds = '60'
const clockToleranceMs = 10_000
/** What is logged: refusals that an operator may have to look into. Others are part of how senders work. */
const loggedStatuses: ReadonlySet<number> = new Set([400, 413, 415, 429, 503])

type ScimContext = Omit<ScimOptions, 'feeds'> & { readonly capacity: InboxCapacity; readonly refusals: RefusalCounts }
type Handler = (input: RequestInput) => Promise<ScimAnswer>
type RequestInput = {
  readonly request: ScimRequest
  readonly id: string
  readonly parameters: ListParameters
  readonly body: () => ScimObject
}

/** Serves `/scim/v2/NAME` for each connection that is pushed (RFC 7644). A change is answered with 2xx only if it is committed. */
export async function serveScim(app: FastifyInstance, { feeds, ...options }: ScimOptions): Promise<void> {
  const { db, events } = options
  const capacity = createInboxCapacity((connection) => pendingCount(db, connection))
  const refusals = countRefusals(({ subject: connection, ...refused }) =>
    events.scimRefused({ connection, ...refused }),
  )
  app.addHook('onClose', async () => refusals[Symbol.dispose]())
  for (const [connection, { settings, mapping }] of feeds) {
    await ensureConnection(db, connection)
    await ensureScimConnection(db, connection)
    await capacity.count(connection)
    const inExpressions = expressionsOf(mapping).flatMap(({ text }) => columnsIn(text))
    const feed = {
      connection,
      settings,
      mapping,
      inExpressions,
      readsGroups: readsGroups(mapping),
      inTurn: openTurns(),
    }
    await app.register(async (scope) => serveFeed(scope, feed, { ...options, capacity, refusals }), {
      prefix: `${scimPath}/${connection}`,
    })
  }
  await app.register(async (scope) => refuseUnknown(scope, { ...options, refusals }), { prefix: scimPath })
}

/** Answers requests to unknown connections like those without a valid token, so that nobody learns which connections there are. */
function refuseUnknown(scope: FastifyInstance, serving: Pick<ScimContext, 'admit' | 'events' | 'refusals'>): void {
  scope.addHook('onRequest', async (request) => {
    throw unauthorized((await serving.admit(request, '')) ?? 'there is no such connection')
  })
  scope.setErrorHandler((error, request, reply) => sendError(error, { request, reply, connection: null, serving }))
  anyPath(scope)
}

/** Answers all paths of a scope that have no route, under any host name: who reads the answer learns of no connection by it. */
function anyPath(scope: FastifyInstance): void {
  const options = { config: { anyHost: true } }
  const refuseUnknownPath = async () => {
    throw new ScimError(404, 'nothing is served here')
  }
  scope.all('/', options, refuseUnknownPath)
  scope.all('/*', options, refuseUnknownPath)
}

function serveFeed(scope: FastifyInstance, feed: ScimFeed, serving: ScimContext): void {
  const ctx = { db: serving.db, now: serving.now }
  readBytes(scope)
  scope.addHook('onRequest', async (request) => {
    const reason = await serving.admit(request, feed.connection)
    if (reason !== null) throw unauthorized(reason)
  })
  scope.setErrorHandler((error, request, reply) =>
    sendError(error, { request, reply, connection: feed.connection, serving }),
  )
  anyPath(scope)
  const served = { scope, feed, serving, noteClock: clockWatch(feed, serving) }

  routeReading(served, '/ServiceProviderConfig', async ({ request }) => ok(serviceProviderConfig(request.base)))
  discovery(served, 'ResourceTypes', resourceTypes)
  discovery(served, 'Schemas', schemas)
  for (const kind of ['User', 'Group'] as const) {
    const path = `/${kind}s`
    routeReading(served, path, ({ request, parameters }) => readList(ctx, feed, { kind, parameters, request }))
    routeReading(served, `${path}/:id`, ({ request, id }) => readOne(ctx, feed, { kind, id, request }))
  }
  const changes: Readonly<
    Record<'Users' | 'Groups', readonly [typeof createUser, typeof replaceUser, typeof patchUser, typeof deleteUser]>
  > = {
    Users: [createUser, replaceUser, patchUser, deleteUser],
    Groups: [createGroup, replaceGroup, patchGroup, deleteGroup],
  }
  for (const [path, [create, replace, patch, remove]] of Object.entries(changes)) {
    routeChange(served, ['POST', `/${path}`], ({ request, body }) => create(ctx, feed, { body: body(), request }))
    routeChange(served, ['PUT', `/${path}/:id`], ({ request, id, body }) =>
      replace(ctx, feed, { id, body: body(), request }),
    )
    routeChange(served, ['PATCH', `/${path}/:id`], ({ request, id, body }) =>
      patch(ctx, feed, { id, body: body(), request }),
    )
    routeChange(served, ['DELETE', `/${path}/:id`], ({ request, id }) => remove(ctx, feed, { id, request }))
  }
}

type ScimScope = {
  readonly scope: FastifyInstance
  readonly feed: ScimFeed
  readonly serving: ScimContext
  readonly noteClock: (behindMs: number) => void
}

/** Logs that the clock has fallen behind, such as when it was set back, and again when it is twice as far behind. */
function clockWatch({ connection }: ScimFeed, { events }: Pick<ScimContext, 'events'>): (behindMs: number) => void {
  let loggedMs = 0
  return (behindMs) => {
    // The clocks of two processes may differ a little.
    if (behindMs <= clockToleranceMs) loggedMs = 0
    else if (behindMs >= 2 * loggedMs) {
      loggedMs = behindMs
      events.scimClockBehind({ connection, seconds: Math.round(behindMs / 1000) })
    }
  }
}

function routeReading({ scope, feed, serving }: ScimScope, url: string, handler: Handler): void {
  scope.get(url, { config: { anyHost: true } }, async (request, reply) =>
    send(reply, await handler(inputOf(request, feed, serving))),
  )
}

/** Documents about this service provider: a list, and each of them by its ID. */
function discovery(
  served: ScimScope,
  name: string,
  documents: (base: string) => readonly (object & { readonly id: string })[],
): void {
  routeReading(served, `/${name}`, async ({ request }) => {
    const resources = documents(request.base)
    return ok(listResponse({ resources, total: resources.length, startIndex: 1 }))
  })
  routeReading(served, `/${name}/:id`, async ({ request, id }) => {
    const document = documents(request.base).find((one) => one.id === id)
    if (document === undefined) throw new ScimError(404, 'there is no such document')
    return ok(document)
  })
}

function routeChange(
  { scope, feed, serving, noteClock }: ScimScope,
  [method, url]: readonly ['POST' | 'PUT' | 'PATCH' | 'DELETE', string],
  handler: (input: RequestInput) => Promise<ChangeAnswer>,
): void {
  const { inboxLimit, bodyLimitBytes: bodyLimit } = feed.settings
  const { maxUnderWay = 500 } = serving
  let underWay = 0
  scope.route({
    method,
    url,
    bodyLimit,
    config: { anyHost: true },
    handler: async (request, reply) => {
      if (underWay >= maxUnderWay) throw tooManyChanges()
      underWay += 1
      using _turn = { [Symbol.dispose]: () => (underWay -= 1) }
      using reservation = serving.capacity.reserve(feed.connection, inboxLimit)
      if (reservation === null) throw inboxFull()
      const { events: stored, behindMs, ...answer } = await handler(inputOf(request, feed, serving))
      reservation.added(stored)
      if (stored > 0) serving.events.scimStored({ connection: feed.connection, stored })
      noteClock(behindMs)
      return send(reply, answer)
    },
  })
}

function inputOf(request: FastifyRequest, { connection }: ScimFeed, { publicUrl }: ScimContext): RequestInput {
  const { id = '' } = request.params as { readonly id?: string }
  const parameters = parametersOf(request.query)
  const { attributes, excludedAttributes } = parameters
  const origin = publicUrl?.origin ?? `${request.protocol}://${request.host}`
  return {
    id,
    parameters,
    body: () => readBody(Buffer.isBuffer(request.body) ? request.body : new Uint8Array()),
    request: {
      base: `${origin}${scimPath}/${connection}`,
      projection: readProjection({ attributes, excludedAttributes }),
      ifMatch: request.headers['if-match'],
      ifNoneMatch: request.headers['if-none-match'],
    },
  }
}

function parametersOf(query: unknown): ListParameters {
  const parameters = query as Readonly<Record<string, string | readonly string[]>>
  for (const value of Object.values(parameters))
    if (typeof value !== 'string') throw badRequest('invalidValue', 'a parameter is given more than once')
  return parameters as ListParameters
}

/** Passes bodies to the handlers as they arrived. */
function readBytes(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  const types = ['application/scim+json', 'application/json']
  scope.addContentTypeParser<Buffer>(types, { parseAs: 'buffer' }, (request, bytes, done) => {
    if ((request.headers['content-encoding'] ?? 'identity') === 'identity') done(null, bytes)
    else done(new ScimError(415, 'send the body without a Content-Encoding'))
  })
}

type FailedRequest = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Null: none that there is. */
  readonly connection: string | null
  readonly serving: Pick<ScimContext, 'events' | 'refusals'>
}

function sendError(error: unknown, { request, reply, connection, serving }: FailedRequest): FastifyReply {
  const known = knownError(error)
  if (known === null) serving.events.unexpected({ during: 'scim', error })
  const refused = known ?? internalError()
  if (connection !== null && loggedStatuses.has(refused.status)) {
    const reason = `${request.method} refused with ${[refused.status, refused.scimType ?? []].flat().join(' ')}`
    serving.refusals.count({ subject: connection, reason, sender: request.ip })
  }
  return send(reply, errorAnswer(refused))
}

/** The error for what other parts refuse; null for a fault of ours. Their messages may quote the request, so they are not used. */
function knownError(error: unknown): ScimError | null {
  if (error instanceof ScimError) return error
  if (databaseFailure(error) !== null) {
    const headers = { 'retry-after': retryAfterSeconds }
    return new ScimError(503, 'the store is away; send the request again', { headers })
  }
  if (error instanceof Refusal) return new ScimError(error.status, error.message, { headers: error.headers })
  const { statusCode, code } = error as { readonly statusCode?: number; readonly code?: string }
  if (statusCode === 413) return new ScimError(413, 'the body is larger than this connection accepts')
  if (statusCode === 415 || code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new ScimError(415, 'send the body as application/scim+json')
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new ScimError(statusCode, 'the request cannot be read', { scimType: 'invalidSyntax' })
  return null
}

function unauthorized(reason: string): ScimError {
  return new ScimError(401, reason, { headers: { 'www-authenticate': 'Bearer' } })
}

function internalError(): ScimError {
  return new ScimError(500, 'the request failed for a reason on our side; send it again')
}

function tooManyChanges(): ScimError {
  return new ScimError(503, 'too many changes arrive at once', { headers: { 'retry-after': retryAfterSeconds } })
}

function inboxFull(): ScimError {
  const headers = { 'retry-after': fullRetryAfterSeconds }
  return new ScimError(429, 'too many changes wait to be planned; send it again later', { headers })
}

function errorAnswer(error: ScimError): ScimAnswer {
  return { status: error.status, headers: error.headers, body: errorBody(error) }
}

function ok(body: object): ScimAnswer {
  return { status: 200, body }
}

function send(reply: FastifyReply, { status, headers = {}, body }: ScimAnswer): FastifyReply {
  return sendJson(reply.headers(headers), { status, body, type: scimMediaType })
}
