import type { FieldValue } from '../change.ts'
import type { FieldName, Origin, Reject, Observation } from '../record.ts'
import type { MappedCell, MappedName } from './mapping.ts'
import { isReject } from './rows.ts'

/** What was made of one cell: the column that gave a field, the text in it and the value that was read. */
export type CellAccount = {
  readonly column: string
  readonly field: MappedName
  /** null: the row does not speak of the column. */
  readonly text: string | null
  readonly value: FieldValue
  /** The cell says nothing: what is known stays. */
  readonly keeps: boolean
  /** Why the cell cannot be used; null if it can. */
  readonly reason: string | null
}

/** What was made of one row of a person. */
export type RowAccount = {
  readonly origin: Origin
  readonly cells: readonly CellAccount[]
  /** Why the row is rejected; null if it counts. */
  readonly reason: string | null
}

/** Accounts for a row: which column gave which field, and what was read from its text. */
export function rowAccount(origin: Origin, told: Observation | Reject, cells: readonly MappedCell[]): RowAccount {
  if (isReject(told)) {
    const { column, reason } = told
    const accounts = cells.map((cell) => ({
      ...placeOf(cell),
      value: null,
      keeps: false,
      reason: cell.column === column ? reason : null,
    }))
    return { origin, cells: accounts, reason: column === null ? reason : `${column}: ${reason}` }
  }
  const accounts = cells.map((cell) => {
    const value = readFrom(told, cell.name)
    const reason = told.badCells?.find(({ column }) => column === cell.column)?.reason ?? null
    return { ...placeOf(cell), value: value ?? null, keeps: value === undefined && reason === null, reason }
  })
  return { origin, cells: accounts, reason: null }
}

function placeOf({ name, column, text }: MappedCell): Pick<CellAccount, 'column' | 'field' | 'text'> {
  return { column, field: name, text: text ?? null }
}

function readFrom(told: Observation, name: MappedName): FieldValue | undefined {
  switch (name) {
    case 'identityId':
      return told.identityId
    case 'separatedAt':
      return told.leavingDate
    case 'status':
      if (told.statesDeparture) return 'left'
      return told.statesEmployed ? 'employed' : undefined
    case 'action':
      return told.action
    case 'severalRows':
      return told.rank
    case 'rowTimeZone':
      return told.timeZone
    default:
      return told.fields[name satisfies FieldName]
  }
}
