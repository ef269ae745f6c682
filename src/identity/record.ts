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
 * A field of a record of one's own shape: its dotted path behind a dot, as in `.laptop.returned`, so that none is taken for a field that
 * the platform knows. Its value is a text, as the record's shape writes it, or a boolean.
 */
export type OwnField = `.${string}`
/** Own fields by name. */
export type OwnFields<V> = { readonly [F in OwnField]: V }

/** One person as the platform wants it, normalised and valid. A field that is absent is not mapped and is never sent. */
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

/** A field with a time of its own. That of employment is `employmentAsOf`. */
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

/** The fields that any of these may hold: those that the platform knows, in their order, and then their own. */
export function fieldsOf(...records: readonly (object | null | undefined)[]): readonly FieldName[] {
  return withOwn(fieldNames, records)
}

/** The same without the leaving date. */
export function timedFieldsOf(...records: readonly (object | null | undefined)[]): readonly TimedField[] {
  return withOwn(timedFields, records)
}

function withOwn<F extends FieldName>(known: readonly F[], records: readonly (object | null | undefined)[]) {
  // Nearly no record has any.
  let own: Set<OwnField> | null = null
  for (const record of records) {
    for (const name in record) if (isOwnField(name)) own = (own ?? new Set()).add(name)
  }
  return own === null ? known : [...known, ...[...own].toSorted()]
}

/** When fields were true, as far as that is before the newest fact of their record (ISO instants). */
export type FieldTimes = { readonly [F in Exclude<KnownField, 'separatedAt'>]?: string } & OwnFields<string>

/** Where a fact came from: a row of a file (line counted from 1, the header included), or one of the items that an event holds (from 1). */
export type Origin =
  | { readonly file: string; readonly line: number }
  | { readonly event: string; readonly line: number }

/** An event as the inbox keeps it and a run reads it. */
export type StoredEvent = {
  /** The inbox's own name for it. */
  readonly id: string
  /** The sender's. */
  readonly eventId: string | null
  readonly body: Uint8Array
  readonly receivedAt: string
  /** When the sender signed it. */
  readonly signedAt: string | null
}

/** What a row of a delta may say that it is about. */
export const actions = ['join', 'change', 'leave', 'retract'] as const
/** One of `actions`. */
export type Action = (typeof actions)[number]

/** What a row says of the fields with a time of their own. */
export type ObservedFields = Readonly<Partial<Omit<IdentityFields, 'separatedAt'>>> & OwnFields<string | boolean | null>

/** What one accepted source row says about a person, before what is known of that person is consulted. */
export type Observation = {
  readonly identityId: string
  /** Mapped fields; an absent key means: keep what is known (a blank with `onBlank: keep`). Never holds `separatedAt`. */
  readonly fields: ObservedFields
  /**
   * The last day of employment as a calendar date (`YYYY-MM-DD`), already shifted for `means: firstDayGone`. null: the row says that
   * there is none. undefined: the row says nothing of one.
   */
  readonly leavingDate: string | null | undefined
  /** The row states the day after as the first day gone; left out where it states the last day of employment. */
  readonly isFirstDayGone?: true
  /** True where a status, or an action, says that the person has left, with or without a date. */
  readonly statesDeparture: boolean
  /** True where a status, or an action, says that the person is employed. */
  readonly statesEmployed: boolean
  /** True where a cell that could say that the person has left cannot be read, or speaks of a day ahead. Such a row brings no one back. */
  readonly isUncertain: boolean
  /** True where the row holds the cell of a leaving date or of a status, so that a blank there means "employed". */
  readonly hasEmploymentCell: boolean
  /** What the row says that it is about; left out where the source has no column for it. */
  readonly action?: Action
  /** When the row was true (ISO instant), where it is known better than for the source as a whole. */
  readonly asOf?: string
  /** The IANA time zone of this person's dates, where the row names one. */
  readonly timeZone?: string
  /** Which of the person's keys the row names: left out for the first one, and higher for each that HR has issued since. */
  readonly keyOrder?: number
  /** Of several rows of a person the one with the greatest rank counts (compared as text); left out where no column decides. */
  readonly rank?: string
  /** The day (`YYYY-MM-DD`) on which the row takes effect, where `rank` is made of days. */
  readonly effectiveOn?: string
  /** Cells that could not be read: what is known of their fields stays. Left out where every cell could be read. */
  readonly badCells?: readonly Reject[]
  /** The reason why the row is too little for a person who is not known yet; left out where it is enough. */
  readonly tooLittleToJoin?: string
  readonly origin: Origin
}

/**
 * A source row that could not become a record, or a cell that cost a record one field. `identityId` where the key could be read; no
 * personal values in the reason.
 */
export type Reject = {
  /** Of the file, or of the event's items; counted from 1. */
  readonly line: number
  /** The event that the row came in; left out for files. */
  readonly event?: string
  readonly column: string | null
  /**
   * The field that the cell was to fill; left out where it is none of those with a time of their own. `employment`: nothing is lost, and
   * what the row says of employment contradicts itself.
   */
  readonly field?: TimedField | 'employment'
  readonly reason: string
  readonly identityId: string | null
  /** True: what is lost is the cell's field, and the rest of the row counts. False: the whole row is lost. */
  readonly cellOnly: boolean
  /** True where the row says that the person has left, or holds a cell that could say so and cannot be read. */
  readonly mayLeave: boolean
  /** When the row takes effect and its event is read again (ISO instant); left out where time alone helps nothing. */
  readonly retryAt?: string
  /** Tells this fault of this person from every other, in whatever line the row stands. A digest: it shows nothing of the cell. */
  readonly fingerprint: string
  /** A value of a closed list that the list lacks; left out for every other fault. */
  readonly unlisted?: UnlistedValue
}

/** The fields whose values are a closed list: each has to be classed by a person before it counts. */
export const listedFields = ['status', 'isContractor'] as const
/** One of `listedFields`. */
export type ListedField = (typeof listedFields)[number]

/** A value of a closed list as the source writes it, cut off where it is long. */
export type UnlistedValue = { readonly field: ListedField; readonly value: string }

/** A leaving that HR states, or that absence says, and that an operator holds back. */
export type HeldDeparture = {
  readonly separatedAt: string
  readonly inferred: boolean
  /** The day (`YYYY-MM-DD`) on which it counts, and the IANA time zone in which that day begins. */
  readonly until: string
  readonly timeZone: string
}

/** What is stored about a person of a connection. */
export type RosterEntry = {
  readonly identityId: string
  /** The newest accepted record from HR; null for a person known only from the platform. */
  readonly desired: IdentityRecord | null
  /** The desired leaving date was inferred (absence, or a left status without a date). */
  readonly inferred: boolean
  /** A stated leaving date (`YYYY-MM-DD`) that lies ahead and waits for its day under `future: defer`. */
  readonly deferredTo: string | null
  /** A stated leaving date (`YYYY-MM-DD`) that a later start has cleared. HR systems go on stating it, and it counts no more. */
  readonly clearedDate: string | null
  /** The IANA time zone in which that day begins: the row's own, else its source's. null where no date waits. */
  readonly deferredZone: string | null
  /** What an operator holds back: the desired record says nothing of it. null where nothing is held back. */
  readonly heldDeparture: HeldDeparture | null
  /** The day (`YYYY-MM-DD`) until which an operator holds leavings of this person back; null where none does. */
  readonly heldBackUntil: string | null
  /** When the newest of the desired facts was true (ISO instant). */
  readonly asOf: string
  /** When HR last said whether the person is employed, never later than `asOf`; null if it never has. */
  readonly employmentAsOf: string | null
  /** The newest accepted export does not say whether the person is employed, so that older facts still count. */
  readonly exportIsSilent: boolean
  /** The times of fields of which events since have not spoken; null where all are as of `asOf`. */
  readonly fieldTimes: FieldTimes | null
  /** Accepted snapshots in a row that did not hold this person. */
  readonly absences: number
  /** The last record that the platform acknowledged; null before the first delivery and after a retraction. */
  readonly confirmed: IdentityRecord | null
  /** Set while the person is withheld as data sent in error. */
  readonly retracted: { readonly reason: string; readonly at: string } | null
  /** A person had the values of someone who has left removed: only key and leaving date are kept until they come back. */
  readonly forgotten?: true
}
