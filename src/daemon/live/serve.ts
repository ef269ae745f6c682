import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Caller } from '../../contract/control/access.ts'
import { live as table } from '../../contract/control/live.ts'
import { databaseFailure } from '../../database/failures.ts'
import { Failure } from '../../errors.ts'
import { Refusal, refuse } from '../../http/refusal.ts'
import { EventStream, eventStreams } from '../../http/server/event-stream.ts'
import { readInput } from '../../http/server/input.ts'
import type { Live } from './live.ts'

type LiveOptions = {
  readonly prefix: string
  readonly live: Live
  readonly connections: ReadonlyMap<string, unknown>
  /** Throws a refusal for those who may not listen. Every role may. */
  readonly admit: (request: FastifyRequest) => Promise<Caller>
  /** How often a listener is admitted again. */
  readonly admitAgainMs?: number
}

/** Maximum number of open streams of one caller. */
const maxStreamsPerCaller = 16

/** Serves changes of runs and alerts as server-sent events. */
export function serveLive(
  app: FastifyInstance,
  { prefix, live, connections, admit, admitAgainMs = 30_000 }: LiveOptions,
): void {
  const streams = eventStreams(app)
  const operation = table.watchLive
  const listening = new Map<string, number>()
  app.get(`${prefix}${operation.path}`, async (request, reply) => {
    const { principal } = await admit(request)
    const { connection } = operation.query.parse(readInput(operation, request).query)
    if (connection !== undefined && !connections.has(connection))
      throw refuse('NotFound', `there is no connection "${connection}" in the configuration`)
    const others = listening.get(principal) ?? 0
    if (others >= maxStreamsPerCaller)
      throw refuse('TooManyRequests', `you watch ${maxStreamsPerCaller} times already: close a window or a program`)
    listening.set(principal, others + 1)
    const stream = new EventStream()
    stream.once('close', () => {
      const remaining = (listening.get(principal) ?? 0) - 1
      if (remaining > 0) listening.set(principal, remaining)
      else listening.delete(principal)
    })
    const leave = await live
      .listen({ connection, onEvent: ({ event, data }) => stream.sendEvent(event, data) })
      .catch((error) => {
        stream.destroy()
        const failure = databaseFailure(error) ?? error
        throw failure instanceof Failure ? refuse('Unavailable', failure.message) : failure
      })
    // A session may end, or a token be revoked, while its stream is open. An unreachable store proves neither.
    const again = setInterval(() => {
      admit(request).catch((error) => {
        if (error instanceof Refusal && error.status === 401) stream.end()
      })
    }, admitAgainMs)
    const stop = () => {
      clearInterval(again)
      leave()
    }
    if (stream.destroyed) stop()
    else stream.once('close', stop)
    return streams.send(reply, stream)
  })
}
