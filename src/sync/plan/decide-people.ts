import type { Decider } from '../../identity/decide/decider.ts'
import type { Page, PersonObservations } from '../../identity/decide/row-book.ts'
import type { RosterEntry } from '../../identity/record.ts'
import { rosterEntries, rosterKeys, unfinishedKeys } from '../../store/roster/roster.ts'
import type { Db } from '../../store/schema.ts'
import type { ChangeFilter } from './change-filter/change-filter.ts'
import type { Stage } from './stage.ts'
import type { PersonWatch } from './watch-person.ts'

/** How many people are looked up and staged together. */
const pageSize = 1000

/** Where people are decided about and staged. */
export type PlanWorkspace = {
  readonly db: Db
  readonly connection: string
  readonly stage: Stage
  readonly decider: Decider
  /** Nobody is known yet, and nobody becomes known before this plan is accepted. */
  readonly isFirst: boolean
  readonly signal: AbortSignal
  /** The one person that is decided about; left out for all of them. */
  readonly only?: PersonWatch
  /** Knows the people whose unchanged records were left out of the reading. */
  readonly filter?: ChangeFilter
}

const nobody: ReadonlyMap<string, RosterEntry> = new Map()

/** Decides about the people of the last page and then about people without a usable row. */
export async function decideRest(place: PlanWorkspace): Promise<void> {
  const { db, connection, stage, decider, signal, only, filter } = place
  await stagePage(place, decider.book.lastPage())
  if (only) {
    await decideOne(place, only)
    for await (const some of rosterKeys(db, connection)) {
      for (const identityIds of portionsOf(decider.book.unobserved(some).filter((key) => !only.isAsked(key)))) {
        decider.compareUnobserved((await rosterEntries(db, { connection, identityIds })).values())
      }
    }
    return
  }
  const asked = filter?.unseen(decider) ?? null
  const keys = decider.decidesEverybody ? rosterKeys(db, connection) : unfinishedKeys(db, connection)
  for await (const some of asked === null ? keys : [asked]) {
    signal.throwIfAborted()
    for (const identityIds of portionsOf(decider.book.unobserved(some))) {
      const known = await rosterEntries(db, { connection, identityIds })
      await stage.put(decider.decideUnobserved(known.values()))
    }
  }
}

/** Decides about the people of a page and stages that. */
export async function stagePage(
  { db, connection, stage, decider, isFirst, only, filter }: PlanWorkspace,
  { withdrawn, observed }: Page,
): Promise<void> {
  decider.takeBack(withdrawn)
  filter?.withdraw(withdrawn)
  if (withdrawn.length > 0) await stage.drop(withdrawn)
  only?.forget(withdrawn)
  const told = only ? observed.filter(({ identityId }) => only.isAsked(identityId)) : observed
  if (only)
    await compareOthers(
      { db, connection, decider },
      observed.filter(({ identityId }) => !only.isAsked(identityId)),
    )
  for (const some of portionsOf(told)) {
    const known = isFirst ? nobody : await entriesOf(db, connection, some)
    const people = decider.decideObserved(some, known)
    const [first] = some
    const input = first?.observations.at(-1)
    await stage.put(only && first && input ? only.take(people, { entry: known.get(first.identityId), input }) : people)
  }
}

/** A person who is asked for may have got a new key: that shows in the rows of the others. */
async function compareOthers(
  { db, connection, decider }: Pick<PlanWorkspace, 'db' | 'connection' | 'decider'>,
  others: readonly PersonObservations[],
): Promise<void> {
  for (const some of portionsOf(others)) {
    decider.compareObserved(some, await entriesOf(db, connection, some))
  }
}

/** What is known of the people of whom rows tell. */
export async function entriesOf(
  db: Db,
  connection: string,
  told: readonly PersonObservations[],
): Promise<ReadonlyMap<string, RosterEntry>> {
  return await rosterEntries(db, { connection, identityIds: told.map(({ identityId }) => identityId) })
}

/** Decides about the one person who is asked for, if no usable row named them. */
async function decideOne({ db, connection, stage, decider }: PlanWorkspace, only: PersonWatch): Promise<void> {
  const identityIds = decider.book.unobserved(only.keys())
  const known = await rosterEntries(db, { connection, identityIds })
  for (const entry of known.values()) {
    const input = decider.book.lacks(entry.identityId) ? 'absent' : 'untouched'
    await stage.put(only.take(decider.decideUnobserved([entry]), { entry, input }))
  }
}

function* portionsOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += pageSize) yield items.slice(start, start + pageSize)
}
