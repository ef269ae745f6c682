import { coversEverybody, isStale } from '../../identity/decide/coverage.ts'
import type { PlanContext } from '../../identity/decide/decide.ts'
import type { Decider } from '../../identity/decide/decider.ts'
import { type KeyAnswers, resolveAlias } from '../../identity/key-change-candidates.ts'
import { pluralizePeople } from '../../identity/pluralize.ts'
import type { Observation } from '../../identity/record.ts'
import {
  dueWaiting,
  type EndOfWaiting,
  type PlannedWaiting,
  type WaitingRow,
  waitingDepartures,
  waitingKeys,
} from '../../store/roster/waiting.ts'
import type { Db } from '../../store/schema.ts'

type WaitingContext = { readonly db: Db; readonly connection: string; readonly decider: Decider }

/**
 * Plans the rows of an export that wait for their day. Earlier waiting rows end for people with a usable row, and for people whom an export
 * of everybody lacks. An unusable row ends nothing. If an export contains only changes, a row for a later day replaces the waiting rows of
 * that day, and says nothing about other days.
 */
export async function planWaitingRows(
  { db, connection, decider }: WaitingContext,
  context: PlanContext,
): Promise<PlannedWaiting | null> {
  // An export that is older than the accepted one does not change what is still to come.
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

/** A warning about withdrawn departures: they no longer wait for their day. */
export function withdrawnWarning(waiting: PlannedWaiting | null): readonly string[] {
  const { withdrawn = [] } = waiting ?? {}
  if (withdrawn.length === 0) return []
  const people = pluralizePeople(withdrawn.length)
  return [
    `departures of ${people} that waited for their day wait no more, as newer rows state the person without them (the first is ${withdrawn[0]})`,
  ]
}

/**
 * Adds the rows whose day has come to the decider, as if an export of that day contained them; they no longer wait. A key that has become an
 * alias names the known person. `asOf`: the time of the plan. A day that begins while the plan is made waits for the next plan.
 */
export async function addDueRows(
  { db, connection, decider }: WaitingContext,
  { aliases, asOf }: { readonly aliases: KeyAnswers['aliases']; readonly asOf: string },
): Promise<PlannedWaiting> {
  const due = await dueWaiting(db, { connection, now: new Date(asOf) })
  for (const { observation, dueAt } of due) decider.book.add(resolveAlias({ ...observation, asOf: dueAt }, aliases))
  const ended = due.map(({ observation: { identityId }, effectiveOn }) => ({ identityId, effectiveOn }))
  return { rows: [], ended, withdrawn: [] }
}

// Unreadable cells are listed with the plan that met them, and contain data of the row.
function toWaiting(
  { badCells: _, ...observation }: Observation,
  { timeZone: ofSource, asOf: ofExport }: PlanContext,
): WaitingRow {
  const { effectiveOn = '', timeZone = ofSource, asOf = ofExport } = observation
  const dueAt = Temporal.PlainDate.from(effectiveOn).toZonedDateTime(timeZone).toInstant().toString()
  // On its day the row is used by itself, without the source and its time zone.
  return { effectiveOn, dueAt, observation: { ...observation, timeZone, asOf } }
}
