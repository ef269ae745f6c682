import type { Decider } from '../../identity/decider.ts'
import { rosterEntries, rosterKeys, unfinishedKeys } from '../../store/roster/roster.ts'
import type { Db } from '../../store/schema.ts'
import type { Stage } from './stage.ts'

/** How many people are looked up and staged together. */
const pageSize = 1000

type Place = {
  readonly db: Db
  readonly connection: string
  readonly stage: Stage
  readonly decider: Decider
  readonly signal: AbortSignal
}

/** Decides about the people of the last page and then about people without a usable row. */
export async function decideRest(place: Place): Promise<void> {
  const { db, connection, stage, decider, signal } = place
  await stagePage(place, decider.lastPage())
  const keys = decider.asksForEverybody ? rosterKeys(db, connection) : unfinishedKeys(db, connection)
  for await (const some of keys) {
    signal.throwIfAborted()
    for (const identityIds of portionsOf(decider.unseen(some))) {
      const known = await rosterEntries(db, { connection, identityIds })
      await stage.put(decider.decideUnseen(known.values()))
    }
  }
}

/** Decides about the people of a page and stages that. */
export async function stagePage(
  { db, connection, stage, decider }: Place,
  { withdrawn, told }: ReturnType<Decider['nextPage']>,
): Promise<void> {
  if (withdrawn.length > 0) await stage.drop(withdrawn)
  for (const some of portionsOf(told)) {
    const known = await rosterEntries(db, { connection, identityIds: some.map(({ identityId }) => identityId) })
    await stage.put(decider.decideTold(some, known))
  }
}

function* portionsOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += pageSize) yield items.slice(start, start + pageSize)
}
