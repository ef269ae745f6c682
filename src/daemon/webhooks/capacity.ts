/** Limits how many events may wait in the inbox of a connection. */
export type InboxCapacity = {
  /** Counts the waiting events. Must be awaited once for each connection before the first `reserve`. */
  count(connection: string): Promise<void>
  /** Reserves room for one more event; null if the inbox is full. */
  reserve(connection: string, limit: number): Reservation | null
}

/** Reserved room for an event. Call `added` once it is stored, with how many events it became; disposing ends the reservation. */
type Reservation = Disposable & { added(events?: number): void }

type Gauge = {
  /** The last count of the store. */
  lastCount: number
  countedAtMs: number
  isCounting: boolean
  /** How many events were added since the last count. Some of them may also be in the count. */
  added: number
  reserved: number
}

const countAgainAfterMs = 1000

/**
 * Knows how full the inboxes are without a query for each event: adds the events stored since to a count that is at most about a second
 * old. The number is never too low, as far as this process knows.
 */
export function createInboxCapacity(pendingCount: (connection: string) => Promise<number>): InboxCapacity {
  const gauges = new Map<string, Gauge>()
  return { count, reserve }

  async function count(connection: string): Promise<void> {
    const gauge = gauges.get(connection) ?? { lastCount: 0, countedAtMs: 0, isCounting: false, added: 0, reserved: 0 }
    gauges.set(connection, gauge)
    gauge.isCounting = true
    gauge.countedAtMs = performance.now()
    const addedBefore = gauge.added
    try {
      gauge.lastCount = await pendingCount(connection)
      gauge.added -= addedBefore
    } finally {
      gauge.isCounting = false
    }
  }

  function reserve(connection: string, limit: number): Reservation | null {
    const gauge = gauges.get(connection)
    if (gauge === undefined) throw new Error(`the inbox of ${connection} was never counted`)
    // If the store cannot count, it cannot store the event either, and the sender gets that error.
    const isOld = performance.now() - gauge.countedAtMs > countAgainAfterMs
    if (isOld && !gauge.isCounting) count(connection).catch(() => undefined)
    if (gauge.lastCount + gauge.added + gauge.reserved >= limit) return null
    gauge.reserved += 1
    return {
      added(events = 1) {
        gauge.added += events
      },
      [Symbol.dispose]() {
        gauge.reserved -= 1
      },
    }
  }
}
