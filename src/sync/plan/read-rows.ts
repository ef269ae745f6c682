import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SourceRow } from '../../connectors/connector.ts'
import type { Decider } from '../../identity/decide/decider.ts'
import type { Page } from '../../identity/decide/row-book.ts'
import { isReject } from '../../identity/mapping/rows.ts'
import type { YieldToShortWork } from '../context/context.ts'
import type { ChangeFilter } from './change-filter/change-filter.ts'
import type { MappedRows } from './map/map-rows.ts'

/** Is told how far a reading has come after each slice; the next one waits for it. */
export type Progress = (read: { readonly rows: number; readonly rejected: number }) => void | Promise<void>

type Reading = {
  readonly slices: AsyncIterable<readonly SourceRow[]>
  readonly mapping: MappedRows
  readonly signal: AbortSignal
  /** Leaves records out of the slices. */
  readonly filter?: ChangeFilter
  /** Takes the people of each slice before the rows of the next one count. */
  readonly onPage?: (page: Page) => Promise<void>
  readonly onProgress?: Progress
  /**
   * Awaited within a slice, so that it never keeps other work of the process for long. Left out, the slice waits a turn of the event loop
   * all the same: the database's answers about the people before come in there.
   */
  readonly yieldToShortWork?: YieldToShortWork
}

/** So many rows are read without a pause. */
const rowsAtOnce = 250

/**
 * Gives rows to the decider, slice by slice. Each slice is read while the people of the one before are looked up. Answers how many rows
 * there were, without those that are about no person.
 */
export async function readRows(
  decider: Decider,
  { slices, mapping, signal, filter, onPage, onProgress, yieldToShortWork = () => nextTurn() }: Reading,
): Promise<number> {
  const reading = slices[Symbol.asyncIterator]()
  let rows = 0
  let next = reading.next()
  try {
    for (;;) {
      const { done, value: slice } = await next
      if (done) return rows
      signal.throwIfAborted()
      rows += slice.length
      if (mapping.ok) {
        for (const [at, row] of slice.entries()) {
          if (at % rowsAtOnce === rowsAtOnce - 1) await yieldToShortWork()
          filter?.beforeRow(row.origin.line, decider)
          const told = mapping.map(row)
          if (told === null) continue
          if (told.identityId !== null) filter?.checkKey(told.identityId, row.origin.line)
          if ('noPerson' in told) {
            rows -= 1
            decider.book.skip(told.identityId)
          } else if ('outOfScope' in told) {
            rows -= 1
            decider.book.addOutOfScope(told)
          } else if (isReject(told)) decider.book.reject(told)
          else {
            filter?.noteRow(row, told)
            decider.book.add(told)
          }
        }
        rows += filter?.endSlice(decider) ?? 0
      }
      if (!mapping.ok) for (const row of slice) mapping.see(row)
      next = reading.next()
      // Whatever it fails with shows where it is waited for.
      next.catch(() => {})
      await yieldToShortWork()
      await onPage?.(decider.book.nextPage())
      await onProgress?.({ rows, rejected: decider.rejected() })
    }
  } finally {
    await reading.return?.()
  }
}
