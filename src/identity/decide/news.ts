import { isLeaver } from '../employment.ts'
import { type Move, type News, type NewsKind, noNews } from '../guards/facts.ts'
import { isAnotherPerson } from '../key-change-candidates.ts'
import { type FieldName, fieldsOf, type IdentityRecord, type RosterEntry } from '../record.ts'

/** `removes`: leavers are removed from the platform. */
type Rules = { readonly today: string; readonly removes: boolean }

/** What is new about a person, for the guards. Changes accepted by an earlier run are not judged again. */
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
  // A departure that an operator states stays, whoever has the key now.
  const isBack = entry.isByOperator || !isLeaver(desired, today)
  if (wasLeaver && isBack && isAnotherPerson(known, desired)) kinds.push('reusedKeys')
  if (leavesNow(known, desired, today)) kinds.push('leavers')
  else if (wasLeaver && (desired.separatedAt ?? null) === null) kinds.push('returns')
  // HR is expected to replace an inferred date, and that of an operator.
  else if (wasLeaver && !entry.inferred && !entry.isByOperator && moved('separatedAt')) kinds.push('redates')
  if (moved('email')) kinds.push('emailChanges')
  if (moved('isContractor')) kinds.push('contractorFlips')
  return kinds.length === 0 && moves.length === 0 ? noNews : { identityId, kinds, moves }
}

/** If leavers are removed, records have no names of people, and no leaver is sent. */
function kindsOfJoiner(desired: IdentityRecord, { today, removes }: Rules): NewsKind[] {
  if (removes) return ['joiners']
  if (isLeaver(desired, today)) return ['joiners', 'leavers', 'leftJoiners']
  return isUnnamed(desired) ? ['joiners', 'unnamedJoiners'] : ['joiners']
}

/** Whether a person lacks the address or the name by which the platform recognises people. */
function isUnnamed({ email, firstName, lastName }: IdentityRecord): boolean {
  const hasAddress = typeof email === 'string'
  const hasName = typeof firstName === 'string' || typeof lastName === 'string'
  if (!hasAddress && !hasName) return true
  // A field without a column is absent from the record. A blank cell is null.
  return email === null || (!hasName && (firstName === null || lastName === null))
}

/** The move of a field. A first value, such as that of a newly mapped field, is not a move. */
function moveOf(field: FieldName, known: IdentityRecord, desired: IdentityRecord): Move[] {
  const [from = null, to] = [known[field], desired[field]]
  return from === null || to === undefined || to === from ? [] : [{ field, from, to }]
}

/** Whether an employed person leaves. A future date was judged when it was first stated, so moving it or reaching it is not new. */
function leavesNow(known: IdentityRecord, desired: IdentityRecord, today: string): boolean {
  const [before = null, now = null] = [known.separatedAt, desired.separatedAt]
  if (now === null || now === before || isLeaver(known, today)) return false
  return before === null || isLeaver(desired, today)
}
