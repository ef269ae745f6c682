import type { NewEvent } from '../../store/inbox/inbox.ts'

/** What became of an event that was received. */
export type Receipt = 'stored' | 'seen before'

export type EventBatches = {
  /** Resolves once the event is committed. Rejects if it was not, or if that is not known in time. */
  add(event: NewEvent): Promise<Receipt>
}

type EventBatchesOptions = {
  /** Stores all events of a batch or none. */
  readonly store: (events: readonly NewEvent[]) => Promise<readonly Receipt[]>
  /** Called after each commit, even if no request waits for it any more. */
  readonly committed: (events: readonly NewEvent[], receipts: readonly Receipt[]) => void
  /** Called for each batch that was not committed, or not in time. */
  readonly failed: (events: readonly NewEvent[], error: unknown) => void
  readonly gatherMs?: number
  readonly patienceMs?: number
}

type Entry = PromiseWithResolvers<Receipt> & { readonly event: NewEvent; timer: NodeJS.Timeout }

const mostEvents = 200
const mostBytes = 4 * 1024 * 1024
/** While this many batches are late, each of which keeps a database connection, no further batch is sent. */
const mostLate = 4

/**
 * Stores events that arrive at the same time in one commit. It gathers them for a few milliseconds, or for as long as the batch before
 * takes. A batch that is late does not hold up the others.
 */
export function createEventBatches({
  store,
  committed,
  failed,
  gatherMs = 5,
  patienceMs = 3000,
}: EventBatchesOptions): EventBatches {
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
      if (waiting.length >= mostEvents) flush()
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
    if (waiting.length === 0 || isWriting || late >= mostLate) return
    const length = fitting(waiting)
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
    for (const [place, entry] of batch.entries()) {
      clearTimeout(entry.timer)
      if ('error' in result) entry.reject(result.error)
      else entry.resolve(result.receipts[place] ?? 'stored')
    }
    flush()
    if ('receipts' in result) committed(events, result.receipts)
    else if (!isLate) failed(events, result.error)
  }
}

/** How many of the first entries fit into one batch. */
function fitting(entries: readonly Entry[]): number {
  let bytes = 0
  const tooMany = entries.findIndex(({ event }, place) => {
    bytes += event.body.length
    return place > 0 && (place >= mostEvents || bytes > mostBytes)
  })
  return tooMany === -1 ? entries.length : tooMany
}

function tooLate(patienceMs: number): Error {
  return new Error(`the store did not answer within ${patienceMs} ms`)
}
