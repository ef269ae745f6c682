import type { Caller } from '../../contract/control/access.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Db } from '../../store/schema.ts'

/** What a scan needs of the context of a request. */
export type ScanContext = {
  readonly sync: { readonly store: { readonly db: Db } }
  readonly caller: Pick<Caller, 'principal'>
  /** Aborted when whoever sent the request has left. */
  readonly requestSignal?: () => AbortSignal
}

/** Maximum number of scans of a store at once, so that searches do not hold up deliveries. */
const maxScans = 2
/** Maximum number of waiting scans of one caller. */
const maxWaiting = 20

type WaitingScan = {
  readonly principal: string
  readonly left: AbortSignal | undefined
  readonly start: () => void
  readonly refuse: (refusal: Refusal) => void
}
type Turns = { readonly scanning: Set<string>; readonly waiting: WaitingScan[] }

const turnsByDb = new WeakMap<Db, Turns>()

/** Scans the store in turn: one scan at a time for each caller, and few in all. Refuses callers with too many waiting scans. */
export async function scanInTurn<T>(
  { sync, caller: { principal }, requestSignal }: ScanContext,
  scan: () => Promise<T>,
): Promise<T> {
  const { db } = sync.store
  const turns = turnsByDb.get(db) ?? { scanning: new Set(), waiting: [] }
  turnsByDb.set(db, turns)
  await waitForTurn(turns, principal, requestSignal?.())
  try {
    return await scan()
  } finally {
    turns.scanning.delete(principal)
    startNext(turns)
  }
}

async function waitForTurn(turns: Turns, principal: string, left: AbortSignal | undefined): Promise<void> {
  const ownWaiting = turns.waiting.filter((other) => other.principal === principal && !other.left?.aborted)
  if (ownWaiting.length >= maxWaiting)
    throw new Refusal(429, 'too many of your searches wait: try again when they are done', {
      headers: { 'retry-after': '10' },
    })
  const turn = Promise.withResolvers<void>()
  turns.waiting.push({ principal, left, start: turn.resolve, refuse: turn.reject })
  startNext(turns)
  await turn.promise
}

function startNext({ scanning, waiting }: Turns): void {
  while (scanning.size < maxScans) {
    const index = waiting.findIndex(({ principal, left }) => left?.aborted || !scanning.has(principal))
    const [next] = index < 0 ? [] : waiting.splice(index, 1)
    if (next === undefined) return
    if (next.left?.aborted) {
      next.refuse(new Refusal(503, 'whoever sent the request has left'))
      continue
    }
    scanning.add(next.principal)
    next.start()
  }
}
