import type { LeftOutPerson } from './left-out.ts'
import type { Person } from './person-shapes.ts'
import type { PersonAccount } from './plan-shapes.ts'
import type { StatedDeparture } from './stated-departures.ts'

/** How an interface shows the parts of a note that are not plain text, such as a key as a link. */
type NoteFormats<T> = {
  readonly day: (instant: string) => T
  readonly moment: (instant: string) => T
  readonly key: (key: string) => T
  readonly run: (runId: string) => T
  /** How somebody decides about a held run: with a command or on a page. */
  readonly decision: (runId: string) => (string | T)[]
}

/** What to know about a person beside the fields. Each note is a sentence without its full stop, in parts. */
export function personNotes<T>(person: Person, formats: NoteFormats<T>): (string | T)[][] {
  const { day, moment, key } = formats
  const { inferred, deferredTo, absences, retracted, confirmed, keys, heldBack, statedDeparture, forgotten } = person
  const notes: (string | T)[][] = []
  if (retracted) notes.push(['retracted on ', moment(retracted.at), `: ${retracted.reason}`])
  if (confirmed === null && !retracted) notes.push(['the platform has not acknowledged this person yet'])
  if (heldBack) notes.push(heldBackNote(heldBack, formats))
  if (statedDeparture) notes.push([statementNote(statedDeparture)])
  if (person.leftOut) notes.push(leftOutNote(person.leftOut, formats))
  if (keys.length > 0) {
    const named = keys.flatMap((one, index) => (index === 0 ? [key(one)] : [', ', key(one)]))
    notes.push([`HR now uses the ${keys.length === 1 ? 'key' : 'keys'} `, ...named, ' for this person'])
  }
  if (forgotten) notes.push(['forgotten: the stored values of this person were removed on request'])
  if (inferred && !statedDeparture?.isInferredByHr) notes.push(['the leaving date was inferred; no row states it'])
  if (deferredTo && !statedDeparture) notes.push(['leaves on ', day(deferredTo), '; the departure is sent on that day'])
  for (const { effectiveOn, leaves } of person.waiting)
    notes.push([`a row of HR ${leaves ? 'about a departure ' : ''}takes effect on `, day(effectiveOn)])
  for (const { column, reason, source, line } of person.blockedBy ?? [])
    notes.push([`${source}:${line}: ${column === null ? '' : `${column}: `}${reason}`])
  for (const { id, receivedAt, reason } of person.overtaken ?? [])
    notes.push([`event ${id}, received `, moment(receivedAt), `: ${reason}`])
  if (absences > 0) notes.push([`missing from the last ${absences === 1 ? 'export' : `${absences} exports`}`])
  return notes
}

function heldBackNote<T>(heldBack: NonNullable<Person['heldBack']>, { day }: NoteFormats<T>): (string | T)[] {
  const { until, leaving, by, reason } = heldBack
  const subject =
    leaving === null
      ? ['departures of this person are']
      : ['HR says that this person left on ', day(leaving.separatedAt), '; the departure is']
  return [...subject, ' held back until ', day(until), ` by ${by}: ${reason}`]
}

/** Without whom a part was approved, what waits since when, and how it is decided. */
function leftOutNote<T>(leftOut: NonNullable<Person['leftOut']>, formats: NoteFormats<T>): (string | T)[] {
  const { moment } = formats
  return [
    ...leftOutOf(leftOut, formats),
    `: ${waitingChange(leftOut)} for an approval since `,
    moment(leftOut.since),
    '; ',
    ...leftOutDecision(leftOut, formats),
  ]
}

type LeftOutFormats<T> = Pick<NoteFormats<T>, 'moment' | 'run'>

/** Of which run a person was left out, and who approved a part of it. */
export function leftOutOf<T>(
  { runId, approved }: Pick<LeftOutPerson, 'runId' | 'approved'>,
  { moment, run }: LeftOutFormats<T>,
): (string | T)[] {
  const start = ['left out of ', run(runId)]
  return approved === null ? start : [...start, ` (part approved by ${approved.by} on `, moment(approved.at), ')']
}

function waitingChange({ departs }: Pick<LeftOutPerson, 'departs'>): string {
  return departs ? 'a departure waits' : 'another change waits'
}

/** How somebody decides about the change that waits. */
export function leftOutDecision<T>(
  { held }: Pick<LeftOutPerson, 'held'>,
  { run, decision }: Pick<NoteFormats<T>, 'run' | 'decision'>,
): (string | T)[] {
  if (held === null) return ['nothing is to decide until HR states it again']
  if (held.isExpired) return [run(held.runId), ' has expired: the next run plans it again']
  return decision(held.runId)
}

/** Who states a departure, and what it waits for. */
export function statementNote(stated: Omit<StatedDeparture, 'identityId'>): string {
  const { leavingDate, by, reason, applies, isEmergency, isExpired, isAccepted, approvedBy, isLearned } = stated
  if (isLearned)
    return `left on ${leavingDate}, as only the platform showed after the restore: state the departure again if an operator had stated it, or withdraw it`
  const second =
    approvedBy !== null
      ? ` and ${approvedBy}`
      : applies
        ? isEmergency
          ? ' alone, as an emergency'
          : ''
        : isExpired
          ? ', who has to state it again, or another person'
          : ', waiting for a second person'
  const unsent = applies && !isAccepted ? ', not sent yet' : ''
  return `leaves on ${leavingDate}, stated by ${by}${second}${unsent}, ${statementOfHr(stated)}: ${reason}${proposalNote(stated)}`
}

function proposalNote({ proposal }: Pick<StatedDeparture, 'proposal'>): string {
  if (proposal === null) return ''
  const { by, leavingDate, reason } = proposal
  const change = leavingDate === null ? `${by} withdraws it` : `${by} states ${leavingDate} instead`
  return `; ${change} and waits for a second person: ${reason}`
}

/** Whether HR states a departure that an operator states. */
export function statementOfHr({
  leavingDateOfHr,
  isInferredByHr,
}: Pick<StatedDeparture, 'leavingDateOfHr' | 'isInferredByHr'>): string {
  if (leavingDateOfHr !== null) return `by HR on ${leavingDateOfHr}`
  return isInferredByHr ? 'by HR without a day' : 'not yet by HR'
}

/** What the platform is sent for each kind of change. */
export const requestTexts: Readonly<Record<NonNullable<PersonAccount['delivery']>['kind'], string>> = {
  join: 'create or update the person',
  update: 'create or update the person',
  leave: 'update the person',
  return: 'update the person',
  correct: 'clear the leaving date, then set the new one',
  retract: 'delete the data of the person',
}
