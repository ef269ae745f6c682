import { TestRunner } from 'vitest'

/**
 * Whether this run has everything in its larger form, which `npm test` leaves out by the tag `full` and `npm run test:full`
 * does not. A run of single files has it too.
 */
export const isFull = TestRunner.matchesTags(['full'])

/** The rows of a table of tests: all in the larger form, else the first `few`. */
export function firstOf<const T>(few: number, rows: readonly T[]): readonly T[] {
  return isFull ? rows : rows.slice(0, few)
}
