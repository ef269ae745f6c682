import { z } from 'zod'
import { Count, Instant } from './plan-shapes.ts'

/** How many people and rows are blocked. */
export const BlockedPeopleCounts = z
  .object({
    people: Count.describe('People whose row, or a cell of it, cannot be read.'),
    leavers: Count.describe('Those of them who may have left, and whom the platform may still take for employed.'),
    rows: Count.describe('Rows whose key cannot be read, so that their people are not known.'),
  })
  .meta({ id: 'BlockedPeopleCounts' })
export type BlockedPeopleCounts = z.infer<typeof BlockedPeopleCounts>

/** How many people only the platform holds. */
export const ForeignTally = z
  .object({
    people: Count.describe(
      'People whom the platform takes for employed, and no accepted export states: they may have left. None before an export was accepted.',
    ),
    separated: Count.describe('Others whom no accepted export states, and who have left there.'),
  })
  .meta({ id: 'ForeignTally' })
export type ForeignTally = z.infer<typeof ForeignTally>

/** How many people wait because they were left out when a part of a plan was approved, and since when. */
export const LeftOutTally = z
  .object({ people: Count, since: Instant.describe('Since when the first of them waits.') })
  .meta({ id: 'LeftOutTally' })

/** How many people are in doubt, and until when. */
export const InDoubtCounts = z
  .object({
    people: Count.describe(
      'People who were delivered after a request about them that was given up and may still reach the platform.',
    ),
    leavers: Count.describe('Those of them who have left: a late request could bring them back on the platform.'),
    until: Instant.describe('Until when they are verified at least.'),
  })
  .meta({ id: 'DoubtTally' })
export type InDoubtCounts = z.infer<typeof InDoubtCounts>
