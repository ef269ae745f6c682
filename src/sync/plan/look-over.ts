import type { Reading } from '../../connectors/connector.ts'
import { withExpressions } from '../../connectors/expressions/expressions.ts'
import { createDecider } from '../../identity/decider.ts'
import { expressionsOf } from '../../identity/mapping/mapping.ts'
import type { Reject } from '../../identity/record.ts'
import { rejectsKept } from '../../store/plans/plans.ts'
import type { FeedRules } from '../context.ts'
import { mapRows } from './map-rows.ts'
import { contextOf, warningsOf } from './prepare.ts'
import { readRows } from './read-rows.ts'

/** What a source holds, counted as a plan counts it. */
export type Overview = {
  readonly rows: number
  readonly records: number
  readonly rejected: number
  /** Rows that count but for a cell that cannot be read. */
  readonly incomplete: number
  /** The first of the rejected rows and of those cells. */
  readonly rejects: readonly Reject[]
  readonly warnings: readonly string[]
  /** One sentence for each mapped column that the source lacks; its rows are then not read. */
  readonly missing: readonly string[]
}

/** Reads an opened source to its end and compares it with nothing: no roster is needed. */
export async function lookOver(
  opened: Reading,
  rules: FeedRules,
  { now, signal }: { now: Date; signal: AbortSignal },
): Promise<Overview> {
  const reading = withExpressions(opened, expressionsOf(rules.mapping))
  const mapping = mapRows(reading, rules, { now })
  const context = contextOf(reading, rules, now)
  const decider = createDecider({ context, inOrder: false, everybody: false, rejectsKept })
  const rows = await readRows(decider, { slices: reading.rows, mapping, signal })
  const { records, rejected } = decider.account
  const { rejects } = decider
  const { incomplete } = decider.counts()
  const warnings = [...warningsOf(reading, mapping, decider), ...(mapping.ok ? mapping.lacking : [])]
  return { rows, records, rejected, incomplete, rejects, warnings, missing: mapping.ok ? [] : mapping.missing() }
}
