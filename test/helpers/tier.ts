import { TestRunner } from 'vitest'

/**
 * Whether this run has everything in its larger form, which `npm test` leaves out by the tag `full` and `npm run test:full`
 * does not. A run of single files has it too.
 */
export const isFull = TestRunner.matchesTags(['full'])
