import jsonata from 'jsonata'
import { errorCode } from '../../errors.ts'
import { performTasks, threadSetup } from '../../system/task-thread.ts'
import { namesIn } from './check.ts'
import { createInput, type ReadProblems, type ShownRow } from './input.ts'

// This module runs in a thread of its own, because an expression may never end. The evaluator then ends the thread.

/** The data with which the thread starts. */
export type ExpressionSetup = {
  readonly headers: readonly string[]
  readonly expressions: readonly { readonly text: string; readonly optional: boolean }[]
  /** Whether rows may lack any column. */
  readonly sparse: boolean
  /** Whether a member that a record lacks is a blank. */
  readonly missingIsBlank: boolean
}

/** The rows for which every expression is evaluated. null: a row that is skipped. */
export type Rows = readonly (ShownRow | null)[]

/** For every row, the result of each expression and the first fault; or why the whole source is refused. */
export type Evaluation =
  | {
      readonly results: readonly (readonly (string | undefined)[])[]
      readonly faults: ReadonlyMap<number, ExpressionFault>
      /** By the number of the row. */
      readonly detailReads: ReadonlyMap<number, readonly DetailRead[]>
    }
  | { readonly refusal: string }

/** Why an expression has no result for a row. */
export type ExpressionFault = {
  readonly expression: number
  readonly reason: string
  /** The cause is a cell that the connector had already found damaged. */
  readonly damaged?: boolean
}

/** An expression that has no result because it read a column of a detail that the record lacks. */
export type DetailRead = { readonly expression: number; readonly detail: string }

const maxTextCharacters = 1000
const maxStackDepth = 500
const maxSequenceLength = 100_000

const setup = threadSetup<ExpressionSetup>()
const { input, show, touched } = createInput(setup.headers, setup.missingIsBlank)
const expressions = setup.expressions.map(({ text, optional }) => {
  const compiled = jsonata(text, { stack: maxStackDepth, sequence: maxSequenceLength })
  return { compiled, spelled: namesIn(compiled.ast()), mayLack: optional || (setup.sparse && !setup.missingIsBlank) }
})
readTimesAsUtc()

performTasks(evaluate)

async function evaluate(rows: Rows, begin: (step: number) => void): Promise<Evaluation> {
  const results: (string | undefined)[][] = []
  const faults = new Map<number, ExpressionFault>()
  const detailReads = new Map<number, readonly DetailRead[]>()
  for (const [row, shown] of rows.entries()) {
    const texts: (string | undefined)[] = []
    for (const [expression, { compiled, spelled, mayLack }] of expressions.entries()) {
      if (shown === null) break
      begin(row * expressions.length + expression)
      show(shown)
      const outcome = await evaluateOne(compiled)
      const { unclear, details } = touched
      if (unclear !== null && (unclear.column.kind === 'several' || !(mayLack || doesWithout(outcome)))) {
        return { refusal: toRefusal(unclear, spelled) }
      }
      if (details.size > 0) {
        const reads = [...details].map((detail) => ({ expression, detail }))
        detailReads.set(row, [...(detailReads.get(row) ?? []), ...reads])
        texts.push(undefined)
        continue
      }
      const fault = touched.damaged ? damagedFault : 'reason' in outcome ? outcome : null
      if (fault !== null && !faults.has(row)) faults.set(row, { expression, ...fault })
      texts.push(fault === null && 'text' in outcome ? cellOf(outcome.text) : undefined)
    }
    results.push(texts)
  }
  return { results, faults, detailReads }
}

/** Whether an expression over JSON records may name a member that no record has: it still returned a text. */
function doesWithout(outcome: Outcome): boolean {
  return setup.missingIsBlank && 'text' in outcome && outcome.text.trim() !== ''
}

const damagedFault = { reason: 'the expression reads a damaged cell', damaged: true }

type Outcome = { readonly text: string } | { readonly reason: string }

async function evaluateOne(compiled: jsonata.Expression): Promise<Outcome> {
  try {
    return toText(await compiled.evaluate(input))
  } catch (error) {
    // The message of a failed expression quotes cells. Its code does not.
    const code = errorCode(error) ?? ''
    return { reason: `the expression failed (${/^[A-Z]\d{4}$/.test(code) ? `JSONata ${code}` : 'without a reason'})` }
  }
}

function toText(result: unknown): Outcome {
  if (result === undefined || result === null) return { text: '' }
  if (typeof result === 'number' || typeof result === 'boolean') return { text: String(result) }
  if (typeof result !== 'string') return { reason: 'the expression gives a list, an object or a function, and no text' }
  if (result.length <= maxTextCharacters) return { text: result }
  return { reason: `the expression gives ${result.length} characters; ${maxTextCharacters} are the most` }
}

/** The text as the cell of the row; undefined if it is blank because the row says nothing about a column that was read. */
function cellOf(text: string): string | undefined {
  const silent = touched.absent || (touched.unclear !== null && !setup.missingIsBlank)
  return text.trim() === '' && silent ? undefined : text
}

function toRefusal({ name, column }: NonNullable<ReadProblems['unclear']>, spelled: ReadonlySet<string>): string {
  // A name that was built during the evaluation may hold the content of a cell.
  const problem = spelled.has(name) ? `the column "${name}"` : 'a column'
  if (column.kind === 'several') {
    return `an expression reads ${problem}, which several columns of the header could be: rename or drop one of them`
  }
  const similar = column.similar !== null && spelled.has(name) ? `; did you mean "${column.similar}"?` : ''
  if (!setup.missingIsBlank) return `an expression reads ${problem}, which is not in the header${similar}`
  const hint = similar || '; if HR omits it where nobody has it, write optional: true beside the expression'
  return `an expression reads ${problem}, which no record has${hint}`
}

/** JSONata reads a time without an offset in the time zone of the host, but results must not depend on the host. */
function readTimesAsUtc(): void {
  const parse = Date.parse
  Date.parse = (text) => parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text)
}
