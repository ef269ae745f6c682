import { type CellFault, type CellReader, isFault } from './cells.ts'
import type { FieldName, IdentityFields, Origin, Reject, Sighting } from './record.ts'

/** A row as a connector delivers it; its cells stand in the order of the header. */
export type MappableRow = {
  readonly values: readonly string[]
  readonly origin: Origin & { readonly line: number }
  readonly fault?: { readonly column: number | null; readonly reason: string }
}

/** A mapped column of one source, with what reads its cells. */
export type Cell<N extends string, V> = {
  readonly name: N
  readonly index: number
  readonly header: string
  readonly read: CellReader<V>
}

/** The columns of one source that rows are read from; undefined where a field is not mapped. */
export type RowCells = {
  readonly key: Cell<'identityId', string>
  readonly texts: readonly Cell<Exclude<FieldName, 'separatedAt' | 'isContractor'>, string>[]
  readonly contractor: Cell<'isContractor', boolean> | undefined
  readonly leaving: Cell<'separatedAt', string> | undefined
  readonly status: Cell<'status', boolean> | undefined
}

/** True for what is told about a row that could not become a sighting. */
export function isReject(told: Sighting | Reject): told is Reject {
  return 'reason' in told
}

/** Turns rows into sightings. A row is rejected with its first fault; without its key when that cannot be trusted. */
export function rowMapper({
  key,
  texts,
  contractor,
  leaving,
  status,
}: RowCells): (row: MappableRow) => Sighting | Reject {
  const statesEmployment = leaving !== undefined || status !== undefined
  const cells = [...texts, contractor, leaving, status].filter((cell) => cell !== undefined)

  return (row) => {
    const { values, origin, fault } = row
    const identityId = key.read(values[key.index] ?? '')
    if (fault?.column === null) return rejected(row, null, fault, null)
    if (fault?.column === key.index) return rejected(row, key, fault, null)
    if (typeof identityId !== 'string') return rejected(row, key, identityId ?? blankKey, null)
    const faulty = fault && cells.find((cell) => cell.index === fault.column)
    if (fault && faulty) return rejected(row, faulty, fault, identityId)

    const fields: Partial<Omit<IdentityFields, 'separatedAt'>> = {}
    for (const cell of texts) {
      const told = cell.read(values[cell.index] ?? '')
      if (isFault(told)) return rejected(row, cell, told, identityId)
      if (told !== undefined) fields[cell.name] = told
    }
    if (contractor !== undefined) {
      const told = contractor.read(values[contractor.index] ?? '')
      if (isFault(told)) return rejected(row, contractor, told, identityId)
      if (told !== undefined) fields.isContractor = told
    }

    const stated = leaving?.read(values[leaving.index] ?? '')
    if (isFault(stated)) return rejected(row, leaving, stated, identityId)
    const left = status?.read(values[status.index] ?? '')
    if (isFault(left)) return rejected(row, status, left, identityId)
    const leavingDate = cameBack(fields.startedAt, stated, left) ? null : (stated ?? null)
    return { identityId, fields, leavingDate, left: left ?? false, statesEmployment, origin }
  }
}

const blankKey: CellFault = { reason: 'the cell is blank' }

// HR systems keep the old leaving date of somebody who returned; a later start says that it is over.
function cameBack(
  startedAt: string | null | undefined,
  stated: string | null | undefined,
  left: boolean | null | undefined,
) {
  if (left || typeof startedAt !== 'string' || typeof stated !== 'string') return false
  return startedAt.slice(0, stated.length) > stated
}

function rejected(
  { origin }: MappableRow,
  cell: { readonly header: string } | null | undefined,
  { reason }: CellFault,
  identityId: string | null,
): Reject {
  return { line: origin.line, column: cell?.header ?? null, reason, identityId }
}
