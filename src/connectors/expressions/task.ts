import type { RowValues } from '../../identity/mapping/text-of.ts'

/** What a worker of expressions is started with. */
export type WorkerSetup = {
  readonly headers: readonly string[]
  readonly expressions: readonly { readonly text: string; readonly optional: boolean }[]
  /** Whether rows may lack any column. */
  readonly sparse: boolean
  /** One number shared with the worker: which evaluation of the task is under way, or `idle`. */
  readonly progress: SharedArrayBuffer
}

/** Rows to evaluate every expression for; null in place of one to leave out. */
export type Task = readonly ({ readonly values: RowValues; readonly damaged: number | null } | null)[]

/** For every row the result of each expression, and its first fault; or why the whole source cannot be used. */
export type Outcome =
  | {
      readonly results: readonly (readonly (string | undefined)[])[]
      readonly faults: ReadonlyMap<number, ExpressionFault>
    }
  | { readonly refusal: string }

export type ExpressionFault = {
  readonly expression: number
  readonly reason: string
  /** The fault goes back to a cell that the connector had found damaged. */
  readonly damaged?: boolean
}

export const idle = -1
