import { type FieldTimes, type Observation, type RosterEntry, type TimedField, timedFieldsOf } from './record.ts'

/** The as-of time of facts (ISO instant), and whether they state every field (`snapshot`) or only the fields that they contain. */
type Source = { readonly mode: 'snapshot' | 'delta'; readonly asOf: string }

type Fields = Observation['fields']
type KnownFacts = Pick<RosterEntry, 'desired' | 'asOf' | 'fieldTimes'>

/** The fields of a row without newer known values. */
export function newerFields(
  { desired, asOf, fieldTimes }: KnownFacts,
  fields: Fields,
  { asOf: ownAsOf }: Source,
): Fields {
  if (desired === null || !isBefore(ownAsOf, asOf)) return fields
  const isNewer = (field: TimedField) => desired[field] === undefined || !isBefore(ownAsOf, fieldTimes?.[field] ?? asOf)
  return Object.fromEntries(Object.entries(fields).filter(([field]) => isNewer(field as TimedField)))
}

/** The times of the record and its fields after a row, or an absence, from which these fields were taken. */
export function timesAfter(
  { desired, asOf: known, fieldTimes }: KnownFacts,
  taken: Fields,
  { mode, asOf: ownAsOf }: Source,
): Pick<RosterEntry, 'asOf' | 'fieldTimes'> {
  if (desired === null) return { asOf: ownAsOf, fieldTimes: null }
  const asOf = later(known, ownAsOf)
  if (mode === 'snapshot' && fieldTimes === null && asOf === ownAsOf) return { asOf, fieldTimes }

  const times: { -readonly [F in keyof FieldTimes]: FieldTimes[F] } = {}
  for (const field of timedFieldsOf(desired, taken)) {
    const [isKnown, isTaken] = [desired[field] !== undefined, taken[field] !== undefined]
    if (!isKnown && !isTaken) continue
    const before = isKnown ? (fieldTimes?.[field] ?? known) : ownAsOf
    const time = isTaken || mode === 'snapshot' ? later(before, ownAsOf) : before
    if (isBefore(time, asOf)) times[field] = time
  }
  return { asOf, fieldTimes: Object.keys(times).length === 0 ? null : times }
}

/** The times after an accepted snapshot that states every field: none is older than the snapshot. */
export function timesSpokenOf(
  { asOf: known, fieldTimes }: Pick<KnownFacts, 'asOf' | 'fieldTimes'>,
  spoken: string | null,
): Pick<RosterEntry, 'asOf' | 'fieldTimes'> {
  if (spoken === null) return { asOf: known, fieldTimes }
  const asOf = later(known, spoken)
  const raised = Object.entries(fieldTimes ?? {}).map(([field, time]) => [field, later(time, spoken)] as const)
  const older = raised.filter(([, time]) => isBefore(time, asOf))
  return { asOf, fieldTimes: older.length === 0 ? null : Object.fromEntries(older) }
}

/** Whether two records have the same time in every field. */
export function sameTimes(a: FieldTimes | null, b: FieldTimes | null): boolean {
  return a === b || timedFieldsOf(a, b).every((field) => a?.[field] === b?.[field])
}

/** The format of our own times. Texts in it sort like their times. Parsing them would take a third of each decision. */
const ownForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Whether an ISO instant is before another. */
export function isBefore(a: string, b: string): boolean {
  if (a === b) return false
  return ownForm.test(a) && ownForm.test(b) ? a < b : Temporal.Instant.compare(a, b) < 0
}

function later(a: string, b: string): string {
  return isBefore(a, b) ? b : a
}
