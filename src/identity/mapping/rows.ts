import {
  type Action,
  actions,
  type FieldName,
  type IdentityFields,
  type Origin,
  type Reject,
  type Sighting,
} from '../record.ts'
import { type CellFault, type CellReader, isFault, type Told } from './cells.ts'
import type { ActionValues } from './field-rules.ts'
import { foldValue } from './fold-value.ts'
import type { BoundText, RowValues } from './text-of.ts'

/** A row as a connector delivers it; its cells stand in the order of the header. */
export type MappableRow = {
  /** undefined: the row does not speak of this column. */
  readonly values: RowValues
  readonly origin: Origin
  readonly asOf?: string
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
export type RowCells = {
  readonly key: Cell<'identityId', string>
  readonly texts: readonly Cell<Exclude<FieldName, 'separatedAt' | 'isContractor'>, string>[]
  readonly contractor: Cell<'isContractor', boolean> | undefined
  readonly leaving: Cell<'separatedAt', string> | undefined
  readonly status: Cell<'status', boolean> | undefined
  readonly action: Cell<'action', Action> | undefined
  readonly rank: Cell<'severalRows', string> | undefined
  readonly zone: Cell<'rowTimeZone', string> | undefined
}

/** True for what is told about a row that could not become a sighting. */
export function isReject(told: Sighting | Reject): told is Reject {
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

/** Turns rows into sightings. A row is rejected with its first fault; without its key when that cannot be trusted. */
export function rowMapper(cells: RowCells, timeZone: string): (row: MappableRow) => Sighting | Reject {
  const { key, texts, contractor, leaving, status, action, rank, zone } = cells
  const governing = [action, rank].filter((cell) => cell !== undefined)
  const all = [...texts, contractor, leaving, status, zone, ...governing].filter((cell) => cell !== undefined)

  return (row) => {
    const { values, origin, fault } = row
    if (fault?.column === null) return rejected(row, null, fault, null)
    if (fault && isPartOf(fault, key)) return rejected(row, key, fault, null)
    const identityId = tellText(key, values, timeZone)
    if (typeof identityId !== 'string') return rejected(row, key, identityId ?? blankKey, null)

    const about = action && (tellText(action, values, timeZone) ?? noAction)
    if (isFault(about)) return rejected(row, action, about, identityId)
    const faulty = fault && (about === 'retract' ? governing : all).find((cell) => isPartOf(fault, cell))
    if (fault && faulty) return rejected(row, faulty, fault, identityId)
    const order = rank && (tellText(rank, values, timeZone) ?? noRank)
    if (isFault(order)) return rejected(row, rank, order, identityId)
    if (about === 'retract') return retraction(row, identityId, order)

    const named = zone && tellText(zone, values, timeZone)
    if (isFault(named)) return rejected(row, zone, named, identityId)
    const rowZone = named ?? timeZone

    const fields: Partial<Omit<IdentityFields, 'separatedAt'>> = {}
    for (const cell of texts) {
      const told = tellText(cell, values, rowZone)
      if (isFault(told)) return rejected(row, cell, told, identityId)
      if (told !== undefined) fields[cell.name] = told
    }
    if (contractor !== undefined) {
      const told = tellText(contractor, values, rowZone)
      if (isFault(told)) return rejected(row, contractor, told, identityId)
      if (told !== undefined) fields.isContractor = told
    }

    const stated = leaving && tellText(leaving, values, rowZone)
    if (isFault(stated)) return rejected(row, leaving, stated, identityId)
    const gone = status && tellText(status, values, rowZone)
    if (isFault(gone)) return rejected(row, status, gone, identityId)

    const left = about === 'leave' || gone === true
    const leavingDate = cameBack(fields.startedAt, stated, left) ? null : (stated ?? null)
    const statesEmployment = saysEmployment(about, { stated, gone })
    const sighting = { identityId, fields, leavingDate, left, statesEmployment, origin }
    return row.asOf === undefined && about === undefined && order === undefined && zone === undefined
      ? sighting
      : { ...sighting, ...extras(row, { about, order, named }) }
  }
}

const blankKey: CellFault = { reason: 'the cell is blank' }
const noAction: CellFault = { reason: 'the row does not say what it is about' }
const noRank: CellFault = { reason: 'the row does not say how it stands to other rows of the person' }

function tellText<V>({ index, textOf, read }: Cell<string, V>, values: RowValues, timeZone: string): Told<V> {
  const text = textOf === null ? values[index] : textOf(values)
  return text === undefined ? undefined : read(text, timeZone)
}

function isPartOf({ column }: NonNullable<MappableRow['fault']>, { indexes }: BoundText): boolean {
  return column !== null && indexes.includes(column)
}

// A person who was sent in error need not be described: the key is all that counts.
function retraction(row: MappableRow, identityId: string, order: string | undefined): Sighting {
  const nothing = { fields: {}, leavingDate: null, left: false, statesEmployment: false }
  return { identityId, ...nothing, origin: row.origin, ...extras(row, { about: 'retract', order }) }
}

type Extras = {
  readonly about?: Action | undefined
  readonly order?: string | undefined
  readonly named?: string | null | undefined
}

function extras({ asOf }: MappableRow, { about, order, named }: Extras): Partial<Sighting> {
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

// HR systems keep the old leaving date of a person who returned; a later start says that it is over.
function cameBack(startedAt: string | null | undefined, stated: string | null | undefined, left: boolean): boolean {
  if (left || typeof startedAt !== 'string' || typeof stated !== 'string') return false
  return startedAt.slice(0, stated.length) > stated
}

function rejected(
  { origin }: MappableRow,
  cell: { readonly header: string } | null | undefined,
  { reason }: CellFault,
  identityId: string | null,
): Reject {
  const event = 'event' in origin ? { event: origin.event } : {}
  return { line: origin.line, ...event, column: cell?.header ?? null, reason, identityId }
}
