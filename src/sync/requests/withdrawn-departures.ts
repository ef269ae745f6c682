import { Failure } from '../../errors.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { makePersonDue } from '../../store/hold-backs.ts'
import { markPlansOutdated, resolveKey } from '../../store/key-answers.ts'
import { addWaitingRun } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import {
  dropStatedDeparture,
  proposeDeparture,
  type StatedDeparture,
  statedDeparture,
} from '../../store/stated-departures.ts'
import { requireConnection, type SyncConnection, type SyncContext } from '../context/context.ts'
import { refuseWhilePlanning } from '../context/refuse-while-planning.ts'
import { sweep } from '../run/sweep.ts'
import { describeProposal, openProposal, proposalEnd, refuseSamePerson } from './departure-proposals.ts'
import type { StatementResult } from './stated-departures.ts'
import { isSamePerson } from './two-people.ts'

type Person = { readonly connection: string; readonly identityId: string }

type Withdrawal = Person & {
  /** The stated day that the operator knows; another one is refused. */
  readonly on?: string
  readonly reason: string
  readonly by: string
  readonly principal: string
}

/**
 * Withdraws a stated departure: what HR says of the person applies again. Under `approvals.twoPeople` a departure that applies is withdrawn
 * by two people, as it was stated; if one person alone stated it as an emergency, any other person is the second one.
 */
export async function withdrawDeparture(ctx: SyncContext, withdrawal: Withdrawal): Promise<StatementResult> {
  const connection = requireConnection(ctx, withdrawal.connection)
  const now = ctx.now()
  const result = await ctx.store.db.transaction().execute(async (tx) => {
    await refuseWhilePlanning(tx, connection.name)
    const person = { connection: connection.name, identityId: await resolveKey(tx, withdrawal) }
    const stated = await statedDeparture(tx, person)
    if (stated === null) throw new Failure('not_found', `no departure of person ${withdrawal.identityId} is stated`)
    if (withdrawal.on !== undefined && withdrawal.on !== stated.leavingDate)
      throw new Failure(
        'conflict',
        `the last day of ${stated.identityId} is ${stated.leavingDate} since, as ${stated.by} states: look at it again`,
      )
    const at = { person, withdrawal, connection, now }
    return needsSecond(stated, at) ? await propose(tx, stated, at) : await withdraw(tx, stated, at)
  })
  const { identityId, runId, waits } = result
  const { by } = withdrawal
  if (!waits) ctx.events.departureStated({ connection: connection.name, identityId, by, statement: 'withdrawn' })
  if (runId !== null) await sweep(ctx)
  return result
}

type WithdrawalAt = {
  readonly person: Person
  readonly withdrawal: Withdrawal
  readonly connection: SyncConnection
  readonly now: Date
}

/** Whether the withdrawal waits for a second person. Refuses the first one as the second. */
function needsSecond(stated: StatedDeparture, { withdrawal, connection, now }: WithdrawalAt): boolean {
  // What does not apply was not sent, so that a withdrawal gives nothing back.
  if (!connection.approvals.twoPeople || !stated.applies) return false
  if (stated.isEmergency && stated.approvedBy === null && !isSamePerson(stated, withdrawal)) return false
  const proposal = openProposal(stated, now)
  if (proposal === null || proposal.leavingDate !== null) return true
  refuseSamePerson(proposal, withdrawal, `the departure of ${stated.identityId} is withdrawn already by ${proposal.by}`)
  return false
}

async function propose(tx: Db, stated: StatedDeparture, at: WithdrawalAt): Promise<StatementResult> {
  const { person, withdrawal, connection, now } = at
  const { by, principal, reason } = withdrawal
  const until = proposalEnd(connection, now)
  await proposeDeparture(tx, person, { leavingDate: null, by, principal, reason, at: now, until })
  const replaced = openProposal(stated, now)
  const drops = replaced && replaced.leavingDate !== null && describeProposal(replaced)
  const details = { reason, waits: true, ...(drops && { drops }) }
  await recordAuditEntry(tx, { act: 'departure.withdrawn', ...person, by, details, now })
  const { leavingDate } = stated
  return { identityId: person.identityId, leavingDate, applies: true, waits: true, runId: null }
}

async function withdraw(tx: Db, stated: StatedDeparture, at: WithdrawalAt): Promise<StatementResult> {
  const { person, withdrawal, now } = at
  const { by, reason } = withdrawal
  const { connection, identityId } = person
  const proposal = openProposal(stated, now)
  await dropStatedDeparture(tx, person)
  const first = proposal?.leavingDate === null && { withdrawnBy: proposal.by }
  await recordAuditEntry(tx, { act: 'departure.withdrawn', ...person, by, details: { reason, ...first }, now })
  const outdated = `the departure of 1 person in it is no longer stated, by ${by}`
  await markPlansOutdated(tx, { connection, identityIds: [identityId], reason: outdated })
  const run = { connection, feed: 'roster', trigger: 'operator', options: {}, now } as const
  const requestedBy = [{ by, principal: withdrawal.principal }]
  const runId = (await makePersonDue(tx, { ...person, now })) ? await addWaitingRun(tx, { ...run, requestedBy }) : null
  return { identityId, leavingDate: null, applies: false, waits: false, runId }
}
