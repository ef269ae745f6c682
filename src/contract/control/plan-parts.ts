import { z } from 'zod'
import { ChangeKind, ChangeView, Count, Counts } from './plan-shapes.ts'

/** A group has at most this many characters. */
const maxGroupLength = 200
const maxGroups = 10_000
const maxPeople = 50_000

/** Which changes of a held plan are approved: those that fit every list that is given. */
export const PartSelection = z
  .strictObject({
    kinds: z.array(ChangeKind).min(1).optional().describe('Changes of one of these kinds.'),
    groups: z
      .array(
        z
          .string()
          .max(2 * maxGroupLength)
          .nullable(),
      )
      .min(1)
      .max(maxGroups)
      .optional()
      .describe('People of one of these groups; null: people without a group.'),
    people: z.array(z.string().min(1)).min(1).max(maxPeople).optional().describe('The people with these keys.'),
  })
  .refine(({ kinds, groups, people }) => (kinds ?? groups ?? people) !== undefined, {
    error: 'names no kind, group or person',
  })
  .meta({ id: 'PartSelection' })
export type PartSelection = z.infer<typeof PartSelection>

const KindCounts = Counts.pick({ join: true, update: true, leave: true, return: true, correct: true, retract: true })

/** A group of the people in a plan. */
export const PlanGroup = z.object({
  group: z.string().nullable().describe('Null: people without a group.'),
  people: Count.describe('Changes of its people.'),
  leavers: Count.describe('How many of them leave.'),
})
export type PlanGroup = z.infer<typeof PlanGroup>

/** A part of a held plan, and what would stay held. */
export const PlanPart = z
  .object({
    runId: z.string(),
    digest: z.string().describe('Names the part; an approval must repeat it.'),
    counts: KindCounts,
    people: Count.describe('The changes of the part, also those that send a person again without a difference.'),
    peopleOfPlan: Count.describe('The changes of the whole plan.'),
    remaining: KindCounts.describe('What stays held.'),
    changes: z.array(ChangeView).describe('The first changes: leavers, returns, retractions, then the others, by key.'),
  })
  .meta({ id: 'PlanPart' })
export type PlanPart = z.infer<typeof PlanPart>
