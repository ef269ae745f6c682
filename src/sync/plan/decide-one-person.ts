import type { Page } from '../../identity/decide/row-book.ts'
import { rosterEntries, rosterKeys } from '../../store/roster/roster.ts'
import { entriesOf, type PlanWorkspace, portionsOf } from './decide-people.ts'
import type { PersonWatch } from './person-watch.ts'

/**
 * Decides about the requested person of a page and stages their change. The others are only compared with them: their rows show whether the
 * person has a new key.
 */
export async function decidePageOfOne(
  { db, connection, stage, decider }: PlanWorkspace,
  person: PersonWatch,
  { withdrawn, observed }: Page,
): Promise<void> {
  decider.takeBack(withdrawn)
  if (withdrawn.length > 0) await stage.drop(withdrawn)
  person.withdraw(withdrawn)
  const { requested = [], others = [] } = Object.groupBy(observed, ({ identityId }) =>
    person.isRequested(identityId) ? 'requested' : 'others',
  )
  for (const portion of portionsOf(others)) decider.compareObserved(portion, await entriesOf(db, connection, portion))
  const known = await entriesOf(db, connection, requested)
  const planned = decider.decideObserved(requested, known)
  const [first] = requested
  const input = first?.observations.at(-1)
  await stage.put(first && input ? person.addDecision(planned, { entry: known.get(first.identityId), input }) : planned)
}

/** Decides about the requested person if no usable row names them, and compares them with everybody else without a usable row. */
export async function decideAbsenceOfOne(workspace: PlanWorkspace, person: PersonWatch): Promise<void> {
  const { db, connection, stage, decider } = workspace
  const own = await rosterEntries(db, { connection, identityIds: decider.book.unobserved(person.keys) })
  for (const entry of own.values()) {
    const input = decider.book.lacks(entry.identityId) ? 'absent' : 'untouched'
    await stage.put(person.addDecision(decider.decideUnobserved([entry]), { entry, input }))
  }
  for await (const keys of rosterKeys(db, connection)) {
    const others = decider.book.unobserved(keys).filter((key) => !person.isRequested(key))
    for (const identityIds of portionsOf(others))
      decider.compareUnobserved((await rosterEntries(db, { connection, identityIds })).values())
  }
}
