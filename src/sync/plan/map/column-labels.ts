import { indexesOf } from '../../../identity/lint/watch.ts'
import type { Observation, Reject } from '../../../identity/record.ts'

type MapResult = Observation | Reject

/** Returns a function that names the columns of rejects as `labels` does, such as `C / Leaving date` of a sheet. */
export function columnLabels(
  headers: readonly string[],
  labels: readonly string[] | undefined,
): <M extends MapResult>(mapped: M) => M {
  if (labels === undefined) return (mapped) => mapped
  const ofReject = (reject: Reject): Reject => {
    const indexes = reject.column === null ? [] : indexesOf(reject.column, headers)
    if (indexes.length === 0) return reject
    return { ...reject, column: indexes.map((index) => labels[index] ?? headers[index]).join(', ') }
  }
  return (mapped) => {
    if ('reason' in mapped) return { ...mapped, ...ofReject(mapped) }
    return mapped.badCells ? { ...mapped, badCells: mapped.badCells.map(ofReject) } : mapped
  }
}
