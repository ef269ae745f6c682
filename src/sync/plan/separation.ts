import type { Verdict } from '../../identity/change.ts'
import { type Decision, decideState, type PlanContext, unknownPerson } from '../../identity/decide/decide.ts'
import { withPin } from '../../identity/decide/decisions.ts'
import { tally } from '../../identity/decide/tally.ts'
import { judge } from '../../identity/guards/judge.ts'
import { fieldNames, type IdentityRecord, type RosterEntry } from '../../identity/record.ts'
import { findNamed } from '../../store/foreign/people.ts'
import { keyAnswers } from '../../store/key-answers.ts'
import type { PlanSummary } from '../../store/plans/plans.ts'
import { headcount, rosterEntries, rosterSize } from '../../store/roster/roster.ts'
import type { SeparateOptions } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { lookUpFailure, lookUpPeople, type PlatformPerson, singleLookUpLimit } from '../target/look-up.ts'
import { openEndpoint } from '../target/target.ts'
import { mainRules } from './feeds.ts'
import { recentlyPassedFacts } from './judge-plan.ts'
import { pinnedPeople, planContext } from './plan-inputs.ts'
import type { Stage } from './stage.ts'

/** The guards that judge departures. There are no rows to judge. */
const departureGuards: ReadonlySet<string> = new Set(['leavers', 'pinned'])

type SeparationInput = { readonly separate: SeparateOptions; readonly stage: Stage; readonly signal: AbortSignal }

/**
 * Plans the departures of people whom only the platform knows, from their current platform records. People whom HR has stated since, who
 * are separated on the platform, or who are no longer there stay unchanged, so repeating a request is safe.
 */
export async function planSeparation(
  ctx: SyncContext,
  connection: SyncConnection,
  { separate, stage, signal }: SeparationInput,
): Promise<Omit<PlanSummary, 'verification' | 'configuration' | 'basis'> & { readonly heldPart: null }> {
  const { db } = ctx.store
  const { name } = connection
  const now = ctx.now()
  const asOf = now.toISOString()
  const rules = mainRules(connection)
  const context = planContext({ mode: 'delta', asOf }, rules, now)
  const pinned = pinnedPeople(connection, await keyAnswers(db, name))
  const { foreign, warnings } = await selectForeign(ctx, connection, { separate, signal })
  const decisions = tally()
  for (const confirmed of foreign) {
    const { identityId } = confirmed
    const decision = withPin(identityId, decideSeparation(confirmed, separate.on, context), pinned)
    // There is no row of the person.
    decisions.add(decision, 'untouched')
    await stage.put([{ identityId, entry: decision.entry, change: decision.change, origin: null }])
  }

  const people = foreign.length
  const { employed, ...before } = await headcount(db, name)
  const facts = decisions.facts({
    mode: 'delta',
    // No row was read. The guards measure shares of people instead.
    rows: people,
    size: null,
    endMissing: false,
    headcount: employed,
    ...(await recentlyPassedFacts(db, { connection: name, feed: 'separation', asOf, now })),
    usual: null,
    missingColumns: [],
    keyChangeCandidates: [],
    absence: rules.absence,
  })
  const judged = judge(facts, connection.guards).filter(({ name: guard }) => departureGuards.has(guard))
  return {
    mode: 'delta',
    source: null,
    asOf,
    rows: 0,
    records: people,
    counts: decisions.counts(),
    people: decisions.people(),
    known: before,
    guards: [...judged.map(decisions.explain), waitsForApproval(people)],
    digest: await stage.digest(),
    fields: null,
    endKeys: [],
    pairs: [],
    warnings,
    rejects: [],
    faults: null,
    heldPart: null,
  }
}

/**
 * Decides the departure of a person whom only the platform knows. Its record stands for `confirmed`. The day is inferred: a date that HR
 * states later replaces it.
 */
function decideSeparation(confirmed: IdentityRecord, on: string, context: PlanContext): Decision {
  const known: RosterEntry = { ...unknownPerson(confirmed.identityId, context), confirmed }
  const desired = { ...confirmed, separatedAt: `${on}T00:00:00.000Z` }
  return decideState(known, { ...known, desired, inferred: true, employmentAsOf: context.asOf }, context)
}

/** The requested people who are still known to the platform only and are employed there, and warnings about the others. */
async function selectForeign(
  ctx: SyncContext,
  connection: SyncConnection,
  { separate: { identityIds }, signal }: { separate: SeparateOptions; signal: AbortSignal },
): Promise<{ readonly foreign: readonly IdentityRecord[]; readonly warnings: readonly string[] }> {
  const onPlatform = await lookUpRequested(ctx, connection, { identityIds, signal })
  const known = await rosterEntries(ctx.store.db, { connection: connection.name, identityIds })
  const namedByHr = new Set((await findNamed(ctx.store.db, { connection: connection.name, identityIds })).map(keyOf))
  // HR names the person, also in an unreadable row or a held plan, or the person was retracted.
  const isExcluded = (identityId: string) => {
    const entry = known.get(identityId)
    return namedByHr.has(identityId) || (entry !== undefined && (entry.retracted !== null || entry.desired !== null))
  }
  const [excluded, candidates] = partition(identityIds, isExcluded)
  const [present, missing] = partition(candidates, (identityId) => onPlatform.has(identityId))
  const records = present.flatMap((identityId) => recordOf(onPlatform.get(identityId)))
  const [separatedThere, foreign] = partition(records, ({ separatedAt }) => typeof separatedAt === 'string')
  const warnings = [
    ...skippedWarning(excluded, 'HR names them now, or they were retracted'),
    ...skippedWarning(separatedThere.map(keyOf), 'they are separated on the platform already'),
    ...skippedWarning(missing, 'they are no longer on the platform'),
  ]
  return { foreign, warnings }
}

function keyOf({ identityId }: { readonly identityId: string }): string {
  return identityId
}

function partition<T>(all: readonly T[], matches: (one: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [all.filter(matches), all.filter((one) => !matches(one))]
}

/** Looks these people up on the platform, by key. */
async function lookUpRequested(
  ctx: SyncContext,
  connection: SyncConnection,
  { identityIds, signal }: { identityIds: readonly string[]; signal: AbortSignal },
): Promise<ReadonlyMap<string, PlatformPerson>> {
  const endpoint = await openEndpoint(ctx, connection, signal)
  if ('kind' in endpoint) throw lookUpFailure(connection, endpoint)
  const maxSingleLookUps = singleLookUpLimit(endpoint, await rosterSize(ctx.store.db, connection.name))
  const { people, stop } = await lookUpPeople(endpoint, identityIds, { maxSingleLookUps })
  if (stop) throw lookUpFailure(connection, stop)
  return people
}

/** The record of a person on the platform, without blank fields. */
function recordOf(identity: PlatformPerson | undefined): IdentityRecord[] {
  if (identity === undefined) return []
  const fields = fieldNames.flatMap((field) => {
    const value = identity[field] ?? null
    return value === null ? [] : [[field, value]]
  })
  return [{ identityId: identity.identityId, separatedAt: null, ...Object.fromEntries(fields) }]
}

// HR never named these people, so only an operator can confirm their departure.
function waitsForApproval(people: number): Verdict {
  const verdict = { name: 'foreign', actual: people, limit: 0 }
  if (people === 0) return { ...verdict, ok: true }
  const reason = `${people} whom only the platform knows would be separated, which always waits for an approval`
  return { ...verdict, ok: false, reason }
}

function skippedWarning(identityIds: readonly string[], why: string): string[] {
  const [first] = identityIds
  if (first === undefined) return []
  const who = identityIds.length === 1 ? first : `${first} and ${identityIds.length - 1} more`
  return [`not separated, because ${why}: ${who}`]
}
