import { isUtf8 } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { InputOf, Operation, OperationTable, ReplyOf } from '../contract/operation.ts'
import { errorCode } from '../errors.ts'
import { answerBrokenRequest } from './broken-request.ts'
import { type Input, readInput } from './input.ts'
import { describeIssues } from './issues.ts'
import { Refusal, refusalBody, refuse } from './refusal.ts'

/** One handler for each operation of a table. It answers with a listed success, or throws a `Refusal`. */
export type Handlers<T extends OperationTable, Ctx> = {
  readonly [K in keyof T]: (ctx: Ctx, input: InputOf<T[K]>) => Promise<ReplyOf<T[K]>>
}

export type MountOptions<Ctx> = {
  /** What stands before every path, such as `/public/v2`. */
  readonly prefix: string
  /** Runs before anything of the request is read, and throws a `Refusal` for a caller who may not do this. */
  readonly authorize: (request: FastifyRequest, operation: Operation) => Promise<Ctx>
  /** For tests: a reply or a refusal that the table does not list becomes a 500. */
  readonly validateResponses?: boolean
}

export type AppOptions = {
  readonly logger?: FastifyBaseLogger
  readonly bodyLimitBytes?: number
  /** How long a client may take to send its request. */
  readonly requestTimeoutMs?: number
  /** The addresses and networks of reverse proxies, whose `X-Forwarded-For` names the caller. */
  readonly trustedProxies?: readonly string[]
}

type Reply = { readonly status: number; readonly body?: unknown }

const defaultBodyLimitBytes = 10 * 1024 * 1024
const defaultRequestTimeoutMs = 60_000
/** How long the headers of a request may take to arrive, and how often that is looked at. */
const headersTimeoutMs = 15_000
const connectionsCheckMs = 5000
// A key of 191 characters can take nine times as many once it is percent-encoded.
const maxParamLength = 4096

/** Serves every operation of a table below a prefix. Checks come in this order: authorize, path, query, body, handler. */
export function mount<T extends OperationTable, Ctx>(
  app: FastifyInstance,
  table: T,
  handlers: Handlers<T, Ctx>,
  options: MountOptions<Ctx>,
): void {
  for (const [name, operation] of Object.entries(table)) {
    // The table's type ties each handler to its operation; here, where all pass through one line, the tie is lost.
    const handler: (ctx: Ctx, input: never) => Promise<Reply> = handlers[name as keyof T]
    serve(app, name, operation, (ctx, input) => handler(ctx, input as never), options)
  }
}

/** A Fastify instance whose every error, also for unknown paths and broken requests, has the contract's body. */
export function createApp({
  logger,
  bodyLimitBytes = defaultBodyLimitBytes,
  requestTimeoutMs = defaultRequestTimeoutMs,
  trustedProxies = [],
}: AppOptions = {}): FastifyInstance {
  const app = Fastify({
    ...(logger && { loggerInstance: logger }),
    // The address of a request can hold a personal value, so Fastify's own request lines stay off.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: bodyLimitBytes,
    ...(trustedProxies.length > 0 && { trustProxy: [...trustedProxies] }),
    requestTimeout: requestTimeoutMs,
    http: { headersTimeout: headersTimeoutMs, connectionsCheckingInterval: connectionsCheckMs },
    routerOptions: { maxParamLength },
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => sendError(error, request, reply),
  })
  endConnectionsOnClose(app)
  app.setErrorHandler(sendError)
  app.setNotFoundHandler((_request, reply) => {
    return sendRefusal(reply, refuse('UnknownPath', 'nothing is served under this path with this method'))
  })
  acceptJsonOnly(app)
  return app
}

/** Clients keep their connections open for a long time: closing would wait for those that were busy when it began. */
function endConnectionsOnClose(app: FastifyInstance): void {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close')
  })
}

function serve<Ctx>(
  app: FastifyInstance,
  name: string,
  operation: Operation,
  handler: (ctx: Ctx, input: Input) => Promise<Reply>,
  { prefix, authorize, validateResponses = false }: MountOptions<Ctx>,
): void {
  const contexts = new WeakMap<FastifyRequest, { ctx: Ctx }>()
  app.route({
    method: operation.method,
    url: `${prefix}${operation.path}`,
    onRequest: async (request) => {
      contexts.set(request, { ctx: await authorize(request, operation) })
    },
    handler: async (request, reply) => {
      const admitted = contexts.get(request)
      if (admitted === undefined) throw new Error(`${name} was reached without authorization`)
      const answer = () => handler(admitted.ctx, readInput(operation, request))
      return send(reply, validateResponses ? await checked(name, operation, answer) : await answer())
    },
    onResponse: async (request, reply) => {
      request.log.debug(
        { operation: name, status: reply.statusCode, durationMs: reply.elapsedTime },
        'request answered',
      )
    },
  })
}

function send(reply: FastifyReply, { status, body }: Reply): FastifyReply {
  if (body === undefined) return reply.code(status).send()
  return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(body))
}

function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  return send(reply.headers(refusal.headers), { status: refusal.status, body: refusalBody(refusal) })
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = error instanceof Refusal ? error : refusalOfFramework(error)
  if (refusal !== null) return sendRefusal(reply, refusal)
  request.log.error({ failure: describeFailure(error), route: request.routeOptions.url }, 'request failed')
  return sendRefusal(reply, refuse('InternalError', 'the request failed for a reason on our side'))
}

/** Fastify's own complaints in the contract's words. Their messages stay aside: those about JSON quote the body. */
function refusalOfFramework(error: unknown): Refusal | null {
  if (!(error instanceof Error)) return null
  const { code, statusCode } = error as Error & { code?: string; statusCode?: number }
  if (statusCode === 413) return refuse('TooLarge', 'the body is larger than this server accepts')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return refuse('UnsupportedMediaType', 'the body must be sent as application/json')
  }
  if (code === 'FST_ERR_BAD_URL') return refuse('MalformedAddress', 'the path is not percent-encoded correctly')
  if (code === 'FST_ERR_MAX_PARAM_LENGTH')
    return refuse('UnknownPath', 'a part of the path is too long to name anything')
  const concernsBody = error instanceof SyntaxError || code?.startsWith('FST_ERR_CTP_') === true
  if (concernsBody || statusCode === 400)
    return refuse('MalformedBody', 'the body is not the JSON document it claims to be')
  return null
}

// Details of database errors quote rows, so only what identifies the failure is logged.
function describeFailure(error: unknown): { readonly name: string; readonly code: unknown; readonly stack: string } {
  if (!(error instanceof Error)) return { name: typeof error, code: null, stack: '' }
  const code = errorCode(error) ?? null
  return { name: error.name, code, stack: error.stack ?? error.message }
}

function acceptJsonOnly(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain')
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    // Many clients announce JSON on every request, also on those without a body.
    if (bytes.length === 0) done(null, undefined)
    // Decoding would put replacement characters where the bytes are no text, and they would be stored.
    else if (!isUtf8(bytes)) done(refuse('MalformedBody', 'the body is not encoded as UTF-8'))
    else parseJson(request, bytes.toString(), done)
  })
}

async function checked(name: string, operation: Operation, answer: () => Promise<Reply>): Promise<Reply> {
  const reply = await answer().catch((error: unknown) => {
    if (error instanceof Refusal && !operation.errors.includes(error.status)) {
      throw new Error(`${name} refused with ${error.status}, which the operation does not list`, { cause: error })
    }
    throw error
  })
  const schema = operation.success[reply.status]
  if (schema === undefined) throw new Error(`${name} answered ${reply.status}, which the operation does not list`)
  if (schema === null) {
    if (reply.body !== undefined)
      throw new Error(`${name} answered ${reply.status} with a body; the operation has none`)
    return reply
  }
  const body: unknown = JSON.parse(JSON.stringify(reply.body ?? null))
  const parsed = schema.safeParse(body)
  if (!parsed.success) throw new Error(`${name} answered what it must not: ${describeIssues(parsed.error, 'body')}`)
  // Parsing drops unknown keys, so a difference means that the reply says more than the table.
  if (!isDeepStrictEqual(parsed.data, body))
    throw new Error(`${name} answered with keys that the operation does not list`)
  return reply
}
