import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal, refuse } from '../../http/refusal.ts'

/** The bytes of a body as they arrived. Disposing returns their share of the memory budget. */
export type RawBody = Disposable & { readonly bytes: Buffer }

/** The limits of request bodies. */
export type RawBodiesOptions = {
  /** How long a body may take to arrive. */
  readonly arrivalMs: number
  /** How many bytes all bodies together may hold, including those that are still arriving. */
  readonly budgetBytes: number
}

const retryAfterSeconds = '5'

/** Passes every body to the routes in this scope as a `RawBody`, for any content type and within the route's limit. */
export function takeRawBodies(scope: FastifyInstance, { arrivalMs, budgetBytes }: RawBodiesOptions): void {
  let bufferedBytes = 0
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) => read(request, payload))
  // Fastify would refuse a missing or malformed content type, and would not parse an empty body without one.
  scope.addHook('onRequest', async ({ raw }) => {
    raw.headers['content-type'] = 'application/octet-stream'
  })

  function read(request: FastifyRequest, payload: IncomingMessage): Promise<RawBody> {
    const { promise, resolve, reject } = Promise.withResolvers<RawBody>()
    const limit = request.routeOptions.bodyLimit ?? 0
    const chunks: Buffer[] = []
    let length = 0
    let isOver = false
    const timer = setTimeout(() => end(refuse('TooSlow', 'the body did not arrive in time')), arrivalMs)

    if (Number(request.headers['content-length']) > limit) end(tooLarge())
    else payload.on('data', take).on('end', () => end())
    payload.on('error', end)
    return promise

    function take(chunk: Buffer): void {
      length += chunk.length
      bufferedBytes += chunk.length
      chunks.push(chunk)
      if (length > limit) end(tooLarge())
      else if (bufferedBytes > budgetBytes) end(overBudget())
    }

    function end(error?: Error): void {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      payload.off('data', take)
      if (error === undefined) resolve(rawBody(chunks, length))
      else {
        bufferedBytes -= length
        reject(error)
      }
    }
  }

  function rawBody(chunks: readonly Buffer[], length: number): RawBody {
    return {
      bytes: Buffer.concat(chunks, length),
      [Symbol.dispose]() {
        bufferedBytes -= length
      },
    }
  }
}

function tooLarge(): Refusal {
  return refuse('TooLarge', 'the body is larger than this webhook accepts')
}

function overBudget(): Refusal {
  const headers = { 'retry-after': retryAfterSeconds }
  return new Refusal(503, 'too much is arriving at once', { headers })
}
