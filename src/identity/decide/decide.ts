import type { Change } from '../change.ts'
import { changeTo, sameRecord } from '../difference.ts'
import {
  applyHold,
  applyStated,
  datesEmployment,
  type Employment,
  type EmploymentRules,
  employmentAbsent,
  employmentObserved,
  employmentUntouched,
  isAboutEmployment,
  isLeaver,
  storedEmployment,
} from '../employment.ts'
import { isBefore, newerFields, sameTimes, timesAfter } from '../field-times.ts'
import { type News, noNews } from '../guards/facts.ts'
import {
  type FieldName,
  fieldsOf,
  type HeldDeparture,
  type IdentityRecord,
  type Observation,
  type RosterEntry,
} from '../record.ts'
import { newsOf } from './news.ts'

/** The source and the run of a decision. */
export type PlanContext = EmploymentRules & {
  /** When the run happens, an ISO instant. */
  readonly now: string
  /** The source's IANA time zone, for rows with a time but without a zone. */
  readonly timeZone: string
  /** The day in the time zone of the source, in which operators state days. Left out: `today`. */
  readonly sourceToday?: string
  /** What a person's absence from a snapshot means. `hold` plans like `separate`; a guard then holds the plan. */
  readonly absence: 'separate' | 'hold' | 'ignore'
  /** The as-of time of the plan's rows: they state HR's data at this ISO instant. */
  readonly asOf: string
  /** The as-of time of the newest accepted snapshot (ISO instant); left out if there is none, or if it does not matter. */
  readonly acceptedAsOf?: string | null
  /** Leavers are removed from the platform. */
  readonly removes?: boolean
  /** The fields that the source maps; desired values of other fields are dropped. Left out: every field is kept. */
  readonly mapped?: ReadonlySet<FieldName>
}

/**
 * The input about a person. `untouched`: no row that can be used. In an export the row is rejected or its key is repeated, so the person
 * is present; plans made without rows (of the roster, a revert or a separation) have no row of anybody.
 */
export type PersonInput = Observation | 'absent' | 'untouched'

/** The part of a roster entry that follows HR. */
export type DesiredState = Pick<
  RosterEntry,
  | 'desired'
  | 'inferred'
  | 'deferredTo'
  | 'deferredZone'
  | 'clearedDate'
  | 'heldDeparture'
  | 'isByOperator'
  | 'asOf'
  | 'employmentAsOf'
  | 'exportIsSilent'
  | 'fieldTimes'
  | 'absences'
  | 'group'
>

/** What follows for one person. */
export type Decision = {
  /** The entry's new desired state; null if nothing needs storing. `desired` is the same object as before if it is equal. */
  readonly entry: DesiredState | null
  readonly change: Change | null
  /** The snapshot lacks this person, who was employed until now. */
  readonly isAbsent: boolean
  /** What is new compared with the previous desired state, for the guards. Changes accepted by an earlier run are not judged again. */
  readonly news: News
  /** Rows that do not apply, or only in part, because newer facts are known; undefined if there are none. */
  readonly overtaken?: readonly Overtaken[]
}

/** A row, and the as-of time of the newer facts. `countsInPart`: the fields of the row other than employment apply. */
type Overtaken = { readonly observation: Observation; readonly knownAsOf: string; readonly countsInPart: boolean }

/** The state that follows for a person. `isAbsent`: the snapshot lacks the person, who was employed until now. */
type Learned = { readonly state: DesiredState; readonly isAbsent: boolean }

const nothing: Decision = { entry: null, change: null, isAbsent: false, news: noNews }

/**
 * Decides about one person. Facts that are older than the known ones, and the same facts again, change nothing. Employment and every
 * field have times of their own: an older fact still applies if no newer one is known about the same field.
 */
export function decide(entry: RosterEntry | undefined, input: PersonInput, ctx: PlanContext): Decision {
  if (typeof input !== 'string') return decideInOrder(entry, [input], ctx)
  return entry === undefined ? nothing : conclude(entry, nextState(entry, input, ctx), ctx)
}

/** What follows for one person from several observations, one after the other. */
export function decideInOrder(
  entry: RosterEntry | undefined,
  observations: readonly Observation[],
  ctx: PlanContext,
): Decision {
  const start = entry ?? unknownPerson(observations[0]?.identityId ?? '', ctx)
  let state: DesiredState = start
  let retracted: Observation | null = null
  const overtaken: Overtaken[] = []
  for (const observation of observations) {
    const own = contextOf(observation, ctx)
    const known = state === start ? start : { ...start, ...state }
    const old = overtakenBy(observation, known, own)
    if (old !== null) overtaken.push(old)
    if (observation.action === 'retract') {
      if (!isOlder(known, own)) retracted = observation
    } else {
      if (retracted !== null && !isOlder(known, own)) retracted = null
      state = { ...nextState(known, observation, own).state, ...groupOf(observation, state) }
    }
  }
  if (retracted !== null) return decideRetraction(entry, retracted)
  if (isUnknown(entry) && observations.every(({ tooLittleToJoin }) => tooLittleToJoin !== undefined)) return nothing
  const decision = conclude(start, { state, isAbsent: false }, ctx)
  return overtaken.length === 0 ? decision : { ...decision, overtaken }
}

/** The row, if newer facts replace all of it, or all that it states of employment; otherwise null. */
function overtakenBy(observation: Observation, known: RosterEntry, ctx: PlanContext): Overtaken | null {
  const speaks = isAboutEmployment(observation, ctx)
  const employmentAsOf = speaks && isOlderOfEmployment(known, ctx) ? known.employmentAsOf : null
  if (employmentAsOf === null && (speaks || !isOlder(known, ctx))) return null
  const hasNewerFields = Object.keys(newerFields(known, observation.fields, ctx)).length > 0
  if (employmentAsOf !== null) return { observation, knownAsOf: employmentAsOf, countsInPart: hasNewerFields }
  return hasNewerFields ? null : { observation, knownAsOf: known.asOf, countsInPart: false }
}

/** What follows for one person from a desired state that an operator asked for. */
export function decideState(entry: RosterEntry, state: DesiredState, ctx: PlanContext): Decision {
  return conclude(entry, { state, isAbsent: false }, ctx)
}

/** The change that deletes a person's data as sent by mistake. Only an explicit request leads here. */
export function retractChange(entry: Pick<RosterEntry, 'identityId'>, reason: string): Change {
  return { kind: 'retract', identityId: entry.identityId, reason, carried: false }
}

// Like every refused change, an approved retraction that the platform refused is sent again.
function undeliveredRetraction(entry: RosterEntry, { reason }: { readonly reason: string }): Change | null {
  return entry.confirmed === null ? null : { ...retractChange(entry, reason), carried: true }
}

function isUnknown(entry: RosterEntry | undefined): boolean {
  return entry === undefined || (entry.desired === null && entry.confirmed === null)
}

/** The entry of a person who is not known yet. */
export function unknownPerson(identityId: string, { asOf }: PlanContext): RosterEntry {
  return {
    identityId,
    desired: null,
    inferred: false,
    deferredTo: null,
    deferredZone: null,
    clearedDate: null,
    heldDeparture: null,
    heldBackUntil: null,
    statedDeparture: null,
    isByOperator: false,
    asOf,
    employmentAsOf: null,
    exportIsSilent: false,
    fieldTimes: null,
    absences: 0,
    confirmed: null,
    retracted: null,
  }
}

/** The context with the time and the zone of the row, if it has them. */
function contextOf({ asOf = '', timeZone }: Observation, ctx: PlanContext): PlanContext {
  if (asOf === '' && timeZone === undefined) return ctx
  const [zone, at] = [timeZone ?? ctx.timeZone, asOf || ctx.asOf]
  const exportDate = exportDateOf(zone, { asOf: at, now: ctx.now })
  const days = { exportDate, today: dateIn(zone, ctx.now), sourceToday: sourceTodayOf(ctx) }
  return { ...ctx, timeZone: zone, asOf: at, ...days }
}

/** The context in the zone of the row that stated a deferred day, in which that day begins. */
function inZoneOf({ deferredZone }: RosterEntry, ctx: PlanContext): PlanContext {
  if (deferredZone === null || deferredZone === ctx.timeZone) return ctx
  return { ...ctx, timeZone: deferredZone, today: dateIn(deferredZone, ctx.now), sourceToday: sourceTodayOf(ctx) }
}

function sourceTodayOf({ today, sourceToday = today }: PlanContext): string {
  return sourceToday
}

// A guard always holds a plan that deletes, until an operator approves it.
function decideRetraction(entry: RosterEntry | undefined, { origin }: Observation): Decision {
  if (entry === undefined || entry.retracted !== null) return nothing
  const reason =
    'file' in origin ? `the source says so: ${origin.file}, line ${origin.line}` : `event ${origin.event} says so`
  return {
    ...nothing,
    change: retractChange(entry, reason),
    news: { ...noNews, identityId: entry.identityId, kinds: ['retractions'] },
  }
}

function conclude(entry: RosterEntry, { state, isAbsent }: Learned, { today, removes = false }: PlanContext): Decision {
  const next = withGroup(entry, keepDesired(entry, keptForgotten(entry, state, today)))
  const stored = sameState(entry, next) ? null : next
  if (entry.retracted !== null)
    return { ...nothing, entry: stored, change: undeliveredRetraction(entry, entry.retracted) }
  if (next.desired === null) return { ...nothing, entry: stored }

  // A leaving date alone is too little to join.
  if (isKeptForgotten(entry, next, today) && entry.confirmed === null) return { ...nothing, entry: stored }
  const carried = next.desired === entry.desired
  const change = changeTo(next.desired, {
    confirmed: entry.confirmed,
    inferred: next.inferred,
    carried,
    removes,
    today,
    ...(!carried && { desiredBefore: entry.desired }),
  })
  return { entry: stored, change, isAbsent, news: newsOf(entry, next.desired, { today, removes }) }
}

/** The group that a row states, otherwise that of the rows before it. */
function groupOf({ group }: Observation, before: DesiredState): Pick<DesiredState, 'group'> {
  const stated = group === undefined ? before.group : group
  return stated === undefined ? {} : { group: stated }
}

/** The state with the known group, unless a row states another one. Of a forgotten leaver no group is kept. */
function withGroup(entry: RosterEntry, { group = entry.group ?? null, ...state }: DesiredState): DesiredState {
  return group === null || entry.forgotten ? state : { ...state, group }
}

/** Exports keep naming leavers. Only the leaving date of one whose values were removed is stored, until the person comes back. */
function keptForgotten(entry: RosterEntry, state: DesiredState, today: string): DesiredState {
  if (state.desired === null || !isKeptForgotten(entry, state, today)) return state
  const { identityId, separatedAt = null } = state.desired
  return { ...state, desired: { identityId, separatedAt }, fieldTimes: null }
}

function isKeptForgotten({ forgotten, retracted }: RosterEntry, { desired }: DesiredState, today: string): boolean {
  return forgotten === true && desired !== null && (retracted !== null || isLeaver(desired, today))
}

function nextState(entry: RosterEntry, input: PersonInput, ctx: PlanContext): Learned {
  const saysNothing =
    input === 'untouched' || (input === 'absent' && (ctx.mode === 'delta' || ctx.absence === 'ignore'))
  if (saysNothing) {
    const isPresent = input === 'untouched' && ctx.mode === 'snapshot' && !isOlderOfEmployment(entry, ctx)
    const state = untouchedState(entry, isPresent ? 0 : entry.absences, ctx)
    return { state: { ...state, exportIsSilent: isSilent(entry, true, ctx) }, isAbsent: false }
  }
  const isOld = isOlderOfEmployment(entry, ctx)
  if (input !== 'absent') {
    const silent = isSilent(entry, !datesEmployment(input, ctx), ctx)
    return { state: { ...observedState(entry, input, ctx, isOld), exportIsSilent: silent }, isAbsent: false }
  }
  return isOld ? { state: untouchedState(entry, entry.absences, ctx), isAbsent: false } : absentState(entry, ctx)
}

/** Whether the newest accepted export does not state the person's employment. Only a newer export changes that. */
function isSilent(entry: RosterEntry, saysNothing: boolean, ctx: PlanContext): boolean {
  const isNewest = ctx.mode === 'snapshot' && !isBefore(ctx.asOf, ctx.acceptedAsOf ?? ctx.asOf)
  return isNewest ? saysNothing : entry.exportIsSilent
}

function observedState(
  entry: RosterEntry,
  observation: Observation,
  ctx: PlanContext,
  isOldOfEmployment: boolean,
): DesiredState {
  const fields = newerFields(entry, observation.fields, ctx)
  const speaks = !isOldOfEmployment && isAboutEmployment(observation, ctx)
  // A new job title does not prove that a person who is absent from the exports is still employed.
  const absences = speaks ? 0 : entry.absences
  if (!speaks && isOlder(entry, ctx) && Object.keys(fields).length === 0) return untouchedState(entry, absences, ctx)

  const rules = speaks ? ctx : inZoneOf(entry, ctx)
  const before = storedEmployment(entry)
  const employment = speaks ? employmentObserved(before, observation, rules) : employmentUntouched(before, rules)
  const { effective, ...covers } = applyDecisions(employment, entry, rules)
  const known = onlyMapped(entry.desired ?? entry.confirmed, ctx.mapped)
  const desired = { ...known, ...fields, identityId: observation.identityId, separatedAt: effective.separatedAt }
  const employmentAsOf = speaks && datesEmployment(observation, ctx) ? ctx.asOf : entry.employmentAsOf
  const { exportIsSilent } = entry
  const times = { ...timesAfter(entry, fields, ctx), employmentAsOf, exportIsSilent, absences }
  return stateOf(desired, effective, { ...times, ...covers }, rules)
}

/** Applies what operators decided about the departure of a person to what HR states. */
function applyDecisions(ofHr: Employment, entry: RosterEntry, rules: PlanContext) {
  const { effective: held, heldDeparture } = applyHold(ofHr, entry, rules)
  return { heldDeparture, ...applyStated(held, entry, { today: rules.today, sourceToday: sourceTodayOf(rules) }) }
}

function untouchedState(entry: RosterEntry, absences: number, ctx: PlanContext): DesiredState {
  const rules = inZoneOf(entry, ctx)
  const employment = employmentUntouched(storedEmployment(entry), rules)
  const { effective, ...covers } = applyDecisions(employment, entry, rules)
  const desired = entry.desired && { ...entry.desired, separatedAt: effective.separatedAt }
  return stateOf(desired, effective, { ...entry, absences, ...covers }, rules)
}

function absentState(entry: RosterEntry, ofSource: PlanContext): Learned {
  const ctx = inZoneOf(entry, ofSource)
  const known = storedEmployment(entry)
  const record = onlyMapped(entry.desired ?? entry.confirmed, ctx.mapped)
  // An export cannot hold a person who was first mentioned after it was taken.
  const missed = record !== null && !isLeaver(known, ctx.today) && !isOlderThanAll(entry, ctx)
  // The same export read again is the same absence. It does not use up the grace.
  const { acceptedAsOf = null } = ctx
  const isCounted = entry.absences > 0 && acceptedAsOf !== null && !isBefore(acceptedAsOf, ctx.asOf)
  const counts = missed && !isCounted
  const absences = entry.absences + (counts ? 1 : 0)

  const employment = employmentAbsent(known, absences, ctx)
  const { effective, ...covers } = applyDecisions(employment, entry, ctx)
  const before = (entry.desired ?? entry.confirmed)?.separatedAt ?? null
  const desired =
    record !== null && effective.separatedAt !== before
      ? { ...record, separatedAt: effective.separatedAt }
      : entry.desired
  // An absence within the grace does not state employment.
  const speaks = isLeaver(employment, ctx.today)
  const times = speaks ? { ...timesAfter(entry, {}, ctx), employmentAsOf: ctx.asOf } : timesOf(entry)
  const exportIsSilent = isSilent(entry, !speaks, ctx)
  const state = stateOf(desired, effective, { ...times, exportIsSilent, absences, ...covers }, ctx)
  return { state, isAbsent: counts && !covers.isByOperator }
}

function timesOf({ asOf, employmentAsOf, fieldTimes }: RosterEntry) {
  return { asOf, employmentAsOf, fieldTimes }
}

function onlyMapped(known: IdentityRecord | null, mapped: ReadonlySet<FieldName> | undefined) {
  if (known === null || mapped === undefined) return known
  const kept: { -readonly [K in keyof IdentityRecord]: IdentityRecord[K] } = { ...known }
  for (const field of fieldsOf(known)) if (kept[field] !== undefined && !mapped.has(field)) delete kept[field]
  return kept
}

function stateOf(
  desired: IdentityRecord | null,
  { inferred, deferredTo, clearedDate }: Employment,
  {
    asOf,
    employmentAsOf,
    exportIsSilent,
    fieldTimes,
    absences,
    heldDeparture,
    isByOperator,
  }: Omit<DesiredState, 'desired' | 'inferred' | 'deferredTo' | 'deferredZone' | 'clearedDate'>,
  { timeZone }: PlanContext,
): DesiredState {
  const deferredZone = deferredTo === null ? null : timeZone
  const employed = { desired, inferred, deferredTo, deferredZone, clearedDate, heldDeparture, isByOperator }
  return { ...employed, asOf, employmentAsOf, exportIsSilent, fieldTimes, absences }
}

function keepDesired(entry: RosterEntry, state: DesiredState): DesiredState {
  const same = entry.desired !== null && state.desired !== null && sameRecord(entry.desired, state.desired)
  return same ? { ...state, desired: entry.desired } : state
}

function sameState(entry: RosterEntry, state: DesiredState): boolean {
  return (
    entry.desired === state.desired &&
    entry.inferred === state.inferred &&
    entry.deferredTo === state.deferredTo &&
    entry.clearedDate === state.clearedDate &&
    entry.deferredZone === state.deferredZone &&
    sameHeld(entry.heldDeparture, state.heldDeparture) &&
    entry.isByOperator === state.isByOperator &&
    entry.asOf === state.asOf &&
    entry.employmentAsOf === state.employmentAsOf &&
    entry.exportIsSilent === state.exportIsSilent &&
    sameTimes(entry.fieldTimes, state.fieldTimes) &&
    entry.absences === state.absences &&
    sameGroup(entry, state)
  )
}

/** Whether both have the same group. */
export function sameGroup(a: Pick<DesiredState, 'group'>, b: Pick<DesiredState, 'group'>): boolean {
  return (a.group ?? null) === (b.group ?? null)
}

/** Whether the same departure is held back until the same day. */
export function sameHeld(a: HeldDeparture | null, b: HeldDeparture | null): boolean {
  if (a === null || b === null) return a === b
  return (
    a.separatedAt === b.separatedAt && a.inferred === b.inferred && a.until === b.until && a.timeZone === b.timeZone
  )
}

function isOlder(entry: RosterEntry, { asOf }: PlanContext): boolean {
  return entry.desired !== null && isBefore(asOf, entry.asOf)
}

function isOlderOfEmployment({ desired, employmentAsOf }: RosterEntry, { asOf }: PlanContext): boolean {
  return desired !== null && employmentAsOf !== null && isBefore(asOf, employmentAsOf)
}

function isOlderThanAll(entry: RosterEntry, ctx: PlanContext): boolean {
  return entry.employmentAsOf === null && isOlder(entry, ctx)
}

/**
 * The calendar date of the as-of time. A clock that was ahead may have dated the facts later than now: then today's date, because nobody
 * has left on a day that is still to come.
 */
function exportDateOf(timeZone: string, { asOf, now }: Pick<PlanContext, 'asOf' | 'now'>): string {
  return dateIn(timeZone, isBefore(now, asOf) ? now : asOf)
}

/** The calendar date (`YYYY-MM-DD`) that an instant falls on in a time zone. */
export function dateIn(timeZone: string, instant: string): string {
  return Temporal.Instant.from(instant).toZonedDateTimeISO(timeZone).toPlainDate().toString()
}
