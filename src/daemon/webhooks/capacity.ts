export type InboxCapacity = {
  /** Counts what waits already; to be awaited once for each connection before anybody enters. */
  count(connection: string): Promise<void>
  /** Takes a place for one more event; null where there is none. */
  enter(connection: string, limit: number): Place | null
}

/** Disposing without a word says that nothing was added. */
export type Place = Disposable & { added(): void }

type Gauge = {
  /** As the store said last. */
  counted: number
  countedAtMs: number
  isCounting: boolean
  /** What was added since the store was asked; some of it may be in the count as well. */
  added: number
  /** Those who have entered and not left. */
  inside: number
}

const countedForMs = 1000

/**
 * How full the inboxes are, without asking the store for each event: what it said a second ago, and what has been added since. Never
 * less than what waits, as far as this process knows.
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
    if (gauge === undefined) throw new Error(`nobody has counted the inbox of ${connection}`)
    // A store that cannot count cannot take the event either, which is what the sender is told then.
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
