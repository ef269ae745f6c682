import type { NewEvent } from '../../store/inbox/inbox.ts'

/** What became of an event that was received. */
export type Receipt = 'stored' | 'seen before'

export type EventBatches = {
  /** Resolves once the event is committed. Rejects where it was not, or where nobody knows in time whether it was. */
  add(event: NewEvent): Promise<Receipt>
}

export type EventBatchesOptions = {
  /** Stores all of a batch or nothing. */
  readonly store: (events: readonly NewEvent[]) => Promise<readonly Receipt[]>
  /** Told after each commit, also of one that nobody waits for any more. */
  readonly committed: (events: readonly NewEvent[], receipts: readonly Receipt[]) => void
  /** Told of each batch that was not committed, or not in time. */
  readonly failed: (events: readonly NewEvent[], error: unknown) => void
  readonly gatherMs?: number
  readonly patienceMs?: number
}

type Entry = PromiseWithResolvers<Receipt> & { readonly event: NewEvent; timer: NodeJS.Timeout }

const mostEvents = 200
const mostBytes = 4 * 1024 * 1024
/** So many batches that do not come back keep a database connection each; then nothing more is sent after them. */
const mostLate = 4

/**
 * Gathers what comes in at the same time into one commit: for a few milliseconds when idle, and otherwise for as long as the batch
 * before takes. A batch that does not come back in time holds up no other.
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
    void write(batch)
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

/** How many of the first entries make a batch. */
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
