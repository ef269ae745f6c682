import type { Decider } from '../../identity/decide/decider.ts'
import type { Page, PersonObservations } from '../../identity/decide/row-book.ts'
import type { RosterEntry } from '../../identity/record.ts'
import { rosterEntries, rosterKeys, unfinishedKeys } from '../../store/roster/roster.ts'
import type { Db } from '../../store/schema.ts'
import type { Stage } from './stage.ts'

/** How many people are looked up and staged together. */
const portionSize = 1000

/** Where people are decided about and staged. */
export type PlanWorkspace = {
  readonly db: Db
  readonly connection: string
  readonly stage: Stage
  readonly decider: Decider
  /** The roster is empty, and stays so until this plan is accepted. */
  readonly isFirst: boolean
  readonly signal: AbortSignal
}

const noEntries: ReadonlyMap<string, RosterEntry> = new Map()

/** Decides about the people of a page and stages their changes. */
export async function decidePage(workspace: PlanWorkspace, { withdrawn, observed }: Page): Promise<void> {
  const { db, connection, stage, decider, isFirst } = workspace
  decider.takeBack(withdrawn)
  if (withdrawn.length > 0) await stage.drop(withdrawn)
  for (const portion of portionsOf(observed)) {
    const known = isFirst ? noEntries : await entriesOf(db, connection, portion)
    await stage.put(decider.decideObserved(portion, known))
  }
}

/**
 * Decides about known people without a usable row and stages their changes. `openPeople`: the people who may need a decision; null: everybody
 * if the source lists everybody, otherwise those with something unfinished.
 */
export async function decideAbsent(workspace: PlanWorkspace, openPeople: readonly string[] | null): Promise<void> {
  const { db, connection, stage, decider, signal } = workspace
  const inRoster = decider.decidesEverybody ? rosterKeys(db, connection) : unfinishedKeys(db, connection)
  for await (const keys of openPeople === null ? inRoster : [openPeople]) {
    signal.throwIfAborted()
    for (const identityIds of portionsOf(decider.book.unobserved(keys))) {
      const known = await rosterEntries(db, { connection, identityIds })
      await stage.put(decider.decideUnobserved(known.values()))
    }
  }
}

/** The roster's entries of these people. */
export async function entriesOf(
  db: Db,
  connection: string,
  people: readonly Pick<PersonObservations, 'identityId'>[],
): Promise<ReadonlyMap<string, RosterEntry>> {
  return await rosterEntries(db, { connection, identityIds: people.map(({ identityId }) => identityId) })
}

/** Cuts a list into portions that are looked up and staged together. */
export function* portionsOf<T>(items: readonly T[], size = portionSize): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}
