import type { Reading, SourceRow } from './connector.ts'

/** The reading of a source that has nothing new: a delta without rows. */
export function nothingNew(now: Date): Reading {
  return { mode: 'delta', asOf: now.toISOString(), source: null, headers: [], rows: noRows() }
}

/** No rows at all. */
export async function* noRows(): AsyncGenerator<readonly SourceRow[]> {}
