import type { MappedExpression } from '../../identity/mapping/mapping.ts'
import type { Reading, SourceRow } from '../connector.ts'
import { unreadable } from '../file/failures.ts'
import { defaultLimits, Evaluator, type ExpressionLimits } from './evaluator.ts'
import type { DetailRead, ExpressionFault, Rows } from './worker.ts'

export { expressionsOf } from '../../identity/mapping/mapping.ts'
export { expressionProblem, expressionProblems } from './check.ts'

// The maximum size of one task of the worker thread. If a row exceeds a limit, the other rows of its task are evaluated again without it.
const maxTaskRows = 256
const maxTaskCharacters = 1024 * 1024

/**
 * Adds one cell for each expression to each row, after the cells of the header. If an expression fails or takes too long, only its row has a
 * fault; a row with a fault of the whole row is returned unchanged. Refuses a source without a column that an expression reads, unless the
 * expression is optional or the records are sparse.
 */
export function withExpressions(
  reading: Reading,
  expressions: readonly Pick<MappedExpression, 'text' | 'optional'>[],
  limits: Partial<ExpressionLimits> = {},
): Reading {
  if (expressions.length === 0) return reading
  return { ...reading, rows: derivedRows(reading, expressions, { ...defaultLimits, ...limits }) }
}

async function* derivedRows(
  reading: Reading,
  expressions: readonly Pick<MappedExpression, 'text' | 'optional'>[],
  limits: ExpressionLimits,
): AsyncGenerator<readonly SourceRow[]> {
  const { headers, sparse = false, missingIsBlank = false } = reading
  const texts = expressions.map(({ text, optional }) => ({ text, optional }))
  await using evaluator = new Evaluator({ headers, sparse, missingIsBlank, expressions: texts }, limits)
  for await (const slice of reading.rows) {
    for (const rows of splitIntoTasks(slice)) {
      const evaluation = await evaluator.evaluate(rows.map(toInput))
      if ('refusal' in evaluation) throw unreadable(nameOf(reading), evaluation.refusal)
      yield rows.map((row, index) => {
        const fault = evaluation.faults.get(index)
        const detailReads = evaluation.detailReads.get(index) ?? []
        const results = evaluation.results[index] ?? []
        return addCells(row, { width: headers.length, results, fault, detailReads, expressions })
      })
    }
  }
}

function nameOf({ source }: Reading): string {
  return source?.name ?? 'the source'
}

/** Splits a slice into tasks that are small enough for the worker, in rows and in characters. */
function* splitIntoTasks(slice: readonly SourceRow[]): Generator<readonly SourceRow[]> {
  let start = 0
  let characters = 0
  for (const [index, { values }] of slice.entries()) {
    const size = values.reduce((sum, value) => sum + (value?.length ?? 0), 0)
    if (index > start && (index - start >= maxTaskRows || characters + size > maxTaskCharacters)) {
      yield slice.slice(start, index)
      start = index
      characters = 0
    }
    characters += size
  }
  if (start < slice.length) yield slice.slice(start)
}

/** The input for one row; null for a row that cannot be trusted as a whole, which is not evaluated. */
function toInput({ values, nonTextColumns, fault, cellFaults = [], missingDetails }: SourceRow): Rows[number] {
  if (fault?.column === null) return null
  const damaged = [...(fault ? [fault.column] : []), ...cellFaults.map(({ column }) => column)]
  return { values, nonTextColumns, damaged, missingDetails: missingDetails?.map(({ name }) => name) }
}

type RowResults = {
  readonly width: number
  readonly results: readonly (string | undefined)[]
  readonly fault: ExpressionFault | undefined
  readonly detailReads: readonly DetailRead[]
  readonly expressions: readonly unknown[]
}

function addCells(source: SourceRow, { width, results, fault, detailReads, expressions }: RowResults): SourceRow {
  if (source.fault?.column === null) return source
  const row = withDetailReads(source, width, detailReads)
  const cells = Array.from({ length: width }, (_, index) => row.values[index])
  const values = [...cells, ...Array.from(expressions, (_, index) => results[index])]
  if (fault === undefined) return { ...row, values }
  // A fault names one cell. With a second fault the whole row has the fault, because only one of the two could be named.
  const column = row.fault === undefined ? width + fault.expression : null
  return { ...row, values, fault: { column, reason: fault.reason } }
}

/** Adds the columns of expressions that read a missing detail to its `derivedColumns`, so that their cells count as missing too. */
function withDetailReads(row: SourceRow, width: number, detailReads: readonly DetailRead[]): SourceRow {
  if (!row.missingDetails || detailReads.length === 0) return row
  const missingDetails = row.missingDetails.map((missing) => {
    const reads = detailReads.filter(({ detail }) => detail === missing.name)
    return { ...missing, derivedColumns: reads.map(({ expression }) => width + expression) }
  })
  return { ...row, missingDetails }
}
