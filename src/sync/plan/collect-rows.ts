import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SourceRow } from '../../connectors/connector.ts'
import type { Decider } from '../../identity/decide/decider.ts'
import type { Page } from '../../identity/decide/row-book.ts'
import { isReject } from '../../identity/mapping/rows.ts'
import type { YieldToShortWork } from '../context/context.ts'
import type { RowSlice } from './change-filter/change-filter.ts'
import type { UnchangedRows } from './change-filter/unchanged-records.ts'
import type { MappedRow, MappedRows, ReadableRows } from './map/map-rows.ts'
import type { RowTreatments } from './row-treatments.ts'

/** Called after each slice with the rows so far; awaited before the next slice. */
export type OnProgress = (read: { readonly rows: number; readonly rejected: number }) => void | Promise<void>

type CollectInput = {
  readonly slices: AsyncIterable<RowSlice>
  readonly mapping: MappedRows
  readonly signal: AbortSignal
  /** Called with each row once it is mapped, before it is collected. */
  readonly onRow?: (row: SourceRow, mapped: MappedRow) => void
  /** Decides about the people of a slice. Awaited before the rows of the next slice are collected. */
  readonly onPage?: (page: Page) => Promise<void>
  readonly onProgress?: OnProgress
  /** Records how each row is treated. */
  readonly treatments?: RowTreatments
  /** Awaited within a slice. By default it waits one turn of the event loop, in which answers of the database arrive. */
  readonly yieldToShortWork?: YieldToShortWork
}

/** Maximum number of rows that are mapped without a pause. */
const maxRowsAtOnce = 250

/**
 * Maps the rows and collects them in the decider's book, slice by slice. Each slice is read while the people of the previous one are decided
 * about. Returns the number of rows, without those that are not about a person or are out of scope.
 */
export async function collectRows(decider: Decider, input: CollectInput): Promise<number> {
  const { slices, mapping, signal, onPage, onProgress, yieldToShortWork = () => nextTurn() } = input
  const reading = slices[Symbol.asyncIterator]()
  let rows = 0
  let next = reading.next()
  try {
    for (;;) {
      const { done, value: slice } = await next
      if (done) return rows
      signal.throwIfAborted()
      if (mapping.ok) rows += await collectSlice(decider, slice, { ...input, mapping, yieldToShortWork })
      else {
        for (const row of slice.rows) mapping.addRow(row)
        rows += slice.rows.length
      }
      next = reading.next()
      // Its error is thrown where it is awaited.
      next.catch(() => {})
      await yieldToShortWork()
      await onPage?.(decider.book.nextPage())
      await onProgress?.({ rows, rejected: decider.rejected() })
    }
  } finally {
    await reading.return?.()
  }
}

type SliceInput = Pick<CollectInput, 'onRow' | 'treatments'> & {
  readonly mapping: ReadableRows
  readonly yieldToShortWork: YieldToShortWork
}

/** Collects the rows of a slice. Returns how many there were, unchanged ones included. */
async function collectSlice(
  decider: Decider,
  { rows, unchanged }: RowSlice,
  { mapping, onRow, treatments, yieldToShortWork }: SliceInput,
): Promise<number> {
  const collector = new UnchangedCollector(decider, mapping, unchanged)
  let rowCount = 0
  for (const [at, row] of rows.entries()) {
    if (at % maxRowsAtOnce === maxRowsAtOnce - 1) await yieldToShortWork()
    collector.collectUntil(row.origin.line)
    const mapped = mapping.map(row)
    onRow?.(row, mapped)
    if (collectRow(decider, mapped)) rowCount += 1
    treatments?.add(mapped, row, mapping)
  }
  collector.end()
  return rowCount + unchanged.length
}

/** Collects a row. Returns whether it counts as a row of the source. */
function collectRow({ book }: Decider, mapped: MappedRow): boolean {
  if (mapped === null) return true
  if ('noPerson' in mapped) {
    book.skip(mapped.identityId)
    return false
  }
  if ('outOfScope' in mapped) {
    book.addOutOfScope(mapped)
    return false
  }
  if (isReject(mapped)) book.reject(mapped)
  else book.add(mapped)
  return true
}

/** Reports the unchanged rows of a slice to the decider and the checks, between the rows that are parsed. */
class UnchangedCollector {
  readonly #decider: Decider
  readonly #mapping: ReadableRows
  readonly #unchanged: UnchangedRows
  #at = 0

  constructor(decider: Decider, mapping: ReadableRows, unchanged: UnchangedRows) {
    this.#decider = decider
    this.#mapping = mapping
    this.#unchanged = unchanged
  }

  /** Reports the rows up to this line. */
  collectUntil(line: number): void {
    const { length } = this.#unchanged
    if (this.#at === length) return
    let needsOrder = this.#mapping.needsUnchangedInOrder()
    for (; this.#at < length; this.#at += 1) {
      const at = this.#at
      const ownLine = this.#unchanged.lineAt(at)
      if (ownLine > line) return
      if (!this.#unchanged.hasLeftAt(at)) this.#decider.book.nameUnchanged(this.#unchanged.personAt(at))
      if (!needsOrder) continue
      const address = this.#unchanged.addressAt(at)
      this.#mapping.addUnchangedInOrder(this.#unchanged.traitsAt(at), { line: ownLine, address })
      needsOrder = this.#mapping.needsUnchangedInOrder()
    }
  }

  /** Reports the remaining rows, and counts all of them. */
  end(): void {
    const { length } = this.#unchanged
    if (length === 0) return
    this.collectUntil(Number.POSITIVE_INFINITY)
    this.#mapping.addUnchanged(this.#unchanged.countByTraits(), this.#unchanged.lineAt(length - 1))
    this.#decider.addUnchanged(length)
  }
}
