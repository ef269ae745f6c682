import { isLeaver } from '../employment.ts'
import { type Move, type News, type NewsKind, noNews } from '../guards/facts.ts'
import { type FieldName, fieldsOf, type IdentityRecord, type RosterEntry } from '../record.ts'
import { isAnotherPerson } from '../key-change-candidates.ts'

type Rules = { readonly today: string /** Who has left is taken off the platform. */; readonly removes: boolean }

/** What is new about a person against what was known before, for the guards: what a former run accepted is not judged again. */
export function newsOf(entry: RosterEntry, desired: IdentityRecord, rules: Rules): News {
  const { today } = rules
  const known = entry.desired ?? entry.confirmed
  const { identityId } = desired
  if (known === desired) return noNews
  if (known === null) return { identityId, kinds: kindsOfJoiner(desired, rules), moves: [] }
  const moves = fieldsOf(known, desired).flatMap((field) => moveOf(field, known, desired))
  const moved = (field: FieldName) => moves.some((move) => move.field === field)
  const wasLeaver = isLeaver(known, today)
  const kinds: NewsKind[] = []
  if (wasLeaver && !isLeaver(desired, today) && isAnotherPerson(known, desired)) kinds.push('reusedKeys')
  if (leavesNow(known, desired, today)) kinds.push('leavers')
  else if (wasLeaver && (desired.separatedAt ?? null) === null) kinds.push('returns')
  // A date that was inferred is there to be replaced.
  else if (wasLeaver && !entry.inferred && moved('separatedAt')) kinds.push('redates')
  if (moved('email')) kinds.push('emailChanges')
  if (moved('isContractor')) kinds.push('contractorFlips')
  return kinds.length === 0 && moves.length === 0 ? noNews : { identityId, kinds, moves }
}

/** Where leavers are removed, records have no people's names, and nothing is sent of those who have left. */
function kindsOfJoiner(desired: IdentityRecord, { today, removes }: Rules): NewsKind[] {
  if (removes) return ['joiners']
  if (isLeaver(desired, today)) return ['joiners', 'leavers', 'leftJoiners']
  return isUnnamed(desired) ? ['joiners', 'unnamedJoiners'] : ['joiners']
}

/** Whether a person lacks what the platform could know them by: everything, or what a column should hold. */
function isUnnamed({ email, firstName, lastName }: IdentityRecord): boolean {
  const hasAddress = typeof email === 'string'
  const hasName = typeof firstName === 'string' || typeof lastName === 'string'
  if (!hasAddress && !hasName) return true
  // A field without a column is left out of the record. One whose cell is blank is null.
  return email === null || (!hasName && (firstName === null || lastName === null))
}

/** A field that gets its first value, as each does that is newly mapped, loses nothing and moves nothing. */
function moveOf(field: FieldName, known: IdentityRecord, desired: IdentityRecord): Move[] {
  const [from = null, to] = [known[field], desired[field]]
  return from === null || to === undefined || to === from ? [] : [{ field, from, to }]
}

/** Whether a person leaves who has not; a date ahead that moves, and one that comes, was judged when it was first stated. */
function leavesNow(known: IdentityRecord, desired: IdentityRecord, today: string): boolean {
  const [before = null, now = null] = [known.separatedAt, desired.separatedAt]
  if (now === null || now === before || isLeaver(known, today)) return false
  return before === null || isLeaver(desired, today)
}
