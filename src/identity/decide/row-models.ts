import { rankedRows } from './ranked-rows.ts'
import type { BookRules, RowBook } from './row-book.ts'
import { rowsInOrder } from './rows-in-order.ts'

/** Which rows of a person apply, and what follows for people without one. */
export type RowModel = {
  readonly severalRows: BookRules['severalRows']
  /** Whether the row of this line applies to its person. */
  readonly applies: (book: Pick<RowBook, 'lineOf'>, identityId: string, line: number) => boolean
  /** Whether people without a row may become leavers, such as on a deferred day. */
  readonly findsLeaversWithoutRow: boolean
}

/** The rows of an export: one row of each person applies, the one of the highest rank. */
export const exportRows: RowModel = {
  severalRows: rankedRows,
  applies: (book, identityId, line) => book.lineOf(identityId) === line,
  findsLeaversWithoutRow: true,
}

/**
 * Events, in the order of their times: all of them apply, one after the other. The run of the roster sends a leaving date whose day has
 * come, so that the date neither waits for an event nor stops one.
 */
export const eventRows: RowModel = { severalRows: rowsInOrder, applies: () => true, findsLeaversWithoutRow: false }
