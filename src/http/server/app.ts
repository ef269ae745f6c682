import { isUtf8 } from 'node:buffer'
import compress, { type FastifyCompressOptions } from '@fastify/compress'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { errorCode } from '../../errors.ts'
import { escapeJson } from '../../text/escape.ts'
import { Refusal, refuse } from '../refusal.ts'
import { type AnswerOf, type JsonAnswer, refusalAnswer } from './answer.ts'
import { answerBrokenRequest } from './broken-request.ts'
import { refuseTwoHosts } from './one-host.ts'
import { requestIdHeader, requestIdOf } from './request-id.ts'
import { rememberRoutes } from './served-methods.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route accepts large bodies, which may take longer to arrive. */
    arrivesSlowly?: boolean
  }
}

/** Options of a server. */
export type AppOptions = {
  readonly logger?: FastifyBaseLogger
  readonly bodyLimitBytes?: number
  /** How long a client may take to send its request. */
  readonly requestTimeoutMs?: number
  /** The same for routes with `arrivesSlowly`. */
  readonly slowRequestTimeoutMs?: number
  /** The addresses and networks of reverse proxies, whose `X-Forwarded-For` names the caller. */
  readonly trustedProxies?: readonly string[]
  /** The response for an unknown path or method; null: the default one. */
  readonly refusalOfUnknown?: (request: Pick<FastifyRequest, 'method' | 'url'>) => Refusal | null
  /** The answer to a refused request for addresses that follow another standard; null: the one of the contract. */
  readonly answerOf?: AnswerOf
}

/**
 * The value of `compress` for routes with compressed responses. Pages are not compressed: they contain the token of a form beside input of
 * the caller, and the size of a compressed page can reveal such a token.
 */
export const compressed: FastifyCompressOptions = { threshold: 1024, encodings: ['br', 'gzip', 'deflate'] }

const defaultBodyLimitBytes = 10 * 1024 * 1024
const defaultRequestTimeoutMs = 60_000
/** How long the headers of a request may take to arrive, and how often that is checked. */
const headersTimeoutMs = 15_000
const connectionsCheckMs = 5000
// The limit of headers. Longer paths never arrive here, so every part of a path is checked by its operation.
const maxParamLength = 16 * 1024

/** A Fastify instance that answers all errors, also for unknown paths and broken requests, with the contract's body. */
export async function createApp({
  logger,
  bodyLimitBytes = defaultBodyLimitBytes,
  requestTimeoutMs = defaultRequestTimeoutMs,
  slowRequestTimeoutMs = requestTimeoutMs,
  trustedProxies = [],
  refusalOfUnknown = () => null,
  answerOf = () => null,
}: AppOptions = {}): Promise<FastifyInstance> {
  const sendRefusal = (reply: FastifyReply, refusal: Refusal) =>
    send(reply.headers(refusal.headers), refusalAnswer(refusal, { answerOf, url: reply.request.url }))
  const sendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    // A path that cannot be decoded arrives here before any hook has run.
    reply.header(requestIdHeader, request.id)
    return sendRefusal(reply, refusalOfError(error, request))
  }
  const app: FastifyInstance = Fastify({
    ...(logger && { loggerInstance: logger }),
    // The address of a request can contain personal data, so Fastify's own request log is off.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestIdOf,
    bodyLimit: bodyLimitBytes,
    ...(trustedProxies.length > 0 && { trustProxy: [...trustedProxies] }),
    requestTimeout: slowRequestTimeoutMs,
    http: { headersTimeout: headersTimeoutMs, connectionsCheckingInterval: connectionsCheckMs },
    routerOptions: { maxParamLength },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, { log: app.log, answerOf }),
    frameworkErrors: sendError,
  })
  const methodsAt = rememberRoutes(app)
  app.addHook('onRequest', async (request, reply) => {
    reply.header(requestIdHeader, request.id)
  })
  refuseTwoHosts(app)
  if (slowRequestTimeoutMs > requestTimeoutMs) limitArrival(app, requestTimeoutMs)
  endConnectionsOnClose(app)
  app.setErrorHandler(sendError)
  app.setNotFoundHandler((request, reply) =>
    sendRefusal(reply, refusalOfUnknown(request) ?? notServed(methodsAt(request.url))),
  )
  acceptJsonOnly(app)
  // Only routes that are added afterwards can be compressed.
  await app.register(compress, { globalCompression: false, globalDecompression: false })
  return app
}

/** Node has one time limit for all requests of a server. If some may take longer, the others are limited here. */
function limitArrival(app: FastifyInstance, requestTimeoutMs: number): void {
  app.addHook('onRequest', async ({ raw, routeOptions }) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = raw.headers
    if (routeOptions.config.arrivesSlowly || (length === undefined && encoding === undefined)) return
    const timer = setTimeout(() => {
      const tooSlow = Object.assign(new Error('the request did not arrive in time'), {
        code: 'ERR_HTTP_REQUEST_TIMEOUT',
        url: raw.url,
      })
      if (!raw.complete) app.server.emit('clientError', tooSlow, raw.socket)
    }, requestTimeoutMs)
    raw.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
  })
}

/** Sends a body as JSON, by default of the general media type. */
export function send(
  reply: FastifyReply,
  { status, body, type = 'application/json; charset=utf-8' }: JsonAnswer,
): FastifyReply {
  if (body === undefined) return reply.code(status).send()
  return reply
    .code(status)
    .type(type)
    .send(escapeJson(JSON.stringify(body)))
}

/** Closes connections of clients that keep them open: otherwise closing waits for those that were busy when it began. */
function endConnectionsOnClose(app: FastifyInstance): void {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close')
  })
}

function notServed(methods: readonly string[]): Refusal {
  if (methods.length === 0) return refuse('UnknownPath', 'nothing is served under this path')
  return new Refusal(405, `this path is served with ${methods.join(', ')} only`, {
    headers: { allow: methods.join(', ') },
  })
}

function refusalOfError(error: unknown, request: FastifyRequest): Refusal {
  const refusal = error instanceof Refusal ? error : refusalOfFramework(error)
  if (refusal !== null) return refusal
  request.log.error({ failure: describeFailure(error), route: request.routeOptions.url }, 'request failed')
  return refuse('InternalError', 'the request failed for a reason on our side')
}

/** Fastify's own errors as refusals of the contract. Their messages are not used, because those about JSON quote the body. */
function refusalOfFramework(error: unknown): Refusal | null {
  if (!(error instanceof Error)) return null
  const { code, statusCode } = error as Error & { code?: string; statusCode?: number }
  if (statusCode === 413) return refuse('TooLarge', 'the body is larger than this server accepts')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return refuse('UnsupportedMediaType', 'the body must be sent as application/json')
  }
  if (code === 'FST_ERR_BAD_URL') return refuse('MalformedAddress', 'the path is not percent-encoded correctly')
  const concernsBody = error instanceof SyntaxError || code?.startsWith('FST_ERR_CTP_') === true
  if (concernsBody || statusCode === 400)
    return refuse('MalformedBody', 'the body is not the JSON document it claims to be')
  return null
}

// Details of database errors quote rows, so only the identification of the failure is logged.
function describeFailure(error: unknown): { readonly name: string; readonly code: unknown; readonly stack: string } {
  if (!(error instanceof Error)) return { name: typeof error, code: null, stack: '' }
  const code = errorCode(error) ?? null
  return { name: error.name, code, stack: error.stack ?? error.message }
}

function acceptJsonOnly(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain')
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    const { 'content-encoding': encoding = 'identity' } = request.headers
    // Many clients send the JSON content type with every request, even without a body.
    if (bytes.length === 0) done(null, undefined)
    else if (encoding !== 'identity') done(refuse('MalformedBody', 'the body must be sent without a Content-Encoding'))
    // Decoding would replace invalid bytes with replacement characters, and these would be stored.
    else if (!isUtf8(bytes)) done(refuse('MalformedBody', 'the body is not encoded as UTF-8'))
    else return parseJson(request, bytes.toString(), done)
  })
}
