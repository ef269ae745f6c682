import { fingerprint } from '../digest.ts'
import { startsAfterLeaving } from '../employment.ts'
import {
  type Action,
  actions,
  type FieldName,
  type IdentityRecord,
  isTimedField,
  type ListedField,
  listedFields,
  type Origin,
  type OwnField,
  type Reject,
  type ObservedFields,
  type Observation,
} from '../record.ts'
import type { ShapeFault } from '../shape/shape.ts'
import { type CellFault, type CellReader, isFault, type CellValue } from './cells.ts'
import type { ActionValues, OnBadCell, StatusMeans } from './field-rules.ts'
import { foldValue } from './fold-value.ts'
import type { BoundText, RowValues } from './text-of.ts'

/** A row as a connector delivers it; its cells stand in the order of the header. */
export type MappableRow = {
  /** undefined: the row does not speak of this column. */
  readonly values: RowValues
  readonly origin: Origin
  readonly asOf?: string
  /** Set where the row takes effect later than it was stated, or where that time cannot be read. Instants are ISO. */
  readonly timing?: { readonly statedAt: string; readonly effectiveAt: string | null; readonly reason: string | null }
  readonly fault?: { readonly column: number | null; readonly reason: string }
}

/** A mapped place in the rows of one source, with what reads its text. */
export type Cell<N extends string, V> = BoundText & {
  readonly name: N
  /** The first of the columns that the text is made of. */
  readonly index: number
  readonly read: CellReader<V>
}

/** The places of one source that rows are read from; undefined where a field is not mapped. */
type RowCells = {
  readonly key: Cell<'identityId', string>
  readonly texts: readonly Cell<Exclude<FieldName, 'separatedAt' | 'isContractor' | OwnField>, string>[]
  readonly own: readonly Cell<OwnField, string | boolean>[]
  readonly contractor: Cell<'isContractor', boolean> | undefined
  readonly leaving: Cell<'separatedAt', string> | undefined
  readonly status: Cell<'status', boolean> | undefined
  readonly action: Cell<'action', Action> | undefined
  readonly rank: Cell<'severalRows', string> | undefined
  readonly zone: Cell<'rowTimeZone', string> | undefined
}

/** True for what is told about a row that could not become a observation. */
export function isReject(told: Observation | Reject): told is Reject {
  return 'reason' in told
}

/** Tells rows apart whose action is one to pass over. */
export function ignoring(
  action: Cell<'action', Action> | undefined,
  values: ActionValues | undefined,
): (row: MappableRow) => boolean {
  const ignored = new Set(values?.ignore?.map(foldValue))
  if (action === undefined || ignored.size === 0) return () => false
  const meant = new Set(actions.flatMap((name) => values?.[name] ?? []).map(foldValue))
  return ({ values: cells, fault }) => {
    if (fault?.column === null || (fault && isPartOf(fault, action))) return false
    const text = action.textOf === null ? cells[action.index] : action.textOf(cells)
    const value = text === undefined ? '' : foldValue(text)
    return value !== '' && (ignored.has(value) || (ignored.has('*') && !meant.has(value)))
  }
}

/** Tells whether rows are in scope, by what their expression gives at this place; a row for which it gives neither is rejected. */
export function scoping(
  index: number | null,
): (row: MappableRow, told: Pick<Observation | Reject, 'identityId'>) => boolean | Reject {
  if (index === null) return () => true
  const cell: Cell<'scope', boolean> = {
    ...{ name: 'scope', index, indexes: [index], header: 'the expression of scope', textOf: null },
    read: (text) => (text === 'true' || text === 'false' ? text === 'true' : neither),
  }
  return (row, { identityId }) => {
    // What cannot be read at all is no one's to leave out.
    if (row.fault?.column === null) return true
    const told = tell(row, cell, 'UTC') ?? neither
    return isFault(told) ? rejectedRow(row, cell, told, { identityId, mayLeave: false }) : told
  }
}

const neither: CellFault = { reason: 'the expression gives neither true nor false' }

/** How rows of one source are read. */
type RowRules = {
  /** The source's IANA time zone, for rows that name none. */
  readonly timeZone: string
  /** What a cell costs that cannot be read: its field, or its row. */
  readonly onBadCell: OnBadCell
  /** The leaving date is stated as the first day gone. */
  readonly isFirstDayGone?: boolean
  /** When a status that says "left" counts: at once, or on the leaving date of its row. */
  readonly statusMeans: StatusMeans
  /** What a record of its own shape violates. */
  readonly faultOf?: (record: IdentityRecord, isPartial: boolean) => ShapeFault | null
}

/** Turns rows into observations. A row is rejected whole only where its key, or what it is about, cannot be read. */
export function rowMapper(cells: RowCells, rules: RowRules): (row: MappableRow) => Observation | Reject {
  const { key, texts, own, contractor, leaving, status, action, rank, zone } = cells
  const { timeZone } = rules
  const means = rules.isFirstDayGone ? { isFirstDayGone: true as const } : {}
  const unusable = (
    row: MappableRow,
    cell: Cell<string, unknown> | undefined,
    fault: CellFault,
    identityId: string | null,
  ) => rejectedRow(row, cell, fault, { identityId, mayLeave: mayBeLeaver(row, cells, timeZone) })

  return (row) => {
    const { origin, fault } = row
    if (fault?.column === null) return rejectedRow(row, null, fault, { identityId: null, mayLeave: false })
    const identityId = tell(row, key, timeZone)
    if (typeof identityId !== 'string') return unusable(row, key, identityId ?? blankKey, null)

    const about = action && (tell(row, action, timeZone) ?? noAction)
    if (isFault(about)) return unusable(row, action, about, identityId)
    const order = rank && (tell(row, rank, timeZone) ?? noRank)
    if (isFault(order)) return unusable(row, rank, order, identityId)
    if (about === 'retract') return retraction(row, identityId, order)

    const badCells: Reject[] = []
    let tooLittleToJoin: string | undefined
    const read = <V extends string | boolean>(
      cell: Cell<string, V> | undefined,
      ofZone: string,
    ): V | null | undefined => {
      if (cell === undefined) return undefined
      const told = tell(row, cell, ofZone)
      if (!isFault(told)) return told
      badCells.push(rejected(row, cell, told, { identityId, cellOnly: true, mayLeave: employmentCells.has(cell.name) }))
      if (told.required) tooLittleToJoin ??= `${cell.header}: ${told.reason}`
      return undefined
    }

    const named = read(zone, timeZone)
    const rowZone = named ?? timeZone
    const fields: { -readonly [K in keyof ObservedFields]: ObservedFields[K] } = {}
    for (const cell of texts) {
      const told = read(cell, rowZone)
      if (told !== undefined) fields[cell.name] = told
    }
    for (const cell of own) {
      const told = read(cell, rowZone)
      if (told !== undefined) fields[cell.name] = told
    }
    const isContractor = read(contractor, rowZone)
    if (isContractor !== undefined) fields.isContractor = isContractor
    const stated = read(leaving, rowZone)
    // HR systems keep the old leaving date of a person who was hired again; a row about that says that it is over.
    const leavingDate =
      about === 'join' && startsAfterLeaving({ leavingDate: stated, ...means, fields }) ? null : stated
    const gone = read(status, rowZone)

    const leavesOnDate = about === 'leave' && typeof leavingDate === 'string'
    const isSaidAhead = rules.statusMeans === 'onDate' && gone === true && leaving !== undefined && leavingDate !== null
    const statesDeparture = (about === 'leave' && !leavesOnDate) || (gone === true && !isSaidAhead)
    const [first] = badCells
    if (first !== undefined && rules.onBadCell === 'rejectRow') {
      const mayLeave = statesDeparture || typeof leavingDate === 'string' || badCells.some((bad) => bad.mayLeave)
      return { ...first, cellOnly: false, mayLeave }
    }
    // A cell that keeps what is known leaves the record a part, which is judged as a whole before it is sent.
    const isPartial = badCells.length > 0 || own.some(({ name }) => fields[name] === undefined)
    const violated = statesDeparture ? null : (rules.faultOf?.({ identityId, ...fields }, isPartial) ?? null)
    if (violated !== null) {
      const cell = own.find(({ name }) => name === violated.field)
      const leaves = typeof leavingDate === 'string'
      if (!leaves || rules.onBadCell === 'rejectRow') {
        const mayLeave = leaves || badCells.some((bad) => bad.mayLeave)
        return rejected(row, cell, violated, { identityId, cellOnly: false, mayLeave })
      }
      // The leaving date counts all the same. What is known of the record stays as it was.
      badCells.push(rejected(row, cell, violated, { identityId, cellOnly: true, mayLeave: false }))
      tooLittleToJoin ??= violated.reason
      for (const { name } of own) delete fields[name]
    }
    const statesEmployed = about === 'join' || (about === undefined && gone === false)
    const observation = {
      identityId,
      fields,
      leavingDate,
      ...(typeof leavingDate === 'string' && means),
      statesDeparture,
      statesEmployed,
      isUncertain:
        about !== 'join' &&
        !statesDeparture &&
        (leavesOnDate || isSaidAhead || badCells.some(({ mayLeave }) => mayLeave)),
      hasEmploymentCell: saysEmployment(about, { stated: leavingDate, gone }),
      origin,
      ...(badCells.length > 0 && { badCells }),
      ...(tooLittleToJoin !== undefined && { tooLittleToJoin }),
    }
    return row.asOf === undefined && about === undefined && order === undefined && zone === undefined
      ? observation
      : { ...observation, ...extras(row, { about, order, named }) }
  }
}

const employmentCells: ReadonlySet<string> = new Set(['separatedAt', 'status'])
const blankKey: CellFault = { reason: 'the cell is blank' }
const noAction: CellFault = { reason: 'the row does not say what it is about' }
const noRank: CellFault = { reason: 'the row does not say how it stands to other rows of the person' }

/** What a cell says, or why it cannot be used: what the connector says of it goes before its text. */
function tell<V extends string | boolean>(
  { values, fault }: MappableRow,
  cell: Cell<string, V>,
  timeZone: string,
): CellValue<V> {
  if (fault && isPartOf(fault, cell)) return fault
  const text = textIn(cell, values)
  return text === undefined ? undefined : cell.read(text, timeZone)
}

/** The text of a mapped place in a row; undefined where the row does not speak of it. */
export function textIn({ index, textOf }: Cell<string, unknown>, values: RowValues): string | undefined {
  return textOf === null ? values[index] : textOf(values)
}

function isPartOf({ column }: NonNullable<MappableRow['fault']>, { indexes }: BoundText): boolean {
  return column !== null && indexes.includes(column)
}

// A person who was sent in error need not be described: the key is all that counts.
function retraction(row: MappableRow, identityId: string, order: string | undefined): Observation {
  const nothing = {
    fields: {},
    leavingDate: undefined,
    statesDeparture: false,
    statesEmployed: false,
    isUncertain: false,
    hasEmploymentCell: false,
  }
  return { identityId, ...nothing, origin: row.origin, ...extras(row, { about: 'retract', order }) }
}

type Extras = {
  readonly about?: Action
  readonly order?: string
  readonly named?: string | null
}

function extras({ asOf }: MappableRow, { about, order, named }: Extras): Partial<Observation> {
  return {
    ...(about !== undefined && { action: about }),
    ...(asOf !== undefined && { asOf }),
    ...(typeof named === 'string' && { timeZone: named }),
    ...(order !== undefined && { rank: order }),
  }
}

// A change of a record brings no one back, though it holds a blank date or the status of an employed person: that takes a join.
function saysEmployment(
  about: Action | undefined,
  { stated, gone }: { stated: string | null | undefined; gone: boolean | null | undefined },
): boolean {
  if (about === 'change') return typeof stated === 'string' || gone === true
  return about !== undefined || stated !== undefined || gone !== undefined
}

/** Whether a row that is rejected speaks of leaving, or holds a cell that could and cannot be read. */
function mayBeLeaver(row: MappableRow, { action, status, leaving }: RowCells, timeZone: string): boolean {
  if (action && tell(row, action, timeZone) === 'leave') return true
  const gone = status && tell(row, status, timeZone)
  const date = leaving && tell(row, leaving, timeZone)
  return gone === true || typeof date === 'string' || isFault(gone) || isFault(date)
}

/** Rejects a whole row for what is wrong with a cell, or with the row itself (`cell` null). */
export function rejectedRow(
  row: MappableRow,
  cell: Cell<string, unknown> | null | undefined,
  fault: CellFault,
  about: Pick<Reject, 'identityId' | 'mayLeave'>,
): Reject {
  return rejected(row, cell, fault, { ...about, cellOnly: false })
}

function rejected(
  { origin, values }: MappableRow,
  cell: Cell<string, unknown> | null | undefined,
  { reason, knownAs = reason, unlisted }: CellFault,
  about: Pick<Reject, 'identityId' | 'cellOnly' | 'mayLeave'>,
): Reject {
  const event = 'event' in origin ? { event: origin.event } : {}
  const column = cell?.header ?? null
  const field = cell && isTimedField(cell.name) ? cell.name : undefined
  const said = about.identityId === null || !cell ? values : [about.identityId, textIn(cell, values)]
  return {
    line: origin.line,
    ...event,
    column,
    ...(field !== undefined && { field }),
    reason,
    ...about,
    fingerprint: fingerprint(column, knownAs, said),
    ...(unlisted !== undefined && isListed(cell) && { unlisted: { field: cell.name, value: unlisted } }),
  }
}

function isListed(cell: Cell<string, unknown> | null | undefined): cell is Cell<ListedField, unknown> {
  return listedFields.some((field) => field === cell?.name)
}
