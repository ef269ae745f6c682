import { setImmediate } from 'node:timers/promises'
import type { PGlite } from '@electric-sql/pglite'
import { Failure } from '../errors.ts'
import { queryMessage, readAnswer, simpleQueryText } from './wire.ts'

/** A connection that shares the session. */
export type Participant = {
  /** Receives a notification of a channel that it listens to. */
  notify(frame: Buffer): void
}

type WaitingParticipant = {
  readonly who: Participant
  readonly enter: () => void
  readonly giveUp: (reason: Error) => void
}

/**
 * The only session of an embedded PGlite, which its participants share in the order in which they ask, one batch at a time. A
 * participant that has begun a transaction keeps the session until the transaction ends. So a participant that waits for another one
 * inside its own transaction waits for ever. All share settings, temporary tables and the names of prepared statements.
 */
export class PgliteSession implements AsyncDisposable {
  readonly #pglite: PGlite
  /** What is open, for messages. */
  readonly location: string
  readonly #waiting: WaitingParticipant[] = []
  readonly #listeners = new Map<string, Set<Participant>>()
  #holder: Participant | null = null
  #failure: Failure | null = null

  constructor(pglite: PGlite, location = 'the embedded database') {
    this.#pglite = pglite
    this.location = location
  }

  /** Sends a batch when it is this participant's turn. Returns the answer of the server. */
  async exchange(who: Participant, batch: Buffer): Promise<Buffer> {
    await this.#enter(who)
    try {
      // The database runs in this thread, so timers and sockets get their turn between two batches.
      await setImmediate()
      if (this.#holder !== who) throw new Error('the connection was closed')
      const answer = await this.#run(batch)
      await this.#followSubscriptions(who, simpleQueryText(batch))
      return answer
    } finally {
      if (this.#holder === who && !this.#inTransaction()) this.#pass()
    }
  }

  /** Ends everything of this participant: its position in the queue, its transaction and its subscriptions. */
  async leave(who: Participant): Promise<void> {
    for (const listeners of this.#listeners.values()) listeners.delete(who)
    const index = this.#waiting.findIndex((waiting) => waiting.who === who)
    if (index >= 0) this.#waiting.splice(index, 1)[0]?.giveUp(new Error('the connection was closed'))
    if (this.#holder !== who) return
    try {
      if (this.#inTransaction()) await this.#run(queryMessage('ROLLBACK'))
    } finally {
      this.#pass()
    }
  }

  /** Closes the database. A database that has failed is not closed: its files are intact, and closing would write to them again. */
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

  async #run(batch: Buffer): Promise<Buffer> {
    if (this.#failure !== null) throw this.#failure
    const written: Buffer[] = []
    // Without a receiver, PGlite reads each answer too and keeps all that it has read.
    const onRawData = (chunk: Uint8Array): void => {
      written.push(Buffer.from(chunk))
    }
    await this.#pglite.execProtocolRawStream(batch, { syncToFs: false, onRawData })
    const { bytes, notifications, lastWords, damage } = readAnswer(Buffer.concat(written))
    if (lastWords !== null) this.#fail(lastWords)
    // Working with a damaged page could act on incomplete data.
    if (damage !== null) {
      this.#failure = new Failure('store_damaged', `${this.location} is damaged: ${damage}`)
      throw this.#failure
    }
    for (const { channel, frame } of notifications) {
      for (const listener of this.#listeners.get(channel) ?? []) listener.notify(frame)
    }
    return bytes
  }

  /** Refuses all further work after a fatal error, such as a full disk. A server would end its process here, which this one cannot do. */
  #fail(lastWords: string): void {
    this.#failure = new Failure(
      'database_unreachable',
      `${this.location} has failed: ${lastWords}; remove the cause and start again`,
    )
  }

  /**
   * Tracks which participant listens to which channel. The database sees only one session, so the UNLISTEN of one participant must not
   * silence the others.
   */
  async #followSubscriptions(who: Participant, sql: string | null): Promise<void> {
    const subscription = sql === null ? null : readSubscription(sql)
    if (subscription === null) return
    const { listen, channel } = subscription
    if (listen) {
      this.#listeners.set(channel, (this.#listeners.get(channel) ?? new Set()).add(who))
      return
    }
    for (const [name, listeners] of this.#listeners) {
      if (channel === '*' || channel === name) listeners.delete(who)
      if (listeners.size > 0) await this.#run(queryMessage(`LISTEN ${quoteName(name)}`))
    }
  }
}

/** Comments may stand before the keyword, as in the statements of BullMQ. */
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
