import type { FieldValue } from '../change.ts'
import type { FieldName, Observation, Origin, Reject } from '../record.ts'
import type { MappedCell, MappedName } from './mapping.ts'
import { isReject } from './rows.ts'

/** How one cell was read: the column of a field, its text and the value. */
export type CellAccount = {
  readonly column: string
  readonly field: MappedName
  /** null: the row does not state the column. */
  readonly text: string | null
  readonly value: FieldValue
  /** The cell states nothing: the known value stays. */
  readonly keeps: boolean
  /** Why the cell cannot be used; null if it can. */
  readonly reason: string | null
}

/** How one row of a person was read. */
export type RowAccount = {
  readonly origin: Origin
  readonly cells: readonly CellAccount[]
  /** Why the row is rejected; null if it is used. */
  readonly reason: string | null
}

/** Explains a row: which column belongs to which field, and which value was read from its text. */
export function rowAccount(origin: Origin, mapped: Observation | Reject, cells: readonly MappedCell[]): RowAccount {
  if (isReject(mapped)) {
    const { column, reason } = mapped
    const accounts = cells.map((cell) => ({
      ...cellOf(cell),
      value: null,
      keeps: false,
      reason: cell.column === column ? reason : null,
    }))
    return { origin, cells: accounts, reason: column === null ? reason : `${column}: ${reason}` }
  }
  const accounts = cells.map((cell) => {
    const value = readFrom(mapped, cell.name)
    const reason = mapped.badCells?.find(({ column }) => column === cell.column)?.reason ?? null
    return { ...cellOf(cell), value: value ?? null, keeps: value === undefined && reason === null, reason }
  })
  return { origin, cells: accounts, reason: null }
}

function cellOf({ name, column, text }: MappedCell): Pick<CellAccount, 'column' | 'field' | 'text'> {
  return { column, field: name, text: text ?? null }
}

function readFrom(mapped: Observation, name: MappedName): FieldValue | undefined {
  switch (name) {
    case 'identityId':
      return mapped.identityId
    case 'separatedAt':
      return mapped.leavingDate
    case 'status':
      if (mapped.statesDeparture) return 'left'
      return mapped.statesEmployed ? 'employed' : undefined
    case 'action':
      return mapped.action
    case 'severalRows':
      return mapped.rank
    case 'rowTimeZone':
      return mapped.timeZone
    default:
      return mapped.fields[name satisfies FieldName]
  }
}
