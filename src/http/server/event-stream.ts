import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { escapeJson } from '../../text/escape.ts'

/** Maximum number of bytes that wait for a reader. A slower reader is disconnected. */
const maxWaitingBytes = 256 * 1024
const heartbeatMs = 15_000

/** Server-sent events on their way to one reader. */
export class EventStream extends Readable {
  readonly #heartbeat: NodeJS.Timeout

  constructor() {
    super({ encoding: 'utf8', highWaterMark: maxWaitingBytes })
    this.#heartbeat = setInterval(() => this.#write(':\n\n'), heartbeatMs)
  }

  /** Sends an event; its data travels as one line of JSON. */
  sendEvent(event: string, data: unknown): void {
    this.#write(`event: ${event}\ndata: ${escapeJson(JSON.stringify(data))}\n\n`)
  }

  /** Ends the stream after the events sent so far. */
  end(): void {
    clearInterval(this.#heartbeat)
    if (!this.readableEnded && !this.destroyed) this.push(null)
  }

  #write(text: string): void {
    if (this.destroyed || this.readableEnded) return
    if (this.readableLength + text.length > maxWaitingBytes) this.destroy()
    else this.push(text)
  }

  // Events are pushed when they happen.
  override _read(): void {}

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearInterval(this.#heartbeat)
    done(error)
  }
}

/** Answers requests with streams of events. They end when the app closes, so that closing waits for no reader. */
export function eventStreams(app: FastifyInstance): { send(reply: FastifyReply, stream: EventStream): FastifyReply } {
  const open = new Set<EventStream>()
  app.addHook('preClose', async () => {
    for (const stream of open) stream.end()
  })
  return {
    send(reply, stream) {
      open.add(stream)
      stream.once('close', () => open.delete(stream))
      return reply
        .headers({
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-store',
          // A proxy that buffers responses would delay events.
          'x-accel-buffering': 'no',
          connection: 'close',
        })
        .send(stream)
    },
  }
}
