import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { bytesType } from '../../contract/operation.ts'
import { refuse } from '../refusal.ts'

/** So long the rest of a body that was refused is read and thrown away: who still sends would not read the answer. */
const drainMs = 20_000

/** Hands the bodies of a scope on while they arrive. How long they may be is for the handler to say. */
export function acceptBytes(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  // To destroy the request, as leaving a loop over it does, would end the connection before it is answered.
  scope.addContentTypeParser(bytesType, async (_request: FastifyRequest, payload: IncomingMessage) =>
    payload.iterator({ destroyOnReturn: false }),
  )
  scope.addContentTypeParser('*', async () => {
    throw refuse('UnsupportedMediaType', `the body must be sent as ${bytesType}`)
  })
  drainRefused(scope)
}

/** Reads what is left of a body after its request was answered, for a while, and throws it away. */
export function drainRefused(scope: FastifyInstance): void {
  scope.addHook('onResponse', async ({ raw }) => {
    if (raw.complete || raw.destroyed) return
    const timer = setTimeout(() => raw.destroy(), drainMs)
    raw.once('close', () => clearTimeout(timer))
    raw.unpipe()
    raw.resume()
  })
}
