import { columnFinder, type MatchedColumn } from '../../identity/mapping/headers.ts'
import { isColumnOfDetail, mayNameDetail } from '../../identity/mapping/missing-details.ts'
import type { RowValues } from '../../identity/mapping/text-of.ts'

// An expression may build names from cells. The limit keeps them from filling the memory.
const maxCachedNames = 1000

/** What an expression tried to read and the row does not have. */
export type ReadProblems = {
  /** It read a column that the row does not state. */
  absent: boolean
  /** It read the cell that the connector found damaged. */
  damaged: boolean
  /** The names of missing details whose columns it read. */
  readonly details: Set<string>
  /** It read a name that does not belong to exactly one column. */
  unclear: { readonly name: string; readonly column: Exclude<MatchedColumn, { kind: 'one' }> } | null
}

/** `nonTextColumns`: where a record holds an object or a list in place of a text. */
export type ShownRow = {
  readonly values: RowValues
  readonly damaged: readonly number[]
  readonly nonTextColumns?: readonly number[]
  /** The names of the details that the record lacks. */
  readonly missingDetails?: readonly string[]
}

/** A row as expressions see it: an object with a text for each header. Columns are found as in the rest of a mapping. */
type ExpressionInput = {
  readonly input: object
  /** Shows the next row and resets `touched`. */
  show(row: ShownRow): void
  readonly touched: ReadProblems
}

/** Creates the input of expressions. `missingIsBlank`: a member that a record lacks counts as a blank. */
export function createInput(headers: readonly string[], missingIsBlank = false): ExpressionInput {
  const find = columnFinder(headers)
  const names = [...new Set(headers)]
  const columns = new Map<string, MatchedColumn>()
  const touched: ReadProblems = { absent: false, damaged: false, details: new Set(), unclear: null }
  let values: RowValues = []
  let damaged: readonly number[] = []
  let groups: readonly number[] = []
  let missingDetails: readonly string[] = []

  function columnOf(name: string): MatchedColumn {
    const known = columns.get(name)
    if (known !== undefined) return known
    const column = find([name])
    if (columns.size >= maxCachedNames) columns.clear()
    columns.set(name, column)
    return column
  }

  function read(name: string | symbol): string | undefined {
    const column = typeof name === 'string' ? columnOf(name) : undefined
    return column?.kind === 'one' ? values[column.index] : undefined
  }

  // JSONata asks for the descriptor of a property before it reads the property, and so do loops over all properties.
  function describe(name: string | symbol): PropertyDescriptor | undefined {
    if (typeof name !== 'string') return undefined
    const column = columnOf(name)
    const header = column.kind === 'one' ? headers[column.index] : undefined
    const detail = missingDetails.find((missing) =>
      header === undefined ? mayNameDetail(name, missing) : isColumnOfDetail(header, missing),
    )
    if (detail !== undefined) {
      touched.details.add(detail)
      return undefined
    }
    if (column.kind !== 'one') {
      touched.unclear ??= { name, column }
      return undefined
    }
    const value = values[column.index]
    if (value === undefined && (!missingIsBlank || groups.includes(column.index))) touched.absent = true
    if (damaged.includes(column.index)) touched.damaged = true
    return value === undefined ? undefined : { value, enumerable: true, configurable: true, writable: false }
  }

  const input = new Proxy(Object.create(null), {
    get: (_, name) => read(name),
    has: (_, name) => describe(name) !== undefined,
    getOwnPropertyDescriptor: (_, name) => describe(name),
    ownKeys: () => names,
  })
  return {
    input,
    touched,
    show(row) {
      values = row.values
      damaged = row.damaged
      groups = row.nonTextColumns ?? []
      missingDetails = row.missingDetails ?? []
      touched.details.clear()
      Object.assign(touched, { absent: false, damaged: false, unclear: null })
    },
  }
}
