import { pluralizePeople } from '../../identity/pluralize.ts'
import type { PlanContext } from '../../identity/decide/decide.ts'
import { coversEverybody, isStale } from '../../identity/decide/coverage.ts'
import type { Decider } from '../../identity/decide/decider.ts'
import type { Observation } from '../../identity/record.ts'
import { type KeyAnswers, resolveAlias } from '../../identity/key-change-candidates.ts'
import {
  dueWaiting,
  type EndOfWaiting,
  type PlannedWaiting,
  type WaitingRow,
  waitingDepartures,
  waitingKeys,
} from '../../store/roster/waiting.ts'
import type { Db } from '../../store/schema.ts'

type Place = { readonly db: Db; readonly connection: string; readonly decider: Decider }

/**
 * What the rows of an export leave waiting. What waited before ends for the people of whom the export speaks: those with a row that can
 * be used, and those whom an export of everybody lacks. A row that cannot be used ends nothing. Where an export holds changes alone, a row
 * of another day to come takes the place of those of its own day, and says nothing about other days.
 */
export async function planWaitingRows(
  { db, connection, decider }: Place,
  context: PlanContext,
): Promise<PlannedWaiting | null> {
  // An export that is older than the accepted one has no say in what is still to come.
  if (isStale(context)) return null
  const isOfAll = coversEverybody(context)
  const later = Map.groupBy(decider.book.later(), ({ identityId }) => identityId)
  const endOf = (identityId: string): EndOfWaiting[] => {
    const own = later.get(identityId) ?? []
    const isStated = decider.book.isUsable(identityId) || (context.mode === 'snapshot' && own.length > 0)
    if (isStated || (isOfAll && decider.book.lacks(identityId))) return [{ identityId, effectiveOn: null }]
    return own.map(({ effectiveOn = null }) => ({ identityId, effectiveOn }))
  }
  const ended = (await waitingKeys(db, connection)).flatMap(endOf)
  const rows = decider.book.later().map((observation) => toWaiting(observation, context))
  const leaves = (identityId: string): boolean =>
    decider.book.lacks(identityId) ||
    decider.book.mentionsDeparture(identityId) ||
    (later.get(identityId) ?? []).some(
      ({ statesDeparture, leavingDate }) => statesDeparture || typeof leavingDate === 'string',
    )
  const identityIds = ended.flatMap((end) => (end.effectiveOn || leaves(end.identityId) ? [] : end.identityId))
  return { rows, ended, withdrawn: await waitingDepartures(db, { connection, identityIds, asOf: context.asOf }) }
}

/** What an operator should know of departures that wait no more. */
export function withdrawnWarning(waiting: PlannedWaiting | null): readonly string[] {
  const { withdrawn = [] } = waiting ?? {}
  if (withdrawn.length === 0) return []
  const people = pluralizePeople(withdrawn.length)
  return [
    `departures of ${people} that waited for their day wait no more, as newer rows state the person without them (the first is ${withdrawn[0]})`,
  ]
}

/**
 * Shows the decider the rows whose day has come, as if an export of that day held them. They wait no more. A key that is known by now to be
 * another one of a known person names that person. `asOf`: the time of the plan. A day that begins while it is made waits for the next one.
 */
export async function addDueRows(
  { db, connection, decider }: Place,
  { aliases, asOf }: { readonly aliases: KeyAnswers['aliases']; readonly asOf: string },
): Promise<PlannedWaiting> {
  const due = await dueWaiting(db, { connection, now: new Date(asOf) })
  for (const { observation, dueAt } of due) decider.book.add(resolveAlias({ ...observation, asOf: dueAt }, aliases))
  const ended = due.map(({ observation: { identityId }, effectiveOn }) => ({ identityId, effectiveOn }))
  return { rows: [], ended, withdrawn: [] }
}

// A cell that cannot be read is listed with the plan that met it, and quotes what it holds.
function toWaiting(
  { badCells: _, ...observation }: Observation,
  { timeZone: ofSource, asOf: ofExport }: PlanContext,
): WaitingRow {
  const { effectiveOn = '', timeZone = ofSource, asOf = ofExport } = observation
  const dueAt = Temporal.PlainDate.from(effectiveOn).toZonedDateTime(timeZone).toInstant().toString()
  // On its day the row is read by itself, without the source and its zone.
  return { effectiveOn, dueAt, observation: { ...observation, timeZone, asOf } }
}
