import { sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { acknowledgeEventsOfPart, eventsOfHeld, type PersonOfEvent } from '../../store/inbox/inbox.ts'
import {
  lockHeldRun,
  type PartSelection,
  type PlanPart,
  readPart,
  recordPartCounts,
  storeApprovedPart,
  unknownInPlan,
} from '../../store/plans/approved-part.ts'
import { splitPairs } from '../../store/plans/split-pairs.ts'
import { recordUnapproved, wasLeftOut } from '../../store/roster/unapproved-people.ts'
import { addWaitingRun, getRun, type Run, requestersOfRun, setRunState } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { makePopulationStatement, reportPopulationStatement } from '../context/population-statement.ts'
import { countPeople } from '../plan/count-people.ts'
import { peopleOfEvents } from '../plan/people-of-events.ts'
import { acceptPlan, continueAfterAccept } from '../run/accept-plan.ts'
import { sweep } from '../run/sweep.ts'
import { checkApproval, type Decision, heldRun, planningAgain } from './approval-rules.ts'
import { requireRun } from './requests.ts'

type PartInput = {
  readonly run: Run
  readonly connection: SyncConnection
  readonly decision: Decision
  /** Names the part as the approver saw it. */
  readonly digest: string
  readonly selection: PartSelection
}

/**
 * Approves a part of a held plan: a run of its own delivers it, and the rest of the plan stays held. Both are stored in one transaction, so
 * a person is always in exactly one of them. Returns the run of the part.
 */
export async function approvePart(ctx: SyncContext, { connection, ...input }: PartInput): Promise<Run> {
  const { run, decision, digest, selection } = input
  const now = ctx.now()
  const events = run.feed === 'webhook' ? await eventsOfHeld(ctx.store.db, run.id) : []
  const people = await peopleOfEvents(ctx, connection, events)
  const accepted = await ctx.store.db.transaction().execute(async (tx) => {
    const outdatedReason = await checkApproval(ctx, tx, { run, connection, decision, selection, now })
    if (!(await lockHeldRun(tx, run.id))) throw new Failure('conflict', `run ${run.id} is no longer held`)
    if (outdatedReason !== null) return { outdatedReason, isPlannedAgain: await requestRosterRun(tx, run, now) }
    const part = await splitPart(tx, { ...input, connection, now })
    return await acceptPart(ctx, tx, { ...input, part, people, connection, now })
  })
  if ('outdatedReason' in accepted) {
    const { outdatedReason, isPlannedAgain } = accepted
    const advice = isPlannedAgain ? 'it is planned again now' : `to plan again, ${planningAgain(run)}`
    if (isPlannedAgain) await sweep(ctx)
    throw new Failure(
      'conflict',
      `no part of run ${run.id} can be approved: ${outdatedReason}; ${advice}, then choose from that plan`,
    )
  }
  if (accepted.statement) reportPopulationStatement(ctx, accepted.statement)
  ctx.events.runApproved({ runId: accepted.part.id, connection: run.connection, by: decision.by, digest })
  await continueAfterAccept(ctx, accepted.part, accepted.batches)
  return await requireRun(ctx, accepted.part.id)
}

/** If the held plan is of the roster, requests a new roster run, because no command of an operator would plan it again. Returns whether it did. */
async function requestRosterRun(tx: Db, { id, connection, feed }: Run, now: Date): Promise<boolean> {
  if (feed !== 'roster') return false
  const requestedBy = await requestersOfRun(tx, id)
  await addWaitingRun(tx, { connection, feed, trigger: 'operator', options: {}, requestedBy, now })
  return true
}

/**
 * Returns what a part of a held plan would be. Throws the same errors as an approval if the part is empty, is the whole plan, or names kinds,
 * groups or people that the plan does not have.
 */
export async function previewPart(
  ctx: SyncContext,
  { runId, selection }: { readonly runId: string; readonly selection: PartSelection },
): Promise<PlanPart> {
  const run = await heldRun(ctx, { runId, by: '' })
  return await requirePart(ctx.store.db, run, selection)
}

async function requirePart(db: Db, { id, connection }: Run, selection: PartSelection): Promise<PlanPart> {
  const { kinds, groups, people } = await unknownInPlan(db, id, selection)
  const [kind] = kinds
  if (kind !== undefined) throw new Failure('usage', `the plan of run ${id} has no change of the kind "${kind}"`)
  if (groups.length > 0) throw new Failure('usage', unknownGroups(id, selection.groups ?? [], groups))
  if (people.length > 0) throw new Failure('usage', unknownPeople(id, people))
  const [pair] = await splitPairs(db, { connection, runId: id, selection })
  if (pair !== undefined)
    throw new Failure(
      'usage',
      `${pair.former} and ${pair.identityId} look like one person with a new key, and this part has only one of them: answer that with "rollcall alias", or choose both or neither`,
    )
  const part = await readPart(db, id, selection)
  if (part.people === 0)
    throw new Failure(
      'usage',
      `nobody in the plan of run ${id} fits all that was chosen, so there is nothing to approve`,
    )
  if (part.people === part.peopleOfPlan)
    throw new Failure('usage', `this part is the whole plan of run ${id}: approve the run without choosing a part`)
  return part
}

/** Maximum number of keys in a message. */
const maxNamedKeys = 5

function unknownPeople(runId: string, keys: readonly string[]): string {
  const more = keys.length > maxNamedKeys ? `, and ${keys.length - maxNamedKeys} more` : ''
  return `the plan of run ${runId} has no change for ${keys.slice(0, maxNamedKeys).join(', ')}${more}`
}

/** A group may be personal data, so the message names its position and not its value. */
function unknownGroups(runId: string, named: readonly (string | null)[], unknown: readonly (string | null)[]): string {
  const positions = named.flatMap((group, at) => (unknown.includes(group) ? [at + 1] : []))
  const which = named.length === 1 ? 'the group' : `group ${positions.join(', ')} of the ${named.length}`
  return `the plan of run ${runId} has nobody in ${which} that was chosen; compare the spelling with the groups of the plan`
}

type SplitInput = Omit<PartInput, 'decision'> & { readonly now: Date }

/** Splits the part off into a run of its own, counts both, and records that nobody approved the rest. Throws if it is not the part that the approver saw. */
async function splitPart(tx: Db, { run, connection, digest, selection, now }: SplitInput): Promise<Run> {
  await requirePart(tx, run, selection)
  const partId = await storeApprovedPart(tx, { runId: run.id, selection, now })
  // The guards of this plan did not count people who were left out of an earlier part, so they are not counted here either.
  const only = sql<boolean>`not ${wasLeftOut(run.connection, run.startedAt ?? run.createdAt)}`
  const people = await countPeople(tx, { runId: partId, asOf: run.asOf, connection, only, now })
  await recordPartCounts(tx, { runId: run.id, partId, people })
  await recordUnapproved(tx, { runId: run.id, now })
  const part = await getRun(tx, partId)
  if (part === null) throw new Error(`run ${partId} was not stored`)
  if (part.digest !== digest)
    throw new Failure(
      'conflict',
      `this part of run ${run.id} is ${part.digest} now, not ${digest}: other people fit, or something else is planned for them; look at the part again`,
    )
  return part
}

type AcceptInput = PartInput & {
  readonly part: Run
  /** Whom the events of the held plan name. */
  readonly people: readonly PersonOfEvent[]
  readonly now: Date
}

/** Accepts the plan of a part, so that its changes are due. */
async function acceptPart(
  ctx: SyncContext,
  tx: Db,
  { run, part, people, connection, decision, digest, selection, now }: AcceptInput,
) {
  const { by, reason = null } = decision
  const auditBase = { connection: run.connection, by, now }
  const reasonDetail = reason !== null && { reason }
  const chosen = chosenIn(selection)
  await recordAuditEntry(tx, {
    ...auditBase,
    act: 'run.approved',
    runId: part.id,
    details: { digest, of: run.id, ...chosen, ...reasonDetail },
  })
  const rest = await getRun(tx, run.id)
  const counts = rest?.counts ?? {}
  const details = { part: part.id, before: run.digest, digest: rest?.digest, counts, ...reasonDetail }
  await recordAuditEntry(tx, { ...auditBase, act: 'run.split', runId: run.id, details })
  const batches = await acceptPlan(tx, part, connection, now)
  if (run.feed === 'webhook') await acknowledgeEventsOfPart(tx, { runId: run.id, partId: part.id, people })
  await setRunState(tx, { id: part.id, to: batches > 0 ? 'delivering' : 'unchanged', now, by, because: reason })
  const ended = { runId: part.id, connection: run.connection }
  return { part, batches, statement: batches === 0 ? await makePopulationStatement(ctx, tx, ended) : null }
}

/** What was chosen, for the audit trail, which holds no values of people. */
function chosenIn({ kinds, groups, people }: PartSelection) {
  return {
    ...(kinds && { kinds }),
    ...(groups && { groups: groups.length }),
    ...(people && { people: people.length }),
  }
}
