import { Duplex } from 'node:stream'
import type { Participant, PgliteSession } from './pglite-session.ts'
import { startupAnswer, takeBatches } from './wire.ts'

/**
 * A stream that node-postgres uses like a network socket. It speaks PostgreSQL's protocol with the shared session of an embedded
 * PGlite. Two things do not work over it: named prepared statements, and COPY in another form than that of `copy.ts`.
 */
export class PgliteSocket extends Duplex implements Participant {
  readonly #session: PgliteSession
  #started = false
  #unsent: Buffer = Buffer.alloc(0)
  #answered: Promise<void> = Promise.resolve()

  constructor(session: PgliteSession) {
    super()
    this.#session = session
  }

  connect(): this {
    process.nextTick(() => this.emit('connect'))
    return this
  }

  notify(frame: Buffer): void {
    this.push(frame)
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#started) this.#send(chunk)
    else this.#start()
    done()
  }

  override _read(): void {}

  override _final(done: () => void): void {
    done()
    this.destroy()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#session.leave(this).then(
      () => done(error),
      (failure: unknown) => done(error ?? asError(failure)),
    )
  }

  #start(): void {
    this.#started = true
    this.push(startupAnswer)
  }

  #send(chunk: Buffer): void {
    const { batches, rest } = takeBatches(this.#unsent.length === 0 ? chunk : Buffer.concat([this.#unsent, chunk]))
    this.#unsent = rest
    for (const batch of batches) this.#answered = this.#answered.then(() => this.#exchange(batch))
  }

  async #exchange(batch: Buffer): Promise<void> {
    if (this.destroyed) return
    try {
      const answer = await this.#session.exchange(this, batch)
      if (!this.destroyed) this.push(answer)
    } catch (error) {
      this.destroy(asError(error))
    }
  }

  // node-postgres calls these on a network socket. They mean nothing here.
  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
