import jsonata from 'jsonata'
import { errorCode } from '../../errors.ts'
import { performTasks, threadSetup } from '../../system/task-thread.ts'
import { namesIn } from './check.ts'
import { createInput, type ShownRow, type ReadProblems } from './input.ts'

// This module runs in a thread of its own, because an expression may never end. The evaluator then ends the thread.

/** What the thread is started with. */
export type ExpressionSetup = {
  readonly headers: readonly string[]
  readonly expressions: readonly { readonly text: string; readonly optional: boolean }[]
  /** Whether rows may lack any column. */
  readonly sparse: boolean
  /** Whether what a record lacks is a blank. */
  readonly missingIsBlank: boolean
}

/** The rows for which every expression is evaluated. Null stands for a row that is left out. */
export type Rows = readonly (ShownRow | null)[]

/** For every row the result of each expression and the first fault; or why the whole source cannot be used. */
export type Evaluation =
  | {
      readonly results: readonly (readonly (string | undefined)[])[]
      readonly faults: ReadonlyMap<number, ExpressionFault>
    }
  | { readonly refusal: string }

export type ExpressionFault = {
  readonly expression: number
  readonly reason: string
  /** The cause is a cell that the connector had already found damaged. */
  readonly damaged?: boolean
}

const longestText = 1000
const deepestCalls = 500
const longestSequence = 100_000

const setup = threadSetup<ExpressionSetup>()
const { input, show, touched } = createInput(setup.headers, setup.missingIsBlank)
const expressions = setup.expressions.map(({ text, optional }) => {
  const compiled = jsonata(text, { stack: deepestCalls, sequence: longestSequence })
  return { compiled, spelled: namesIn(compiled.ast()), mayLack: optional || (setup.sparse && !setup.missingIsBlank) }
})
readTimesAsUtc()

performTasks(evaluate)

async function evaluate(rows: Rows, begin: (step: number) => void): Promise<Evaluation> {
  const results: (string | undefined)[][] = []
  const faults = new Map<number, ExpressionFault>()
  for (const [row, shown] of rows.entries()) {
    const texts: (string | undefined)[] = []
    for (const [expression, { compiled, spelled, mayLack }] of expressions.entries()) {
      if (shown === null) break
      begin(row * expressions.length + expression)
      show(shown)
      const answer = await answerOf(compiled)
      const { unclear } = touched
      if (unclear !== null && (unclear.column.found === 'several' || !(mayLack || doesWithout(answer)))) {
        return { refusal: refusalOf(unclear, spelled) }
      }
      const fault = touched.damaged ? damagedFault : 'reason' in answer ? answer : null
      if (fault !== null && !faults.has(row)) faults.set(row, { expression, ...fault })
      texts.push(fault === null && 'text' in answer ? cellOf(answer.text) : undefined)
    }
    results.push(texts)
  }
  return { results, faults }
}

/** An expression about records may name a member that none of them has, as long as it gives a text all the same. */
function doesWithout(answer: Answer): boolean {
  return setup.missingIsBlank && 'text' in answer && answer.text.trim() !== ''
}

const damagedFault = { reason: 'the expression reads a damaged cell', damaged: true }

type Answer = { readonly text: string } | { readonly reason: string }

async function answerOf(compiled: jsonata.Expression): Promise<Answer> {
  try {
    return toText(await compiled.evaluate(input))
  } catch (error) {
    // The message of a failed expression quotes cells. Its code does not.
    const code = errorCode(error) ?? ''
    return { reason: `the expression failed (${/^[A-Z]\d{4}$/.test(code) ? `JSONata ${code}` : 'without a reason'})` }
  }
}

function toText(result: unknown): Answer {
  if (result === undefined || result === null) return { text: '' }
  if (typeof result === 'number' || typeof result === 'boolean') return { text: String(result) }
  if (typeof result !== 'string') return { reason: 'the expression gives a list, an object or a function, and no text' }
  if (result.length <= longestText) return { text: result }
  return { reason: `the expression gives ${result.length} characters; ${longestText} are the most` }
}

/** The text as the cell of the row; undefined if it is blank because the row says nothing about a column that was read. */
function cellOf(text: string): string | undefined {
  const silent = touched.absent || (touched.unclear !== null && !setup.missingIsBlank)
  return text.trim() === '' && silent ? undefined : text
}

function refusalOf({ name, column }: NonNullable<ReadProblems['unclear']>, spelled: ReadonlySet<string>): string {
  // A name that was built during the evaluation may hold the content of a cell.
  const problem = spelled.has(name) ? `the column "${name}"` : 'a column'
  if (column.found === 'several') {
    return `an expression reads ${problem}, which several columns of the header could be: rename or drop one of them`
  }
  const similar = column.similar !== null && spelled.has(name) ? `; did you mean "${column.similar}"?` : ''
  if (!setup.missingIsBlank) return `an expression reads ${problem}, which is not in the header${similar}`
  const hint = similar || '; if HR leaves it out where nobody has it, write optional: true beside the expression'
  return `an expression reads ${problem}, which no record has${hint}`
}

/** JSONata reads a time without an offset in the time zone of the host, but results must not depend on the host. */
function readTimesAsUtc(): void {
  const parse = Date.parse
  Date.parse = (text) => parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text)
}
