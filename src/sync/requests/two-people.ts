import { machinePrincipal } from '../../contract/control/access.ts'
import { foldValue } from '../../identity/mapping/fold-value.ts'
import type { Requester } from '../../store/schema.ts'

/**
 * Whether the rule of two people takes two requesters for one person. Two people are two principals with two names. The account of this
 * machine is one principal, whatever names it states. Names are compared without case and blanks, so that a person who spells their name
 * differently is still recognized.
 */
export function isSamePerson(one: Requester, other: Requester): boolean {
  return one.principal === other.principal || isSameName(one, other)
}

/** Whether two requesters have one name. */
export function isSameName(one: Requester, other: Requester): boolean {
  return foldValue(one.by) === foldValue(other.by)
}

/** Explains why two different names are one person; empty if the names are the same. */
export function whySamePerson(one: Requester, other: Requester): string {
  if (isSameName(one, other)) return ''
  const why =
    other.principal === machinePrincipal ? 'the account of this machine states both names' : 'by their sign-in'
  return `, and ${other.by} is the same person (${why})`
}
