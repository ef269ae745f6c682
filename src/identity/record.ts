import type { CauseFault } from './causes.ts'

/** The fields of a person that the platform's HRIS connection knows, besides the key. Dates are UTC midnights: `2025-07-01T00:00:00.000Z`. */
export type IdentityFields = {
  email: string | null
  secondaryEmail: string | null
  firstName: string | null
  lastName: string | null
  jobTitle: string | null
  managerId: string | null
  managerName: string | null
  startedAt: string | null
  separatedAt: string | null
  isContractor: boolean | null
}

/**
 * A field of a custom record: its dotted path after a dot, as in `.laptop.returned`, so that it cannot be confused with a field that the
 * platform knows. Its value is a boolean, or a text in the form of the record's shape.
 */
export type OwnField = `.${string}`
/** Own fields by name. */
export type OwnFields<V> = { readonly [F in OwnField]: V }

/** One person in the form of the platform, normalised and valid. An absent field is not mapped and never sent. */
export type IdentityRecord = { readonly identityId: string } & Readonly<Partial<IdentityFields>> &
  OwnFields<string | boolean | null>

/** The fields that the platform knows, in the order in which they are shown. */
export const fieldNames = [
  'email',
  'secondaryEmail',
  'firstName',
  'lastName',
  'jobTitle',
  'managerId',
  'managerName',
  'startedAt',
  'separatedAt',
  'isContractor',
] as const satisfies readonly (keyof IdentityFields)[]

/** A field that the platform knows of every person. */
export type KnownField = (typeof fieldNames)[number]
/** A field of a record: one that the platform knows, or an own field. */
export type FieldName = KnownField | OwnField

/** A field with a time of its own. The time of employment is `employmentAsOf`. */
export type TimedField = Exclude<FieldName, 'separatedAt'>
const timedFields: readonly TimedField[] = fieldNames.filter((field) => field !== 'separatedAt')

const dotCode = '.'.charCodeAt(0)

/** Whether the name is that of an own field. */
export function isOwnField(name: string): name is OwnField {
  return name.charCodeAt(0) === dotCode
}

/** Whether the name is that of a field with a time of its own. */
export function isTimedField(name: string): name is TimedField {
  return isOwnField(name) || timedFields.some((field) => field === name)
}

/** The fields that any of these records may have: those that the platform knows, in order, and then own fields. */
export function fieldsOf(...records: readonly (object | null | undefined)[]): readonly FieldName[] {
  return withOwn(fieldNames, records)
}

/** The same without the leaving date. */
export function timedFieldsOf(...records: readonly (object | null | undefined)[]): readonly TimedField[] {
  return withOwn(timedFields, records)
}

function withOwn<F extends FieldName>(known: readonly F[], records: readonly (object | null | undefined)[]) {
  // Hardly any record has own fields.
  let own: Set<OwnField> | null = null
  for (const record of records) {
    for (const name in record) if (isOwnField(name)) own = (own ?? new Set()).add(name)
  }
  return own === null ? known : [...known, ...[...own].toSorted()]
}

/** The times (ISO instants) of fields that are older than the newest fact of their record. */
export type FieldTimes = { readonly [F in Exclude<KnownField, 'separatedAt'>]?: string } & OwnFields<string>

/** The origin of a fact: a row of a file (lines counted from 1, with the header), or an item of an event (counted from 1). */
export type Origin =
  | { readonly file: string; readonly line: number }
  | { readonly event: string; readonly line: number }

/** An event in the inbox, as a run reads it. */
export type StoredEvent = {
  /** The ID in the inbox. */
  readonly id: string
  /** The ID of the sender. */
  readonly eventId: string | null
  readonly body: Uint8Array
  readonly receivedAt: string
  /** When the sender signed it. */
  readonly signedAt: string | null
}

/** What a row of a delta can be about. */
export const actions = ['join', 'change', 'leave', 'retract'] as const
/** One of `actions`. */
export type Action = (typeof actions)[number]

/** The values in a row of the fields with a time of their own. */
export type ObservedFields = Readonly<Partial<Omit<IdentityFields, 'separatedAt'>>> & OwnFields<string | boolean | null>

/** What one usable row of a source states about a person, independent of what is already known. */
export type Observation = {
  readonly identityId: string
  /** The mapped fields. An absent field keeps its known value (a blank with `onBlank: keep`). Never contains `separatedAt`. */
  readonly fields: ObservedFields
  /**
   * The last day of employment as a calendar date (`YYYY-MM-DD`), already shifted for `means: firstDayGone`. null: the row states that
   * there is none. undefined: the row does not state one.
   */
  readonly leavingDate: string | null | undefined
  /** The row states the first day gone; left out if it states the last day of employment. */
  readonly isFirstDayGone?: true
  /** True if a status or an action states that the person has left, with or without a date. */
  readonly statesDeparture: boolean
  /** True if a status or an action states that the person is employed. */
  readonly statesEmployed: boolean
  /** True if a cell that could state a departure is unreadable or about a future day. Such a row brings nobody back. */
  readonly isUncertain: boolean
  /** True if the row has a cell for a leaving date or a status: a blank there means "employed". */
  readonly hasEmploymentCell: boolean
  /** What the row is about; left out if the source has no column for it. */
  readonly action?: Action
  /** The as-of time of the row (ISO instant), if it differs from that of the whole source. */
  readonly asOf?: string
  /** The IANA time zone of this person's dates, if the row names one. */
  readonly timeZone?: string
  /** The group of the person; null if the cell is blank, left out if the source has no such column. */
  readonly group?: string | null
  /** Which of the person's keys the row names: left out for the first one, and higher for each key that HR has issued since. */
  readonly keyOrder?: number
  /** The row with the greatest rank of a person applies (compared as text); left out if no column decides. */
  readonly rank?: string
  /** The day (`YYYY-MM-DD`) on which the row takes effect, if `rank` is a day or a moment. */
  readonly effectiveOn?: string
  /** Unreadable cells, whose fields keep their known values. Left out if there are none. */
  readonly badCells?: readonly Reject[]
  /** Why the row is too little for a person who is not known yet; left out if it is enough. */
  readonly tooLittleToJoin?: string
  readonly origin: Origin
}

/**
 * A row that cannot be used, or a cell that cannot. `identityId`: null if the key is unreadable. The reason contains no personal values.
 */
export type Reject = CauseFault & {
  /** The line of the file, or the item of the event; counted from 1. */
  readonly line: number
  /** The event of the row; left out for files. */
  readonly event?: string
  readonly column: string | null
  /**
   * The field of the cell; left out if it has no time of its own. `employment`: the row contradicts itself about employment, and the whole
   * row is used.
   */
  readonly field?: TimedField | 'employment'
  readonly reason: string
  readonly identityId: string | null
  /** True: only the field of the cell is lost. False: the whole row is lost. */
  readonly cellOnly: boolean
  /** True if the row states a departure, or has an unreadable cell that could state one. */
  readonly mayLeave: boolean
  /** When the row takes effect and its event is read again (ISO instant); left out if waiting does not help. */
  readonly retryAt?: string
  /** A digest that identifies this fault of this person in any line, and reveals nothing of the cell. */
  readonly fingerprint: string
  /** A value that is missing from its closed list; left out for every other fault. */
  readonly unlisted?: UnlistedValue
  /** The cell as HR wrote it, in the form of `storedCell`: a personal value. Left out if the fault is that of a row. */
  readonly cell?: string
}

/** The fields with a closed list of values. A person has to classify each value before it applies. */
export const listedFields = ['status', 'isContractor'] as const
/** One of `listedFields`. */
export type ListedField = (typeof listedFields)[number]

/** A value of a closed list in the spelling of the source, shortened if it is long. */
export type UnlistedValue = { readonly field: ListedField; readonly value: string }

/** A departure, stated by HR or inferred from absence, that an operator holds back. */
export type HeldDeparture = {
  readonly separatedAt: string
  readonly inferred: boolean
  /** The day (`YYYY-MM-DD`) on which it takes effect, and the IANA time zone in which that day begins. */
  readonly until: string
  readonly timeZone: string
}

/** The stored state of a person of a connection. */
export type RosterEntry = {
  readonly identityId: string
  /** The newest accepted record from HR; null for a person known only from the platform. */
  readonly desired: IdentityRecord | null
  /** The desired leaving date was inferred (absence, or a left status without a date). */
  readonly inferred: boolean
  /** A stated future leaving date (`YYYY-MM-DD`) that waits for its day under `future: defer`. */
  readonly deferredTo: string | null
  /** A stated leaving date (`YYYY-MM-DD`) that a later start has cleared. HR systems keep stating it, and it no longer applies. */
  readonly clearedDate: string | null
  /** The IANA time zone in which the deferred day begins: that of the row or of its source. null if no date waits. */
  readonly deferredZone: string | null
  /** The departure that an operator holds back. The desired record does not contain it. null if there is none. */
  readonly heldDeparture: HeldDeparture | null
  /** The day (`YYYY-MM-DD`) until which an operator holds departures of this person back; null if nobody does. */
  readonly heldBackUntil: string | null
  /** The last day (`YYYY-MM-DD`) of a departure that an operator states before HR does; null if none is stated. */
  readonly statedDeparture: string | null
  /** The desired leaving date is that of the operator. HR states employment, a later day, or (with `inferred`) a departure without a day. */
  readonly isByOperator: boolean
  /** The newest as-of time among the desired facts (ISO instant). */
  readonly asOf: string
  /**
   * When HR last stated whether the person is employed; null if it never did. Later than `asOf` only while other values of the person wait for
   * an approval.
   */
  readonly employmentAsOf: string | null
  /** The newest accepted export does not state whether the person is employed, so older facts still apply. */
  readonly exportIsSilent: boolean
  /** The times of fields that are older than `asOf`; null if there are none. */
  readonly fieldTimes: FieldTimes | null
  /** The number of consecutive accepted snapshots without this person. */
  readonly absences: number
  /**
   * The last record that the platform acknowledged; null before the first delivery and after a retraction. Read from the store, it is the same
   * object as `desired` unless they differ.
   */
  readonly confirmed: IdentityRecord | null
  /** Set while the person is withheld as data sent by mistake. */
  readonly retracted: { readonly reason: string; readonly at: string } | null
  /** The group that the source states. Left out: none is known. */
  readonly group?: string | null
  /** The values of the leaver were removed on request: only key and leaving date are stored until the person comes back. */
  readonly forgotten?: true
}
