import type { PlanCounts, Verdict } from '../../identity/change.ts'
import type { Decider } from '../../identity/decide/decider.ts'
import type { PlannedPerson } from '../../identity/decide/planned.ts'
import type { PersonObservations } from '../../identity/decide/row-book.ts'
import { guardsOfPeople } from '../../identity/decide/tally.ts'
import { compareKeys, planDigest } from '../../identity/digest.ts'
import type { PeopleCounts } from '../../identity/guards/facts.ts'
import type { KeyChangeCandidate } from '../../identity/key-change-candidates.ts'
import type { HeldPart, WaitingEvent } from '../../store/plans/held-part.ts'
import { heldEventRuns, heldReason, plannedIn } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import { entriesOf } from './decide-people.ts'
import type { Stage } from './stage.ts'

const defaultPageSize = 1000

/** What is about single people is decided by itself, and waits behind nothing. */
const ofOnePerson: ReadonlySet<string> = new Set(['retractions', 'rekeyed', 'reusedKeys', 'pinned'])

/** A person who waits: behind a run that is held already, or in the plan that is held now, if `runId` is null. */
type Waiting = PersonObservations & { readonly runId: string | null; readonly reason: string }

/** What becomes of a plan of events: a part of it waits as a plan of its own, or all of it does. */
type Aside = { readonly part: HeldPart } | { readonly whole: PlanCounts; readonly counted: PeopleCounts }

/**
 * Takes people out of a plan of events that a guard stops, or that wait in a held plan already, so that the others go on. Their
 * departures go on, too, unless there are too many of them. What trips a limit for which a run is held waits behind that run, so that
 * there is not one run to approve for each event. Null: there is nothing to set aside, or a guard stops the plan as a whole.
 */
export async function splitPlan(
  { db, connection, stage, decider }: { db: Db; connection: string; stage: Stage; decider: Decider },
  {
    verdicts,
    pairs,
    behindHeld,
    pageSize = defaultPageSize,
  }: { verdicts: readonly Verdict[]; pairs: readonly KeyChangeCandidate[]; behindHeld: boolean; pageSize?: number },
): Promise<Aside | null> {
  const failed = verdicts.filter(({ ok }) => !ok)
  if (failed.some(({ name }) => !guardsOfPeople.has(name))) return null
  const stopped = new Set(failed.map(({ name }) => name))
  const told = decider.observedPeople(stopped)
  const waiting = await whoWaits(db, connection, { told, failed, behindHeld, pageSize })
  if (waiting.length === 0) return null

  const goesOn: PlannedPerson[] = []
  const people: PlannedPerson[] = []
  const events = new Map<string, WaitingEvent>()
  for (let start = 0; start < waiting.length; start += pageSize) {
    const some = waiting.slice(start, start + pageSize).map((one) => ({ ...one, joins: one.runId !== null }))
    const split = decider.split(some, await entriesOf(db, connection, some), stopped)
    goesOn.push(...split.proceeding)
    people.push(...split.held)
    const byKey = new Map(some.map((person) => [person.identityId, person]))
    for (const one of split.heldObservations) noteEvents(events, one, byKey.get(one.identityId))
  }
  const counts = decider.heldCounts()
  const counted = decider.heldPeople()
  const isWhole = waiting.length === told.length && waiting.every(({ runId }) => runId === null) && goesOn.length === 0
  if (isWhole && isEmpty(decider.counts())) return { whole: counts, counted }

  // Everybody is dropped before anybody is put: who goes on stands on another page than among those who wait.
  for (let start = 0; start < waiting.length; start += pageSize)
    await stage.drop(waiting.slice(start, start + pageSize).map(({ identityId }) => identityId))
  for (let start = 0; start < goesOn.length; start += pageSize) await stage.put(goesOn.slice(start, start + pageSize))
  people.sort((a, b) => compareKeys(a.identityId, b.identityId))
  const digest = planDigest(people.flatMap(({ change }) => change ?? []))
  return { part: { people, counts, counted, digest, guards: verdicts, pairs, events: [...events.values()] } }
}

function isEmpty({ unchanged: _, ...changes }: PlanCounts): boolean {
  return Object.values(changes).every((count) => count === 0)
}

/** The verdicts on what goes on: what was set aside stops nothing more. */
export function verdictsOnRest(verdicts: readonly Verdict[]): Verdict[] {
  return verdicts.map(({ reason, people: _, hints: __, taints: ___, fields: ____, ...verdict }) => ({
    ...verdict,
    ok: true,
    ...(verdict.ok && reason && { reason }),
  }))
}

async function whoWaits(
  db: Db,
  connection: string,
  {
    told,
    failed,
    behindHeld,
    pageSize,
  }: {
    told: ReturnType<Decider['observedPeople']>
    failed: readonly Verdict[]
    behindHeld: boolean
    pageSize: number
  },
): Promise<Waiting[]> {
  const held = behindHeld ? await heldEventRuns(db, connection) : []
  if (held.length === 0 && failed.length === 0) return []
  const planned = new Map<string, string>()
  for (let start = 0; start < told.length && held.length > 0; start += pageSize) {
    const identityIds = told.slice(start, start + pageSize).map(({ identityId }) => identityId)
    for (const [key, runId] of await plannedIn(db, { runIds: held.map(({ id }) => id), identityIds }))
      planned.set(key, runId)
  }
  const limits = failed.filter(({ name }) => !ofOnePerson.has(name))
  const behind =
    limits.length < failed.length ? undefined : held.find((run) => limits.some(({ name }) => run.failed.includes(name)))
  const reason = heldReason(failed)
  return told.flatMap(({ identityId, observations, isCounted }): Waiting[] => {
    const runId = planned.get(identityId)
    if (runId !== undefined)
      return [{ identityId, observations, runId, reason: `waits behind run ${runId}, which holds the same person` }]
    if (!isCounted) return []
    if (behind === undefined) return [{ identityId, observations, runId: null, reason }]
    return [{ identityId, observations, runId: behind.id, reason: `waits behind run ${behind.id}: ${reason}` }]
  })
}

/** An event that holds several people waits behind another run, if one of them does: it is read again when that is decided. */
function noteEvents(
  events: Map<string, WaitingEvent>,
  { observations }: PersonObservations,
  waiting: Waiting | undefined,
): void {
  if (waiting === undefined) return
  const { runId, reason } = waiting
  for (const { origin } of observations) {
    if (!('event' in origin)) continue
    const { event: id } = origin
    if (!events.has(id) || events.get(id)?.runId === null) events.set(id, { id, runId, reason })
  }
}
