import { z } from 'zod'
import { type FieldName, fieldsOf } from '../record.ts'

/** One limit: its texts in settings, verdicts and pages, and its default. */
type LimitDefinition = {
  /** The description of what is counted, for the settings. */
  readonly counts: string
  /** The text after "17 of 40" in a verdict. */
  readonly verdictText: string
  /** What the count is compared with, for the settings. */
  readonly against: string
  readonly count: number
  readonly share: number
}

/** Every limit. The schema of the settings, the verdicts, their pages and their tests are derived from it. */
export const limitDefinitions = {
  leavers: {
    counts: 'People who would be separated, and new people who have left already',
    verdictText: 'people would be separated',
    against: 'those employed',
    count: 5,
    share: 0.05,
  },
  joiners: {
    counts: 'New people. Not in the first plan of a connection',
    verdictText: 'people would join',
    against: 'those employed',
    count: 25,
    share: 0.25,
  },
  leftJoiners: {
    counts: 'In the first plan of a connection: people who have left already',
    verdictText: 'people have left already',
    against: 'those in the plan',
    count: 5,
    share: 0.75,
  },
  unnamedJoiners: {
    counts: 'In the first plan of a connection: people who are employed and have no name or no e-mail address',
    verdictText: 'people who are employed have no name or no e-mail address',
    against: 'those in the plan who are employed',
    count: 10,
    share: 0.5,
  },
  sameStart: {
    counts: 'In the first plan of a connection: people with the same first day',
    verdictText: 'people start on',
    against: 'those in the plan with a start',
    count: 25,
    share: 0.5,
  },
  sameLeaving: {
    counts: 'In the first plan of a connection: people who left on the same day',
    verdictText: 'people who have left did so on',
    against: 'those in the plan with a leaving date that has come',
    count: 10,
    share: 0.5,
  },
  returns: {
    counts: 'People who would return',
    verdictText: 'people who left would come back',
    against: 'those employed',
    count: 5,
    share: 0.02,
  },
  redates: {
    counts: 'People whose leaving date would change',
    verdictText: 'people would get another leaving date',
    against: 'those employed',
    count: 5,
    share: 0.02,
  },
  contractorFlips: {
    counts: 'People who would change between contractor and employee',
    verdictText: 'people would change between contractor and employee',
    against: 'those employed',
    count: 5,
    share: 0.05,
  },
  emailChanges: {
    counts: 'People whose e-mail address would change',
    verdictText: 'people would get another e-mail address',
    against: 'those employed',
    count: 10,
    share: 0.1,
  },
  fieldChanges: {
    counts: 'People whose value would change, counted separately for each other field',
    verdictText: 'people would get another',
    against: 'those employed',
    count: 20,
    share: 0.2,
  },
  blanks: {
    counts: 'People whose value would be cleared, counted separately for each other field',
    verdictText: 'people would lose their',
    against: 'those employed',
    count: 5,
    share: 0.05,
  },
  rejectedRows: {
    counts: 'Rows that are rejected or have an unreadable cell, and were not in an accepted export',
    verdictText: 'rows are rejected or hold a cell that cannot be read',
    against: 'all rows',
    count: 5,
    share: 0.02,
  },
  shrink: {
    counts:
      'Rows, or bytes of cells, missing compared with the last accepted snapshot. For bytes, count is multiplied by the average size of a row',
    verdictText: 'of the last accepted export are missing',
    against: 'the last accepted snapshot',
    count: 5,
    share: 0.2,
  },
} as const satisfies Readonly<Record<string, LimitDefinition>>

/** The name of a limit in the settings. */
export type LimitName = keyof typeof limitDefinitions

/** The fields with a limit of their own. */
const ownLimits: readonly string[] = ['email', 'isContractor', 'separatedAt'] satisfies FieldName[]

/** Whether a field has no limit of its own. */
export function isOtherField(field: string): boolean {
  return !ownLimits.includes(field)
}

/** The fields of these records without a limit of their own. */
export function otherFieldsOf(...records: readonly (object | null | undefined)[]): readonly FieldName[] {
  return fieldsOf(...records).filter(isOtherField)
}

/** How far a plan may go before a person has to approve it. */
export const Guards = z.strictObject({
  leavers: limit(limitDefinitions.leavers),
  joiners: limit(limitDefinitions.joiners),
  leftJoiners: limit(limitDefinitions.leftJoiners),
  unnamedJoiners: limit(limitDefinitions.unnamedJoiners),
  sameStart: limit(limitDefinitions.sameStart),
  sameLeaving: limit(limitDefinitions.sameLeaving),
  returns: limit(limitDefinitions.returns),
  redates: limit(limitDefinitions.redates),
  contractorFlips: limit(limitDefinitions.contractorFlips),
  emailChanges: limit(limitDefinitions.emailChanges),
  fieldChanges: limit(limitDefinitions.fieldChanges),
  blanks: limit(limitDefinitions.blanks),
  rejectedRows: limit(limitDefinitions.rejectedRows),
  shrink: limit(limitDefinitions.shrink),
  unusual: z
    .strictObject({
      enabled: z.boolean().default(true).describe('Whether plans are also compared with earlier runs.'),
      runs: z.int().min(1).default(14).describe('The number of accepted runs before plans are compared.'),
      times: z
        .number()
        .min(1)
        .default(4)
        .describe('A plan is held if it exceeds the largest earlier number by this factor.'),
      count: z.int().min(0).default(10).describe('Up to this number of people always pass.'),
    })
    .prefault({})
    .describe(
      'Holds a plan if a limit counts many more people than in each of the last 90 accepted runs. For limits that are measured against those employed.',
    ),
})
export type Guards = z.infer<typeof Guards>
/** The settings of one limit: an absolute count and a share. A plan is held when both are exceeded. */
export type Limit = Guards[LimitName]

function limit({ counts, against, count, share }: LimitDefinition) {
  return z
    .strictObject({
      count: z.int().min(0).default(count).describe('Up to this number of people always pass.'),
      share: z
        .number()
        .min(0)
        .max(1)
        .default(share)
        .describe('A share between 0 and 1. It applies if it allows more than count.'),
    })
    .prefault({})
    .describe(
      `${counts}, measured against ${against}. The plan is held when both the count and the share are exceeded.`,
    )
}
