import { storedCell } from '../causes.ts'
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
  type Observation,
  type ObservedFields,
  type Origin,
  type OwnField,
  type Reject,
} from '../record.ts'
import type { ShapeFault } from '../shape/shape.ts'
import { type CellFault, type CellReader, type CellValue, isFault } from './cells.ts'
import type { ActionValues, OnBadCell, StatusMeans } from './field-rules.ts'
import { foldValue } from './fold-value.ts'
import { isColumnOfDetail, type MissingDetail, mayNameDetail } from './missing-details.ts'
import type { BoundText, RowValues } from './text-of.ts'

/** A row as a connector delivers it; its cells stand in the order of the header. */
export type MappableRow = {
  /** undefined: the row does not state this column. */
  readonly values: RowValues
  readonly origin: Origin
  readonly asOf?: string
  /** Set if the row takes effect later than it was stated, or if that time cannot be read. Instants are ISO. */
  readonly timing?: { readonly statedAt: string; readonly effectiveAt: string | null; readonly reason: string | null }
  readonly fault?: { readonly column: number | null; readonly reason: string }
  /** Cells that cannot be used, each with its reason. */
  readonly cellFaults?: readonly { readonly column: number; readonly reason: string }[]
  /** Parts of the record that could not be read. */
  readonly missingDetails?: readonly MissingDetail[]
}

/** A mapped cell in the rows of one source, with its reader. */
export type Cell<N extends string, V> = BoundText & {
  readonly name: N
  /** The first column that the text is made of. */
  readonly index: number
  /** The columns of the source that it is made of. */
  readonly columns: readonly string[]
  /** The names in its rule that match no column. */
  readonly unmatchedNames: readonly string[]
  /** Set if no row of the source states it. It is bound for rows that lack the detail to which it belongs. */
  readonly isUnstated?: true
  readonly read: CellReader<V>
}

/** The mapped cells of one source; undefined for a field that is not mapped. */
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

/** Whether a mapped row is a reject. */
export function isReject(mapped: Observation | Reject): mapped is Reject {
  return 'reason' in mapped
}

/** Returns a function that reads the key of a row and nothing else; null if the row states none that can be used. */
export function keyOfRow(key: Cell<'identityId', string>, timeZone: string): (row: MappableRow) => string | null {
  return (row) => {
    const value = row.fault?.column === null ? undefined : readCell(row, key, timeZone)
    return typeof value === 'string' ? value : null
  }
}

/** Returns a function that recognises rows whose action is ignored. */
export function ignoredRows(
  action: Cell<'action', Action> | undefined,
  values: ActionValues | undefined,
): (row: MappableRow) => boolean {
  const ignored = new Set(values?.ignore?.map(foldValue))
  if (action === undefined || ignored.size === 0) return () => false
  const meant = new Set(actions.flatMap((name) => values?.[name] ?? []).map(foldValue))
  return ({ values: cells, fault, cellFaults }) => {
    if (fault?.column === null || (fault && isPartOf(fault, action))) return false
    if (cellFaults?.some((broken) => isPartOf(broken, action))) return false
    const text = action.textOf === null ? cells[action.index] : action.textOf(cells)
    const value = text === undefined ? '' : foldValue(text)
    return value !== '' && (ignored.has(value) || (ignored.has('*') && !meant.has(value)))
  }
}

/** Returns a function that decides whether rows are in scope, by the result of the expression at `index`. Rejects a row whose result is neither true nor false. */
export function rowScope(
  index: number | null,
): (row: MappableRow, mapped: Pick<Observation | Reject, 'identityId'>) => boolean | Reject {
  if (index === null) return () => true
  const cell: Cell<'scope', boolean> = {
    ...{
      name: 'scope',
      index,
      indexes: [index],
      columns: [],
      unmatchedNames: [],
      header: 'the expression of scope',
      textOf: null,
    },
    read: (text) => (text === 'true' || text === 'false' ? text === 'true' : neither),
  }
  return (row, { identityId }) => {
    // A row that cannot be read at all stays in scope.
    if (row.fault?.column === null) return true
    const value = readCell(row, cell, 'UTC') ?? neither
    return isFault(value) ? rejectedRow(row, cell, value, { identityId, mayLeave: false }) : value
  }
}

const neither: CellFault = { reason: 'the expression gives neither true nor false', cause: 'scope' }

/** How the rows of one source are read. */
type RowRules = {
  /** The source's IANA time zone, for rows that name none. */
  readonly timeZone: string
  /** What an unreadable cell costs: its field, or its row. */
  readonly onBadCell: OnBadCell
  /** The source states the first day gone in place of the last day of employment. */
  readonly isFirstDayGone?: boolean
  /** When a status that says "left" takes effect: at once, or on the leaving date of its row. */
  readonly statusMeans: StatusMeans
  /** What a record of its own shape violates. */
  readonly faultOf?: (record: IdentityRecord, isPartial: boolean) => ShapeFault | null
}

/**
 * Turns rows into observations. A whole row is rejected only if its key, its action, its rank or the row itself cannot be read, if its record
 * violates its shape and states no leaving date, or by `onBadCell`.
 */
export function rowMapper(cells: RowCells, rules: RowRules): (row: MappableRow) => Observation | Reject {
  return (row) => {
    const subject = readSubject(row, cells, rules.timeZone)
    if ('reason' in subject) return subject
    if (subject.action === 'retract') return retraction(row, subject)
    const content = readContent(row, subject, cells, rules)
    const leaving = leavingOf(content, subject.action, {
      statusMeans: rules.statusMeans,
      hasLeavingDate: cells.leaving !== undefined && !cells.leaving.isUnstated,
    })
    return (
      rejectForBadCells(content, leaving, rules) ??
      rejectForShape(row, subject, { content, leaving, own: cells.own, rules }) ??
      buildObservation(row, subject, { content, leaving, isFirstDayGone: rules.isFirstDayGone })
    )
  }
}

/** The person of a row, its action, and what decides between several rows of the person. */
type RowSubject = {
  readonly identityId: string
  readonly action: Action | undefined
  readonly rank: string | undefined
}

function readSubject(row: MappableRow, cells: RowCells, timeZone: string): RowSubject | Reject {
  const { fault } = row
  if (fault?.column === null)
    return rejectedRow(row, null, { reason: fault.reason, cause: 'damagedRow' }, { identityId: null, mayLeave: false })
  const reject = (cell: Cell<string, unknown> | undefined, cellFault: CellFault, key: string | null) =>
    rejectedRow(row, cell, cellFault, { identityId: key, mayLeave: mayBeLeaver(row, cells, timeZone) })

  const identityId = readCell(row, cells.key, timeZone)
  if (typeof identityId !== 'string') return reject(cells.key, identityId ?? blankKey, null)
  const action = cells.action && (readCell(row, cells.action, timeZone) ?? noAction)
  if (isFault(action)) return reject(cells.action, action, identityId)
  const rank = cells.rank && (readCell(row, cells.rank, timeZone) ?? noRank)
  if (isFault(rank)) return reject(cells.rank, rank, identityId)
  return { identityId, action, rank }
}

/** The values of a row. */
type RowContent = {
  readonly fields: { -readonly [K in keyof ObservedFields]: ObservedFields[K] }
  readonly leavingDate: string | null | undefined
  /** Whether the status says that the person has left. */
  readonly isGone: boolean | null | undefined
  readonly namedZone: string | null | undefined
  readonly badCells: Reject[]
  tooLittleToJoin: string | undefined
}

function readContent(row: MappableRow, subject: RowSubject, cells: RowCells, rules: RowRules): RowContent {
  const { identityId, action } = subject
  const badCells: Reject[] = []
  let tooLittleToJoin: string | undefined
  const read = <V extends string | boolean>(cell: Cell<string, V> | undefined, zone: string): V | null | undefined => {
    if (cell === undefined) return undefined
    const value = readCell(row, cell, zone)
    if (!isFault(value)) return value
    badCells.push(rejected(row, cell, value, { identityId, cellOnly: true, mayLeave: employmentCells.has(cell.name) }))
    if (value.required) tooLittleToJoin ??= `${cell.header}: ${value.reason}`
    return undefined
  }

  const namedZone = read(cells.zone, rules.timeZone)
  const timeZone = namedZone ?? rules.timeZone
  const fields: RowContent['fields'] = {}
  for (const cell of cells.texts) {
    const value = read(cell, timeZone)
    if (value !== undefined) fields[cell.name] = value
  }
  for (const cell of cells.own) {
    const value = read(cell, timeZone)
    if (value !== undefined) fields[cell.name] = value
  }
  const isContractor = read(cells.contractor, timeZone)
  if (isContractor !== undefined) fields.isContractor = isContractor
  const stated = read(cells.leaving, timeZone)
  const isGone = read(cells.status, timeZone)
  // HR systems keep the old leaving date of a person who was hired again. A row about the hire withdraws it.
  const isOver =
    action === 'join' &&
    startsAfterLeaving({ leavingDate: stated, fields, ...(rules.isFirstDayGone && { isFirstDayGone: true }) })
  return { fields, leavingDate: isOver ? null : stated, isGone, namedZone, badCells, tooLittleToJoin }
}

/** What a row states of leaving. `isAhead`: it states a departure that takes effect on its leaving date. */
type RowLeaving = { readonly statesDeparture: boolean; readonly isAhead: boolean }

function leavingOf(
  { leavingDate, isGone }: RowContent,
  action: Action | undefined,
  { statusMeans, hasLeavingDate }: { readonly statusMeans: StatusMeans; readonly hasLeavingDate: boolean },
): RowLeaving {
  const leavesOnDate = action === 'leave' && typeof leavingDate === 'string'
  const isStatusAhead = statusMeans === 'onDate' && isGone === true && hasLeavingDate && leavingDate !== null
  return {
    statesDeparture: (action === 'leave' && !leavesOnDate) || (isGone === true && !isStatusAhead),
    isAhead: leavesOnDate || isStatusAhead,
  }
}

function rejectForBadCells(content: RowContent, { statesDeparture }: RowLeaving, { onBadCell }: RowRules) {
  const { badCells, leavingDate } = content
  const [first] = badCells
  if (first === undefined || onBadCell !== 'rejectRow') return null
  const mayLeave = statesDeparture || typeof leavingDate === 'string' || badCells.some((bad) => bad.mayLeave)
  return { ...first, cellOnly: false, mayLeave }
}

type ReadRow = {
  readonly content: RowContent
  readonly leaving: RowLeaving
  readonly own: RowCells['own']
  readonly rules: RowRules
}

/** Rejects a row whose record violates its shape. If the row states a leaving date, only the record is dropped from it. */
function rejectForShape(
  row: MappableRow,
  { identityId }: RowSubject,
  { content, leaving: { statesDeparture }, own, rules }: ReadRow,
): Reject | null {
  const { fields, leavingDate, badCells } = content
  if (statesDeparture || rules.faultOf === undefined) return null
  // A field that stays as it was makes the record partial. The whole record is checked before it is sent.
  const isPartial = badCells.length > 0 || own.some(({ name }) => fields[name] === undefined)
  const violation = rules.faultOf({ identityId, ...fields }, isPartial)
  if (violation === null) return null
  const cell = own.find(({ name }) => name === violation.field)
  const leaves = typeof leavingDate === 'string'
  if (!leaves || rules.onBadCell === 'rejectRow') {
    const mayLeave = leaves || badCells.some((bad) => bad.mayLeave)
    return rejected(row, cell, { ...violation, cause: 'schema' }, { identityId, cellOnly: false, mayLeave })
  }
  badCells.push(rejected(row, cell, { ...violation, cause: 'schema' }, { identityId, cellOnly: true, mayLeave: false }))
  content.tooLittleToJoin ??= violation.reason
  for (const { name } of own) delete fields[name]
  return null
}

function buildObservation(
  row: MappableRow,
  subject: RowSubject,
  { content, leaving, isFirstDayGone }: Pick<ReadRow, 'content' | 'leaving'> & Pick<RowRules, 'isFirstDayGone'>,
): Observation {
  const { identityId, action, rank } = subject
  const { fields, leavingDate, isGone, namedZone, badCells, tooLittleToJoin } = content
  const { statesDeparture, isAhead } = leaving
  const observation = {
    identityId,
    fields,
    leavingDate,
    ...(typeof leavingDate === 'string' && isFirstDayGone && { isFirstDayGone: true as const }),
    statesDeparture,
    statesEmployed: action === 'join' || (action === undefined && isGone === false),
    isUncertain: action !== 'join' && !statesDeparture && (isAhead || badCells.some(({ mayLeave }) => mayLeave)),
    hasEmploymentCell: statesEmployment(action, content),
    origin: row.origin,
    ...(badCells.length > 0 && { badCells }),
    ...(tooLittleToJoin !== undefined && { tooLittleToJoin }),
  }
  return row.asOf === undefined && action === undefined && rank === undefined && typeof namedZone !== 'string'
    ? observation
    : { ...observation, ...extras(row, { action, rank, namedZone }) }
}

const employmentCells: ReadonlySet<string> = new Set(['separatedAt', 'status'])
const blankKey: CellFault = { reason: 'the cell is blank', cause: 'blank' }
const noAction: CellFault = { reason: 'the row does not say what it is about', cause: 'noAction' }
const noRank: CellFault = {
  reason: 'the row does not say how it stands to other rows of the person',
  cause: 'unknownOrder',
}

/** The value of a cell, or why it cannot be used. A fault that the connector found goes before the text. */
function readCell<V extends string | boolean>(
  { values, fault, cellFaults, missingDetails }: MappableRow,
  cell: Cell<string, V>,
  timeZone: string,
): CellValue<V> {
  if (fault && isPartOf(fault, cell)) return { reason: fault.reason, cause: 'damagedCell' }
  const broken = cellFaults?.find((each) => isPartOf(each, cell))
  if (broken) return { reason: broken.reason, cause: 'damagedCell' }
  const missing = missingDetails?.find((detail) => isMadeOf(cell, detail))
  if (missing) return { reason: missing.reason, cause: 'missingDetail' }
  const text = textIn(cell, values)
  return text === undefined ? undefined : cell.read(text, timeZone)
}

/** The text of a mapped cell; undefined if the row does not state it. */
export function textIn({ index, textOf }: Cell<string, unknown>, values: RowValues): string | undefined {
  return textOf === null ? values[index] : textOf(values)
}

function isPartOf({ column }: NonNullable<MappableRow['fault']>, { indexes }: BoundText): boolean {
  return column !== null && indexes.includes(column)
}

function isMadeOf(
  { indexes, columns, unmatchedNames }: Cell<string, unknown>,
  { name, derivedColumns = [] }: MissingDetail,
): boolean {
  return (
    columns.some((column) => isColumnOfDetail(column, name)) ||
    unmatchedNames.some((one) => mayNameDetail(one, name)) ||
    indexes.some((index) => derivedColumns.includes(index))
  )
}

/** Only the key of a person who was sent by mistake is used. */
function retraction(row: MappableRow, { identityId, rank }: RowSubject): Observation {
  const nothing = {
    fields: {},
    leavingDate: undefined,
    statesDeparture: false,
    statesEmployed: false,
    isUncertain: false,
    hasEmploymentCell: false,
  }
  return { identityId, ...nothing, origin: row.origin, ...extras(row, { action: 'retract', rank }) }
}

type Extras = {
  readonly action: Action | undefined
  readonly rank: string | undefined
  readonly namedZone?: string | null
}

function extras({ asOf }: MappableRow, { action, rank, namedZone }: Extras): Partial<Observation> {
  return {
    ...(action !== undefined && { action }),
    ...(asOf !== undefined && { asOf }),
    ...(typeof namedZone === 'string' && { timeZone: namedZone }),
    ...(rank !== undefined && { rank }),
  }
}

/** Whether a row states employment. A change of a record brings nobody back, whatever a blank date or a status says: that takes a join. */
function statesEmployment(action: Action | undefined, { leavingDate, isGone }: RowContent): boolean {
  if (action === 'change') return typeof leavingDate === 'string' || isGone === true
  return action !== undefined || leavingDate !== undefined || isGone !== undefined
}

/** Whether a rejected row states a departure, or holds an unreadable cell that could. */
function mayBeLeaver(row: MappableRow, { action, status, leaving }: RowCells, timeZone: string): boolean {
  if (action && readCell(row, action, timeZone) === 'leave') return true
  const gone = status && readCell(row, status, timeZone)
  const date = leaving && readCell(row, leaving, timeZone)
  return gone === true || typeof date === 'string' || isFault(gone) || isFault(date)
}

/** Rejects a whole row for a fault of a cell, or of the row itself (`cell` null). */
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
  { reason, knownAs = reason, unlisted, cause, expected }: CellFault,
  about: Pick<Reject, 'identityId' | 'cellOnly' | 'mayLeave'>,
): Reject {
  const event = 'event' in origin ? { event: origin.event } : {}
  const column = cell?.header ?? null
  const field = cell && isTimedField(cell.name) ? cell.name : undefined
  const text = cell ? textIn(cell, values) : undefined
  const recognisedBy = about.identityId === null || !cell ? values : [about.identityId, text]
  return {
    line: origin.line,
    ...event,
    column,
    ...(field !== undefined && { field }),
    reason,
    cause,
    ...(expected !== undefined && { expected }),
    ...(text !== undefined && { cell: storedCell(text) }),
    ...about,
    fingerprint: fingerprint(column, knownAs, recognisedBy),
    ...(unlisted !== undefined && isListed(cell) && { unlisted: { field: cell.name, value: unlisted } }),
  }
}

function isListed(cell: Cell<string, unknown> | null | undefined): cell is Cell<ListedField, unknown> {
  return listedFields.some((field) => field === cell?.name)
}
