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
import { type PlatformPerson, singleLookUpLimit, lookUpPeople, lookUpFailure } from '../target/look-up.ts'
import { openEndpoint } from '../target/target.ts'
import { pinnedPeople, planContext } from './plan-inputs.ts'
import { mainRules } from './feeds.ts'
import { recentlyPassedFacts } from './judge-plan.ts'
import type { Stage } from './stage.ts'

/** The guards that judge departures. There are no rows to judge. */
const ofDepartures: ReadonlySet<string> = new Set(['leavers', 'pinned'])

/**
 * Plans the departures of people whom only the platform knows, from what it holds of them now. Whoever is stated by HR since, has left there,
 * or is no longer there is left as they are, so that the same request does nothing twice.
 */
export async function planSeparation(
  ctx: SyncContext,
  connection: SyncConnection,
  { separate, stage, signal }: { separate: SeparateOptions; stage: Stage; signal: AbortSignal },
): Promise<Omit<PlanSummary, 'verification' | 'configuration' | 'basis'> & { readonly heldPart: null }> {
  const { db } = ctx.store
  const { name } = connection
  const now = ctx.now()
  const asOf = now.toISOString()
  const rules = mainRules(connection)
  const context = planContext({ mode: 'delta', asOf }, rules, now)
  const pinned = pinnedPeople(connection, await keyAnswers(db, name))
  const { foreign, warnings } = await peopleOf(ctx, connection, { separate, signal })
  const counted = tally()
  for (const confirmed of foreign) {
    const { identityId } = confirmed
    const decision = withPin(identityId, separated(confirmed, separate.on, context), pinned)
    counted.add(decision, 'untouched')
    await stage.put([{ identityId, entry: decision.entry, change: decision.change, origin: null }])
  }

  const people = foreign.length
  const { employed, ...before } = await headcount(db, name)
  const facts = counted.facts({
    mode: 'delta',
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
  const judged = judge(facts, connection.guards).filter(({ name: guard }) => ofDepartures.has(guard))
  return {
    mode: 'delta',
    source: null,
    asOf,
    rows: 0,
    records: people,
    counts: counted.counts(),
    people: counted.people(),
    known: before,
    guards: [...judged.map(counted.explain), waitsForApproval(people)],
    digest: await stage.digest(),
    fields: null,
    endKeys: [],
    pairs: [],
    warnings,
    rejects: [],
    standing: null,
    heldPart: null,
  }
}

/** What follows for a person of whom no more is known than what the platform holds. Nobody stated the day: one that HR states later takes its place. */
function separated(confirmed: IdentityRecord, on: string, context: PlanContext): Decision {
  const known: RosterEntry = { ...unknownPerson(confirmed.identityId, context), confirmed }
  const desired = { ...confirmed, separatedAt: `${on}T00:00:00.000Z` }
  return decideState(known, { ...known, desired, inferred: true, employmentAsOf: context.asOf }, context)
}

/** Who of those that were asked for is still known to the platform alone and employed there; and of whom that is no longer so. */
async function peopleOf(
  ctx: SyncContext,
  connection: SyncConnection,
  { separate: { identityIds }, signal }: { separate: SeparateOptions; signal: AbortSignal },
): Promise<{ readonly foreign: readonly IdentityRecord[]; readonly warnings: readonly string[] }> {
  const held = await heldPeople(ctx, connection, { identityIds, signal })
  const known = await rosterEntries(ctx.store.db, { connection: connection.name, identityIds })
  const named = new Set((await findNamed(ctx.store.db, { connection: connection.name, identityIds })).map(keyOf))
  const isStated = (identityId: string) => {
    const entry = known.get(identityId)
    return named.has(identityId) || (entry !== undefined && (entry.retracted !== null || entry.desired !== null))
  }
  const [stated, others] = parted(identityIds, isStated)
  const [there, gone] = parted(others, (identityId) => held.has(identityId))
  const records = there.flatMap((identityId) => recordOf(held.get(identityId)))
  const [left, foreign] = parted(records, ({ separatedAt }) => typeof separatedAt === 'string')
  const warnings = [
    ...leftWarning(stated, 'HR states them by now, or they were retracted'),
    ...leftWarning(left.map(keyOf), 'they are separated on the platform already'),
    ...leftWarning(gone, 'they are no longer on the platform'),
  ]
  return { foreign, warnings }
}

function keyOf({ identityId }: { readonly identityId: string }): string {
  return identityId
}

function parted<T>(all: readonly T[], is: (one: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [all.filter(is), all.filter((one) => !is(one))]
}

/** What the platform holds of these people now. */
async function heldPeople(
  ctx: SyncContext,
  connection: SyncConnection,
  { identityIds, signal }: { identityIds: readonly string[]; signal: AbortSignal },
): Promise<ReadonlyMap<string, PlatformPerson>> {
  const endpoint = await openEndpoint(ctx, connection, signal)
  if ('kind' in endpoint) throw lookUpFailure(connection, endpoint)
  const maxSingleLookUps = singleLookUpLimit(endpoint, await rosterSize(ctx.store.db, connection.name))
  const { people: found, stop } = await lookUpPeople(endpoint, identityIds, { maxSingleLookUps })
  if (stop) throw lookUpFailure(connection, stop)
  return found
}

/** The record of a person as the platform holds it, without what it leaves blank. */
function recordOf(identity: PlatformPerson | undefined): IdentityRecord[] {
  if (identity === undefined) return []
  const fields = fieldNames.flatMap((field) => {
    const value = identity[field] ?? null
    return value === null ? [] : [[field, value]]
  })
  return [{ identityId: identity.identityId, separatedAt: null, ...Object.fromEntries(fields) }]
}

// HR never named them, so that a person's word is all there is.
function waitsForApproval(people: number): Verdict {
  const verdict = { name: 'foreign', actual: people, limit: 0 }
  if (people === 0) return { ...verdict, ok: true }
  const reason = `${people} whom only the platform knows would be separated, which always waits for an approval`
  return { ...verdict, ok: false, reason }
}

function leftWarning(identityIds: readonly string[], why: string): string[] {
  const [first] = identityIds
  if (first === undefined) return []
  const who = identityIds.length === 1 ? first : `${first} and ${identityIds.length - 1} more`
  return [`not separated, because ${why}: ${who}`]
}
