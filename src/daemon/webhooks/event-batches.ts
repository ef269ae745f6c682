import type { NewEvent } from '../../store/inbox/inbox.ts'

/** What became of an event that was received. */
export type Receipt = 'stored' | 'seen before'

/** Stores received events in batches. */
export type EventBatches = {
  /** Resolves once the event is committed. Rejects if it was not committed, or not in time. */
  add(event: NewEvent): Promise<Receipt>
}

type EventBatchesOptions = {
  /** Stores all events of a batch or none. */
  readonly store: (events: readonly NewEvent[]) => Promise<readonly Receipt[]>
  /** Called after each commit, even if no request still waits for it. */
  readonly committed: (events: readonly NewEvent[], receipts: readonly Receipt[]) => void
  /** Called for each batch that was not committed, or not in time. */
  readonly failed: (events: readonly NewEvent[], error: unknown) => void
  readonly gatherMs?: number
  readonly patienceMs?: number
}

type Entry = PromiseWithResolvers<Receipt> & { readonly event: NewEvent; timer: NodeJS.Timeout }

const maxEvents = 200
const maxBytes = 4 * 1024 * 1024
/** Maximum number of late batches, each of which occupies a database connection. Beyond it no batch is stored. */
const maxLateBatches = 4

/**
 * Stores events that arrive together in one commit. Gathers them for a few milliseconds, or while the previous batch is stored. A late
 * batch does not delay the others.
 */
export function createEventBatches(options: EventBatchesOptions): EventBatches {
  const { store, committed, failed, gatherMs = 5, patienceMs = 3000 } = options
  let waiting: Entry[] = []
  let gathering: NodeJS.Timeout | null = null
  let isWriting = false
  let late = 0

  return {
    add(event) {
      const entry: Entry = {
        ...Promise.withResolvers<Receipt>(),
        event,
        timer: setTimeout(() => giveUp(entry), patienceMs),
      }
      waiting.push(entry)
      if (waiting.length >= maxEvents) flush()
      else gathering ??= setTimeout(flush, gatherMs)
      return entry.promise
    },
  }

  function giveUp(entry: Entry): void {
    waiting = waiting.filter((other) => other !== entry)
    entry.reject(tooLate(patienceMs))
  }

  function flush(): void {
    if (gathering !== null) clearTimeout(gathering)
    gathering = null
    if (waiting.length === 0 || isWriting || late >= maxLateBatches) return
    const length = countFitting(waiting)
    const batch = waiting.slice(0, length)
    waiting = waiting.slice(length)
    write(batch).catch((error: unknown) => {
      for (const entry of batch) entry.reject(error)
    })
  }

  async function write(batch: readonly Entry[]): Promise<void> {
    const events = batch.map(({ event }) => event)
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      isWriting = false
      late += 1
      failed(events, tooLate(patienceMs))
      flush()
    }, patienceMs)

    isWriting = true
    const result = await store(events).then(
      (receipts) => ({ receipts }),
      (error: unknown) => ({ error }),
    )
    clearTimeout(timer)
    if (isLate) late -= 1
    else isWriting = false
    for (const [index, entry] of batch.entries()) {
      clearTimeout(entry.timer)
      if ('error' in result) entry.reject(result.error)
      else entry.resolve(result.receipts[index] ?? 'stored')
    }
    flush()
    if ('receipts' in result) committed(events, result.receipts)
    else if (!isLate) failed(events, result.error)
  }
}

/** How many of the first entries fit into one batch. */
function countFitting(entries: readonly Entry[]): number {
  let bytes = 0
  const tooMany = entries.findIndex(({ event }, index) => {
    bytes += event.body.length
    return index > 0 && (index >= maxEvents || bytes > maxBytes)
  })
  return tooMany === -1 ? entries.length : tooMany
}

function tooLate(patienceMs: number): Error {
  return new Error(`the store did not answer within ${patienceMs} ms`)
}
