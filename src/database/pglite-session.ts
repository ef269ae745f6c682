import { setImmediate } from 'node:timers/promises'
import type { PGlite } from '@electric-sql/pglite'
import { Failure } from '../errors.ts'
import { queryMessage, readAnswer, simpleQueryText } from './wire.ts'

/** One of those who share the session. */
export type Participant = {
  /** Takes a notification of a channel it listens to. */
  notify(frame: Buffer): void
}

type Waiting = { readonly who: Participant; readonly enter: () => void; readonly giveUp: (reason: Error) => void }

/**
 * The one session that an embedded PGlite has, shared fairly: in the order of asking, one batch at a time, and whoever
 * has begun a transaction keeps it until the transaction ends. Whoever waits for another participant inside of its own
 * transaction therefore waits for ever. Settings, temporary tables and the names of prepared statements are common to all.
 */
export class PgliteSession implements AsyncDisposable {
  readonly #pglite: PGlite
  readonly #waiting: Waiting[] = []
  readonly #listeners = new Map<string, Set<Participant>>()
  #holder: Participant | null = null
  #failure: Failure | null = null

  constructor(pglite: PGlite) {
    this.#pglite = pglite
  }

  /** Sends a batch when it is this participant's turn; gives what the server answers. */
  async exchange(who: Participant, batch: Buffer): Promise<Buffer> {
    await this.#enter(who)
    try {
      // The engine computes on this thread: timers and sockets get their turn between two batches.
      await setImmediate()
      if (this.#holder !== who) throw new Error('the connection was closed')
      const answer = this.#run(batch)
      this.#followSubscriptions(who, simpleQueryText(batch))
      return answer
    } finally {
      if (this.#holder === who && !this.#inTransaction()) this.#pass()
    }
  }

  /** Ends what this participant has open: its place in the queue, its transaction, its subscriptions. */
  leave(who: Participant): void {
    for (const listeners of this.#listeners.values()) listeners.delete(who)
    const index = this.#waiting.findIndex((waiting) => waiting.who === who)
    if (index >= 0) this.#waiting.splice(index, 1)[0]?.giveUp(new Error('the connection was closed'))
    if (this.#holder !== who) return
    try {
      if (this.#inTransaction()) this.#run(queryMessage('ROLLBACK'))
    } finally {
      this.#pass()
    }
  }

  /** Closes the database, unless it has failed: what is in its files is whole, and closing would write to them again. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#failure === null) await this.#pglite.close()
  }

  async #enter(who: Participant): Promise<void> {
    if (this.#holder === who) return
    if (this.#holder === null) {
      this.#holder = who
      return
    }
    await new Promise<void>((enter, giveUp) => this.#waiting.push({ who, enter, giveUp }))
  }

  #pass(): void {
    const next = this.#waiting.shift()
    this.#holder = next?.who ?? null
    next?.enter()
  }

  #inTransaction(): boolean {
    return this.#failure === null && this.#pglite.isInTransaction()
  }

  #run(batch: Buffer): Buffer {
    if (this.#failure !== null) throw this.#failure
    const written = this.#pglite.execProtocolRawSync(batch)
    const { bytes, notifications, lastWords } = readAnswer(
      Buffer.from(written.buffer, written.byteOffset, written.byteLength),
    )
    if (lastWords !== null) this.#fail(lastWords)
    for (const { channel, frame } of notifications) {
      for (const listener of this.#listeners.get(channel) ?? []) listener.notify(frame)
    }
    return bytes
  }

  /** A server would end its process here (a full disk, a broken one). This one cannot, and would compute on for ever with what is left. */
  #fail(lastWords: string): void {
    this.#failure = new Failure(
      'database_unreachable',
      `the embedded database has failed: ${lastWords}; remove the cause and start again`,
    )
  }

  /** Keeps who listens to what. The server knows one session only, so one participant's UNLISTEN must not silence the others. */
  #followSubscriptions(who: Participant, sql: string | null): void {
    const subscription = sql === null ? null : readSubscription(sql)
    if (subscription === null) return
    const { listen, channel } = subscription
    if (listen) {
      this.#listeners.set(channel, (this.#listeners.get(channel) ?? new Set()).add(who))
      return
    }
    for (const [name, listeners] of this.#listeners) {
      if (channel === '*' || channel === name) listeners.delete(who)
      if (listeners.size > 0) this.#run(queryMessage(`LISTEN ${quoteName(name)}`))
    }
  }
}

/** Comments may stand before the word, as in the statements of BullMQ. */
const subscriptionPattern =
  /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*(un)?listen\s+(?:"((?:[^"]|"")+)"|([^\s;"]+))\s*;?\s*$/i

function readSubscription(sql: string): { listen: boolean; channel: string } | null {
  const match = subscriptionPattern.exec(sql)
  if (match === null) return null
  const [, un, quoted, bare = ''] = match
  return { listen: un === undefined, channel: quoted?.replaceAll('""', '"') ?? bare.toLowerCase() }
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
