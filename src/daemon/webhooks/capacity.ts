export type InboxCapacity = {
  /** Counts the events that wait. Must be awaited once for each connection before the first `enter`. */
  count(connection: string): Promise<void>
  /** Reserves a place for one more event; null if the inbox is full. */
  enter(connection: string, limit: number): Place | null
}

/** A reserved place. `added` says that its event was stored. Disposing frees the place. */
type Place = Disposable & { added(): void }

type Gauge = {
  /** The last count of the store. */
  counted: number
  countedAtMs: number
  isCounting: boolean
  /** How many events were added since the store was asked. Some of them may also be in the count. */
  added: number
  /** How many places are reserved now. */
  inside: number
}

const countedForMs = 1000

/**
 * Tells how full the inboxes are without asking the store for each event: it adds what was stored since to a count that is at most
 * about a second old. The number is never too low, as far as this process knows.
 */
export function createInboxCapacity(pendingCount: (connection: string) => Promise<number>): InboxCapacity {
  const gauges = new Map<string, Gauge>()
  return { count, enter }

  async function count(connection: string): Promise<void> {
    const gauge = gauges.get(connection) ?? { counted: 0, countedAtMs: 0, isCounting: false, added: 0, inside: 0 }
    gauges.set(connection, gauge)
    gauge.isCounting = true
    gauge.countedAtMs = performance.now()
    const addedBefore = gauge.added
    try {
      gauge.counted = await pendingCount(connection)
      gauge.added -= addedBefore
    } finally {
      gauge.isCounting = false
    }
  }

  function enter(connection: string, limit: number): Place | null {
    const gauge = gauges.get(connection)
    if (gauge === undefined) throw new Error(`the inbox of ${connection} was never counted`)
    // A store that cannot count cannot store the event either, and the sender learns that then.
    const isOld = performance.now() - gauge.countedAtMs > countedForMs
    if (isOld && !gauge.isCounting) count(connection).catch(() => undefined)
    if (gauge.counted + gauge.added + gauge.inside >= limit) return null
    gauge.inside += 1
    return {
      added() {
        gauge.added += 1
      },
      [Symbol.dispose]() {
        gauge.inside -= 1
      },
    }
  }
}
