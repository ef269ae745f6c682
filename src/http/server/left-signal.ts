import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'

const signals = new WeakMap<Socket, AbortSignal>()

/**
 * Aborted when the connection of a request is closed: nobody waits for the answer any more. The signal of Fastify cannot be used, since it
 * ends with the body of a request. Requests over the same connection share one signal.
 */
export function leftSignal({ raw: { socket } }: FastifyRequest): AbortSignal {
  const known = signals.get(socket)
  if (known) return known
  const left = new AbortController()
  if (socket.destroyed) left.abort()
  else socket.once('close', () => left.abort())
  signals.set(socket, left.signal)
  return left.signal
}
