import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { bytesType } from '../../contract/operation.ts'
import { refuse } from '../refusal.ts'

/** How long the rest of a refused body is read and discarded. A client that is still sending would not read the response. */
const drainMs = 20_000

/** Passes the bodies of a scope to their handlers while they arrive. The handler limits their length. */
export function acceptBytes(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  // Destroying the request, as leaving a loop over it does, would end the connection before the response.
  scope.addContentTypeParser(bytesType, async (_request: FastifyRequest, payload: IncomingMessage) =>
    payload.iterator({ destroyOnReturn: false }),
  )
  scope.addContentTypeParser('*', async () => {
    throw refuse('UnsupportedMediaType', `the body must be sent as ${bytesType}`)
  })
  drainRefused(scope)
}

/** Reads and discards the rest of a body after the response, for a limited time. */
export function drainRefused(scope: FastifyInstance): void {
  scope.addHook('onResponse', async ({ raw }) => {
    if (raw.complete || raw.destroyed) return
    const timer = setTimeout(() => raw.destroy(), drainMs)
    raw.once('close', () => clearTimeout(timer))
    raw.unpipe()
    raw.resume()
  })
}
