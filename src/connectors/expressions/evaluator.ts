import { TaskThread } from '../../system/task-thread.ts'
import type { Evaluation, ExpressionFault, ExpressionSetup, Rows } from './worker.ts'

/** The limits at which a row, or the whole source, is refused. */
export type ExpressionLimits = {
  /** How much processor time one expression may take for one row. */
  readonly rowMs: number
  /** How many rows may exceed a limit before the source is refused. */
  readonly maxStoppedRows: number
  readonly memoryMb: number
}

/** The limits in production. */
export const defaultLimits: ExpressionLimits = { rowMs: 250, maxStoppedRows: 20, memoryMb: 128 }

/** Owns the thread that evaluates expressions. */
export class Evaluator implements AsyncDisposable {
  readonly #thread: TaskThread<Rows, Evaluation, ExpressionSetup>
  readonly #expressionCount: number
  readonly #limits: ExpressionLimits
  #stoppedRows = 0

  constructor(setup: ExpressionSetup, limits: ExpressionLimits) {
    const script = new URL('./worker.ts', import.meta.url)
    this.#thread = new TaskThread(script, { setup, limits: { stepMs: limits.rowMs, memoryMb: limits.memoryMb } })
    this.#expressionCount = setup.expressions.length
    this.#limits = limits
  }

  /** Evaluates the rows. A row that exceeds a limit gets a fault, and the other rows are evaluated again without it. */
  async evaluate(rows: Rows): Promise<Evaluation> {
    const stopped = new Map<number, ExpressionFault>()
    for (;;) {
      const end = await this.#thread.run(rows.map((row, index) => (stopped.has(index) ? null : row)))
      if ('result' in end) {
        const { result } = end
        return 'refusal' in result ? result : { ...result, faults: new Map([...result.faults, ...stopped]) }
      }
      // A step is one expression of one row, counted row by row.
      const reason = this.#reason(end.stopped)
      stopped.set(Math.floor(end.step / this.#expressionCount), {
        expression: end.step % this.#expressionCount,
        reason,
      })
      this.#stoppedRows += 1
      if (this.#stoppedRows > this.#limits.maxStoppedRows) {
        return { refusal: `expressions got stuck at more than ${this.#limits.maxStoppedRows} rows (${reason})` }
      }
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#thread[Symbol.asyncDispose]()
  }

  #reason(stopped: 'too slow' | 'out of memory'): string {
    const { rowMs, memoryMb } = this.#limits
    return stopped === 'too slow'
      ? `the expression takes longer than ${rowMs} ms`
      : `the expression takes more than ${memoryMb} MiB of memory`
  }
}
