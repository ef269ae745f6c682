import { randomUUID } from 'node:crypto'
import { Failure } from '../../errors.ts'
import { Refusal } from '../../http/refusal.ts'

/** How many values are kept, and for how long one that nobody uses. */
type StoreLimits = { readonly maxUploads: number; readonly maxIdleMs: number }

/** A person, and the signal that ends when nobody waits for the answer any more. */
export type Visitor = { readonly principal: string; readonly left: AbortSignal }

/** Values that people look at, in memory. Each person has one, so that nobody takes what is meant for others. */
export type VisitStore<T> = Disposable & {
  /** Drops the person's previous value, makes a new one with `read`, and keeps it for a while. */
  fill(visitor: Visitor, read: (id: string, signal: AbortSignal) => Promise<T>): Promise<T>
  /** Reads for a person. What was still being read for the same person stops. */
  read<R>(visitor: Visitor, read: (signal: AbortSignal) => Promise<R>): Promise<R>
  /** Undefined if it is gone or belongs to somebody else. Each call keeps it for longer. */
  find(id: string, principal: string): T | undefined
  drop(id: string): void
}

type Kept<T> = { readonly principal: string; readonly value: T; readonly timer: NodeJS.Timeout }

/** `noun`: the values, as messages name them. `signal`: ends all reading. */
type StoreOptions = { readonly limits: StoreLimits; readonly noun: string; readonly signal: AbortSignal }

/** Opens a store. Disposing empties it. */
export function openVisitStore<T>({ limits, noun, signal: stopping }: StoreOptions): VisitStore<T> {
  const kept = new Map<string, Kept<T>>()
  const reading = new Map<string, AbortController>()

  function drop(id: string): void {
    clearTimeout(kept.get(id)?.timer)
    kept.delete(id)
  }
  function countPrincipals(): number {
    return new Set([...[...kept.values()].map(({ principal }) => principal), ...reading.keys()]).size
  }
  async function readAlone<R>({ principal, left }: Visitor, read: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const superseded = new AbortController()
    reading.get(principal)?.abort(new Failure('conflict', 'you began to read something else meanwhile'))
    reading.set(principal, superseded)
    try {
      const result = await read(AbortSignal.any([stopping, left, superseded.signal]))
      superseded.signal.throwIfAborted()
      return result
    } catch (error) {
      if (superseded.signal.aborted) throw superseded.signal.reason
      if (left.aborted) throw new Failure('conflict', 'nobody waits for the answer any more', { cause: error })
      throw error
    } finally {
      if (reading.get(principal) === superseded) reading.delete(principal)
    }
  }

  return {
    read: readAlone,
    async fill(visitor, read) {
      const { principal } = visitor
      for (const [id, other] of kept) if (other.principal === principal) drop(id)
      if (!reading.has(principal) && countPrincipals() >= limits.maxUploads) throw tooMany(noun)
      const id = randomUUID()
      return await readAlone(visitor, async (signal) => {
        const value = await read(id, signal)
        signal.throwIfAborted()
        const timer = setTimeout(() => drop(id), limits.maxIdleMs).unref()
        kept.set(id, { principal, value, timer })
        return value
      })
    },
    find(id, principal) {
      const own = kept.get(id)
      if (own?.principal !== principal) return undefined
      own.timer.refresh()
      return own.value
    },
    drop,
    [Symbol.dispose]() {
      for (const id of [...kept.keys()]) drop(id)
    },
  }
}

function tooMany(noun: string): Refusal {
  const message = `several ${noun} are being looked at already: try again when they are done with`
  return new Refusal(429, message, { headers: { 'retry-after': '60' } })
}
