import type { PlanCounts, Verdict } from '../../identity/change.ts'
import type { Decider } from '../../identity/decide/decider.ts'
import type { PlannedPerson } from '../../identity/decide/planned.ts'
import type { PersonObservations } from '../../identity/decide/row-book.ts'
import { guardsOfPeople } from '../../identity/decide/tally.ts'
import { compareKeys, planDigest } from '../../identity/digest.ts'
import type { PeopleCounts } from '../../identity/guards/facts.ts'
import type { KeyChangeCandidate } from '../../identity/key-change-candidates.ts'
import type { HeldPart, WaitingEvent } from '../../store/plans/held-part.ts'
import { heldEventRuns, heldReason, plannedIn } from '../../store/runs/held-runs.ts'
import type { Db } from '../../store/schema.ts'
import { entriesOf, type PlanWorkspace, portionsOf } from './decide-people.ts'
import type { Stage } from './stage.ts'

const defaultPageSize = 1000

/** Guards about individual people. Their people never queue behind another held run. */
const perPersonGuards: ReadonlySet<string> = new Set([
  ...(['retractions', 'rekeyed', 'reusedKeys', 'pinned'] as const),
  'leftUnapproved',
])

/** A person who waits: behind a run that is already held, or, if `runId` is null, in the plan that is held now. */
type WaitingPerson = PersonObservations & { readonly runId: string | null; readonly reason: string }

/** Some people move to a separate held plan, or the whole plan is held. */
type SplitResult =
  | { readonly kind: 'part'; readonly part: HeldPart }
  | { readonly kind: 'whole'; readonly counts: PlanCounts; readonly people: PeopleCounts }

type SplitInput = {
  readonly verdicts: readonly Verdict[]
  readonly keyChanges: readonly KeyChangeCandidate[]
  /** People of runs that are already held wait behind those runs. */
  readonly queuesBehindHeld: boolean
  readonly pageSize?: number
}

/**
 * Splits people whom a guard stops, or who already wait in a held plan, off a plan of events, so that the others proceed. Departures
 * proceed too, unless there are too many of them. People who exceed a limit for which a run is already held queue behind that run, so that
 * operators do not approve one run per event. Returns null if nobody waits, or if a guard stops the plan as a whole.
 */
export async function splitPlan(
  workspace: Pick<PlanWorkspace, 'db' | 'connection' | 'stage' | 'decider'>,
  { verdicts, keyChanges, queuesBehindHeld, pageSize = defaultPageSize }: SplitInput,
): Promise<SplitResult | null> {
  const { db, connection, decider } = workspace
  const failed = verdicts.filter(({ ok }) => !ok)
  if (failed.some(({ name }) => !guardsOfPeople.has(name))) return null
  const failedGuards = new Set(failed.map(({ name }) => name))
  const everybody = decider.observedPeople(failedGuards)
  const waiting = await findWaiting(db, connection, { everybody, failed, queuesBehindHeld, pageSize })
  if (waiting.length === 0) return null

  const { proceeding, people, events } = await splitDecisions(workspace, { waiting, failedGuards, pageSize })
  const counts = decider.heldCounts()
  const peopleCounts = decider.heldPeople()
  const isEverybodyHeld = waiting.length === everybody.length && waiting.every(({ runId }) => runId === null)
  if (isEverybodyHeld && proceeding.length === 0 && isEmpty(decider.counts()))
    return { kind: 'whole', counts, people: peopleCounts }

  await restage(workspace.stage, { waiting, proceeding, pageSize })
  people.sort((a, b) => compareKeys(a.identityId, b.identityId))
  const digest = planDigest(people.flatMap(({ change }) => change ?? []))
  const part = {
    people,
    counts,
    peopleCounts,
    digest,
    guards: verdicts,
    pairs: keyChanges,
    events: [...events.values()],
  }
  return { kind: 'part', part }
}

function isEmpty({ unchanged: _, ...changes }: PlanCounts): boolean {
  return Object.values(changes).every((count) => count === 0)
}

/** The verdicts on the people who proceed: all of them passed. */
export function verdictsOnRest(verdicts: readonly Verdict[]): Verdict[] {
  return verdicts.map(({ reason, people: _, hints: __, taints: ___, fields: ____, ...verdict }) => ({
    ...verdict,
    ok: true,
    ...(verdict.ok && reason && { reason }),
  }))
}

type WaitingQuery = {
  readonly everybody: ReturnType<Decider['observedPeople']>
  readonly failed: readonly Verdict[]
  readonly queuesBehindHeld: boolean
  readonly pageSize: number
}

/** Finds the people who wait, and for each of them the held run that they wait for. */
async function findWaiting(
  db: Db,
  connection: string,
  { everybody, failed, queuesBehindHeld, pageSize }: WaitingQuery,
): Promise<WaitingPerson[]> {
  const held = queuesBehindHeld ? await heldEventRuns(db, connection) : []
  if (held.length === 0 && failed.length === 0) return []
  const heldRunOf = new Map<string, string>()
  for (const portion of held.length === 0 ? [] : portionsOf(everybody, pageSize)) {
    const runIds = held.map(({ id }) => id)
    const planned = await plannedIn(db, { runIds, identityIds: portion.map(({ identityId }) => identityId) })
    for (const [identityId, runId] of planned) heldRunOf.set(identityId, runId)
  }
  const sameLimit = runHeldForSameLimit(held, failed)
  const reason = heldReason(failed)
  return everybody.flatMap(({ identityId, observations, isCounted }): WaitingPerson[] => {
    const runId = heldRunOf.get(identityId)
    if (runId !== undefined)
      return [{ identityId, observations, runId, reason: `waits behind run ${runId}, which holds the same person` }]
    if (!isCounted) return []
    if (sameLimit === undefined) return [{ identityId, observations, runId: null, reason }]
    return [{ identityId, observations, runId: sameLimit, reason: `waits behind run ${sameLimit}: ${reason}` }]
  })
}

/** The run that is already held for one of the failed limits; none if a guard about individual people failed too. */
function runHeldForSameLimit(
  held: Awaited<ReturnType<typeof heldEventRuns>>,
  failed: readonly Verdict[],
): string | undefined {
  const limits = failed.filter(({ name }) => !perPersonGuards.has(name))
  if (limits.length < failed.length) return undefined
  return held.find((run) => limits.some(({ name }) => run.failed.includes(name)))?.id
}

type WaitingInput = {
  readonly waiting: readonly WaitingPerson[]
  readonly failedGuards: ReadonlySet<string>
  readonly pageSize: number
}

/** Splits the decisions about people who wait into the part that proceeds, the part that waits, and the events that brought it. */
async function splitDecisions(
  { db, connection, decider }: Pick<PlanWorkspace, 'db' | 'connection' | 'decider'>,
  { waiting, failedGuards, pageSize }: WaitingInput,
) {
  const proceeding: PlannedPerson[] = []
  const people: PlannedPerson[] = []
  const events = new Map<string, WaitingEvent>()
  for (const portion of portionsOf(waiting, pageSize)) {
    const joining = portion.map((person) => ({ ...person, joins: person.runId !== null }))
    const split = decider.split(joining, await entriesOf(db, connection, joining), failedGuards)
    proceeding.push(...split.proceeding)
    people.push(...split.held)
    const byKey = new Map(portion.map((person) => [person.identityId, person]))
    for (const person of split.heldObservations) addEvents(events, person, byKey.get(person.identityId))
  }
  return { proceeding, people, events }
}

type RestageInput = {
  readonly waiting: readonly WaitingPerson[]
  readonly proceeding: readonly PlannedPerson[]
  readonly pageSize: number
}

/** Takes the people who wait out of the plan. Everybody is dropped before anybody is put, because a person who proceeds may be in another portion. */
async function restage(stage: Stage, { waiting, proceeding, pageSize }: RestageInput): Promise<void> {
  for (const portion of portionsOf(waiting, pageSize)) await stage.drop(portion.map(({ identityId }) => identityId))
  for (const portion of portionsOf(proceeding, pageSize)) await stage.put(portion)
}

/** Adds the events of a person who waits. An event about several people waits behind another run if one of them does. */
function addEvents(
  events: Map<string, WaitingEvent>,
  { observations }: PersonObservations,
  waiting: WaitingPerson | undefined,
): void {
  if (waiting === undefined) return
  const { runId, reason } = waiting
  for (const { origin } of observations) {
    if (!('event' in origin)) continue
    const { event: id } = origin
    if (!events.has(id) || events.get(id)?.runId === null) events.set(id, { id, runId, reason })
  }
}
