import type { Change } from '../change.ts'
import { isLeaver, storedEmployment } from '../employment.ts'
import { isBefore } from '../field-times.ts'
import type { Observation, RosterEntry } from '../record.ts'
import type { DesiredState, PersonInput, PlanContext } from './decide.ts'

/** A decision about one person and its input. */
export type ExplainedDecision = {
  /** The entry before the run; undefined for an unknown person. */
  readonly entry: RosterEntry | undefined
  readonly input: PersonInput
  readonly desiredState: DesiredState | null
  readonly change: Change | null
}

/** The reasons for a decision about one person, as sentences. They contain days of employment and no other value. */
export function explain(decided: ExplainedDecision, ctx: PlanContext): string[] {
  return [...evidenceOf(decided, ctx), ...heldBackOf(decided), ...statedOf(decided), outcomeOf(decided)]
}

function statedOf({ entry, desiredState }: ExplainedDecision): string[] {
  if (!entry?.statedDeparture || !(desiredState ?? entry).isByOperator) return []
  return [
    `an operator states that the person left on ${entry.statedDeparture}, and HR states no leaving date that is reached`,
  ]
}

function heldBackOf({ entry, desiredState }: ExplainedDecision): string[] {
  const heldDeparture = (desiredState ?? entry)?.heldDeparture ?? null
  return heldDeparture === null
    ? []
    : [`an operator holds the leaving of ${dayOf(heldDeparture.separatedAt)} back until ${heldDeparture.until}`]
}

function evidenceOf({ entry, input, desiredState }: ExplainedDecision, ctx: PlanContext): string[] {
  if (entry?.retracted) return [`the person is withheld: they were retracted on ${dayOf(entry.retracted.at)}`]
  if (input === 'untouched') return ['the row cannot be used: the person counts as present and unchanged']
  if (input === 'absent') return entry === undefined ? [] : absenceOf(entry, desiredState, ctx)
  return [...olderOf(entry, ctx), ...leavingOf(input, desiredState, ctx), ...returnOf(entry, input, desiredState, ctx)]
}

function absenceOf(entry: RosterEntry, state: DesiredState | null, ctx: PlanContext): string[] {
  const { mode, absence, graceRuns, asOf, exportDate, today } = ctx
  if (mode === 'delta') return ['the source has no row of the person, and is a delta: that says nothing']
  if (absence === 'ignore') return ['the source has no row of the person, and the connection says "absence: ignore"']
  const known = storedEmployment(entry)
  if (isLeaver(known, today)) {
    const day = known.separatedAt === null ? '' : ` on ${dayOf(known.separatedAt)}`
    return [`the source has no row of the person, who has left${day} as far as is known`]
  }
  if (entry.employmentAsOf !== null && isBefore(asOf, entry.employmentAsOf))
    return [
      `the source has no row of the person, but of ${asOf} it is older than what is known, of ${entry.employmentAsOf}`,
    ]
  const leaves = state?.inferred === true && !known.inferred
  if (leaves)
    return [
      `the source has no row of the person, which counts as leaving. No row states a day: it is that of the export, ${exportDate}`,
    ]
  const absences = entry.absences + 1
  return [
    `the source has no row of the person. That is absence ${absences} of the ${graceRuns} in a row that count as leaving`,
  ]
}

function olderOf(entry: RosterEntry | undefined, { asOf }: PlanContext): string[] {
  if (!entry || entry.desired === null || !isBefore(asOf, entry.asOf)) return []
  return [
    `the row is of ${asOf}, and newer facts of ${entry.asOf} are known: the row is used only for what they leave open`,
  ]
}

function leavingOf(
  { leavingDate, statesDeparture, statesEmployed, isUncertain, action }: Observation,
  state: DesiredState | null,
  ctx: PlanContext,
) {
  const { today, future, timeZone } = ctx
  const sentences: string[] = []
  if (action === 'retract') sentences.push('the row says that the person was sent in error')
  if (typeof leavingDate === 'string') {
    if (state?.clearedDate === leavingDate)
      sentences.push(`the leaving date ${leavingDate} no longer applies: a later start has cleared it`)
    else if (leavingDate <= today) sentences.push(`the row states the leaving date ${leavingDate}, which has come`)
    else if (future === 'send')
      sentences.push(`the row states the leaving date ${leavingDate}, which lies ahead and is sent at once`)
    else
      sentences.push(
        `the row states the leaving date ${leavingDate}, which lies ahead: it is sent when that day begins in ${timeZone}`,
      )
  }
  if (statesDeparture) sentences.push('the row says that the person has left')
  if (statesEmployed) sentences.push('the row says that the person is employed')
  if (isUncertain)
    sentences.push(
      'a cell that could say that the person has left cannot be read, or names a future day: such a row brings no one back',
    )
  if (sentences.length === 0) sentences.push('nothing in the row says that the person has left')
  return sentences
}

function returnOf(
  entry: RosterEntry | undefined,
  { statesDeparture, leavingDate }: Observation,
  state: DesiredState | null,
  { today }: PlanContext,
) {
  if (entry === undefined || statesDeparture || typeof leavingDate === 'string') return []
  const known = storedEmployment(entry)
  if (!isLeaver(known, today)) return []
  const isBack = state?.desired != null && (state.desired.separatedAt ?? null) === null
  return isBack
    ? ['the person had left, and the row brings them back']
    : [`the person has left on ${dayOf(known.separatedAt ?? '')}, and nothing in the row brings them back`]
}

function outcomeOf({ entry, change }: ExplainedDecision): string {
  if (change === null) {
    const isKnown = entry !== undefined && (entry.confirmed !== null || entry.desired !== null)
    return isKnown
      ? 'the platform has acknowledged all of this already: there is nothing to send'
      : 'too little is known of the person to send anything'
  }
  if (change.kind === 'retract') return 'the data of the person is to be deleted, which takes an approval'
  const fields = Object.keys(change.fields)
  const still = change.carried ? '; an earlier run accepted that, and the platform has not acknowledged it yet' : ''
  if (change.kind === 'join') return `the platform has not acknowledged the person yet: all fields are sent${still}`
  return `what the platform acknowledged differs in ${fields.join(', ')}${still}`
}

function dayOf(instant: string): string {
  return instant.slice(0, 'yyyy-mm-dd'.length)
}
