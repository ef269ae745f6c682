import { Failure } from '../../errors.ts'
import type { Requester } from '../../store/schema.ts'
import type { DepartureProposal, StatedDeparture } from '../../store/stated-departures.ts'
import type { SyncConnection } from '../context/context.ts'
import { isSamePerson, whySamePerson } from './two-people.ts'

const hourMs = 60 * 60_000

/** What one person proposes about a stated departure, as long as a second one may do the same; null: nothing. */
export function openProposal({ proposal }: StatedDeparture, now: Date): DepartureProposal | null {
  return proposal !== null && proposal.until > now ? proposal : null
}

/** Until when a second person may do the same as the first. */
export function proposalEnd({ approvals }: SyncConnection, now: Date): Date {
  return new Date(now.getTime() + approvals.expireHours * hourMs)
}

/** A proposal, for the audit trail. */
export function textOfProposal({ leavingDate, by }: DepartureProposal): string {
  return leavingDate === null ? `the withdrawal by ${by}` : `${leavingDate}, by ${by}`
}

/** Refuses the second person if it is the first one. `already`: what the first one did. */
export function refuseSamePerson(first: Requester, second: Requester, already: string): void {
  if (isSamePerson(first, second))
    throw new Failure(
      'conflict',
      `${already}${whySamePerson(first, second)}: "approvals.twoPeople" wants another person to do the same`,
    )
}
