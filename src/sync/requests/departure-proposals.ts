import { Failure } from '../../errors.ts'
import type { Requester } from '../../store/schema.ts'
import type { DepartureProposal, StatedDeparture } from '../../store/stated-departures.ts'
import type { SyncConnection } from '../context/context.ts'
import { isSamePerson, whySamePerson } from './two-people.ts'

const hourMs = 60 * 60_000

/** What one person proposes about a stated departure, as long as a second one may state the same; null: nothing. */
export function openProposal({ proposal }: StatedDeparture, now: Date): DepartureProposal | null {
  return proposal !== null && proposal.until > now ? proposal : null
}

/** A leaving date that one person states, and that waits for a second person. */
type WaitingDay = Requester & { readonly leavingDate: string }

/** The day that a second person would approve by stating it; null: there is none. A proposed withdrawal is not included. */
export function findWaitingDay(stated: StatedDeparture, now: Date): WaitingDay | null {
  const proposal = stated.applies ? openProposal(stated, now) : null
  if (proposal !== null && proposal.leavingDate !== null) return { ...proposal, leavingDate: proposal.leavingDate }
  const isComplete = stated.applies && (!stated.isEmergency || stated.approvedBy !== null)
  return isComplete ? null : stated
}

type SecondDeclaration = Requester & {
  readonly identityId: string
  readonly on?: string
  readonly approves?: boolean
}

/** Refuses a second person who names no day, or another day than the one that waits, or who approves although nothing waits. */
export function requireSeenDay(waiting: WaitingDay | null, declaration: SecondDeclaration): void {
  const { identityId, on, approves = false } = declaration
  const waitingText = waiting && `the last day of ${identityId} is ${waiting.leavingDate}, as ${waiting.by} states`
  if (approves && (waiting === null || on !== waiting.leavingDate))
    throw new Failure(
      'conflict',
      `${waitingText ?? `no day of ${identityId} waits for a second person`}: that changed since you saw it, look again`,
    )
  if (waiting !== null && on === undefined && !isSamePerson(waiting, declaration))
    throw new Failure('conflict', `${waitingText}: name that day to state it too (--on ${waiting.leavingDate})`)
}

/** Until when a second person may state the same as the first. */
export function proposalEnd({ approvals }: SyncConnection, now: Date): Date {
  return new Date(now.getTime() + approvals.expireHours * hourMs)
}

/** A proposal, for the audit trail. */
export function describeProposal({ leavingDate, by }: DepartureProposal): string {
  return leavingDate === null ? `the withdrawal by ${by}` : `${leavingDate}, by ${by}`
}

/** Refuses the second person if it is the first one. `already`: what the first one did. */
export function refuseSamePerson(first: Requester, second: Requester, already: string): void {
  if (isSamePerson(first, second))
    throw new Failure(
      'conflict',
      `${already}${whySamePerson(first, second)}: "approvals.twoPeople" requires another person to do the same`,
    )
}
