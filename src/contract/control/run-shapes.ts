import { z } from 'zod'
import { deprecatedName } from './deprecated.ts'
import { BlockedPeopleCounts, InDoubtCounts } from './people-counts.ts'
import {
  Count,
  Counts,
  FieldView,
  Instant,
  KeptPlan,
  PersonAccount,
  SourceView,
  Verdict,
  Warnings,
} from './plan-shapes.ts'

/** The states of a run. */
export const RunState = z.enum([
  'waiting',
  'reading',
  'planned',
  'delivering',
  'held',
  'unchanged',
  'finished',
  'finished_with_problems',
  'rejected',
  'superseded',
  'failed',
  'cancelled',
])
export type RunState = z.infer<typeof RunState>

/** The final states of a run, and `held`, which waits for a person. */
export const endedOrHeldStates = [
  'held',
  'unchanged',
  'finished',
  'finished_with_problems',
  'rejected',
  'superseded',
  'failed',
  'cancelled',
] as const satisfies readonly RunState[]

/** True if the run has ended, or is held until a person decides. */
export function isEndedOrHeld({ state }: { readonly state: RunState }): boolean {
  return endedOrHeldStates.some((ended) => ended === state)
}

const RunOptions = z.object({
  plan: KeptPlan.optional().describe('The plan that the run has to produce; it fails if the plan differs.'),
  joined: z
    .unknown()
    .optional()
    .describe('Requests that arrived while this run waited. They become a run of their own.'),
  full: z.boolean().optional().describe('Send everybody again, also those without a difference.'),
  verify: z.boolean().optional().describe('Read the list of the platform first and repair every difference.'),
  sample: z
    .boolean()
    .optional()
    .describe('First verify the leavers of the last 30 days and a thousand others, and correct every difference.'),
  retract: z
    .object({ identityId: z.string(), reason: z.string(), by: z.string() })
    .optional()
    .describe('The one person that this run retracts.'),
  restore: z
    .object({ identityId: z.string(), by: z.string() })
    .optional()
    .describe('The person whose retraction was undone right before this run.'),
  person: z
    .object({ identityId: z.string().optional() })
    .optional()
    .describe('The one person that this run is about. The key is left out until an e-mail address was looked up.'),
  separate: z
    .object({ identityIds: z.array(z.string()).readonly(), on: z.string(), reason: z.string(), by: z.string() })
    .optional()
    .describe('The people whom this run separates because only the platform knows them, and their last day.'),
  revert: z
    .object({ runId: z.string(), reason: z.string(), by: z.string() })
    .optional()
    .describe('The run that this one reverts, and why.'),
  held: z.boolean().optional().describe('Plan again what waits in held runs of events.'),
  again: z
    .object({ runId: z.string(), digest: z.string(), by: z.string(), because: z.string().nullable() })
    .optional()
    .describe('The held run whose plan this one makes again, and who approved which plan.'),
})

const Sent = z.object({ requests: Count, people: Count })

const Keys = z.array(z.string())

/** The differences that reading the platform's list found. */
export const Verification = z
  .object({
    listed: Count.describe('People that the platform holds.'),
    asked: Count.optional().describe('How many people were asked for as a sample. Left out: the whole list was read.'),
    lost: Count.describe('People that it held and no longer holds.'),
    changed: Count.describe('People for which it holds something else than it acknowledged.'),
    foreign: Count.describe(
      'People that it takes for employed, and whom no export states, that of this run included. They are left alone.',
    ),
    separated: Count.optional().describe('Others whom no export states, and who have left there.'),
    people: z
      .object({ lost: Keys, changed: Keys, foreign: Keys })
      .optional()
      .describe('Their keys, of each kind the first hundred; runs of older versions have none.'),
  })
  .meta({ id: 'Verification' })
export type Verification = z.infer<typeof Verification>

/** A run with its plan's counts, its verdicts and the progress of its delivery. */
export const Run = z
  .object({
    id: z.string(),
    connection: z.string(),
    trigger: z
      .enum(['schedule', 'operator', 'file', 'webhook', 'repair'])
      .describe('Who asked. `repair`: a request whose outcome is unknown; Rollcall looks up what the platform holds.'),
    feed: z
      .enum(['source', 'webhook', 'roster', 'person', 'revert', 'separation'])
      .describe(
        "What is read: the connection's source, the events that came in, or, with `roster`, nothing new: what HR said last is delivered. With `person` the source is read for one person, with `revert` what an earlier run did is undone, and with `separation` people are separated whom only the platform knows.",
      ),
    mode: z.enum(['snapshot', 'delta']).nullable(),
    state: RunState,
    options: RunOptions,
    digest: z.string().nullable().describe('Names the plan; an approval must repeat it.'),
    configuration: z
      .string()
      .nullable()
      .describe('Names the configuration of the connection by which the plan was made.'),
    moved: z
      .string()
      .nullable()
      .describe(
        'What of that on which a held plan rests has changed since it was made: facts about its people, or the configuration. An approval then makes it again.',
      ),
    heldPart: z.string().nullable().describe('The held run of the people of this run that a guard stopped.'),
    setAside: deprecatedName(z.string().nullable(), 'heldPart'),
    heldPartRun: z
      .object({
        runId: z.string(),
        state: RunState,
        people: Count,
        reason: z.string().nullable().describe('Why it was held.'),
        decidedBy: z.string().nullable(),
        replacedBy: z.string().nullable().describe('The held run that took its place; null: none.'),
      })
      .nullable()
      .optional()
      .describe('The run of `heldPart` as it is now. Null: there is none. Left out in lists.'),
    heldPartOf: z
      .string()
      .nullable()
      .optional()
      .describe('The run that went on without the people of this one. Left out in lists.'),
    instead: z
      .object({
        runId: z.string(),
        isSame: z.boolean().describe('It makes the same changes: an approval of the superseded run is one of it.'),
      })
      .nullable()
      .optional()
      .describe('The held run that took the place of this superseded one. Null: there is none. Left out in lists.'),
    also: z
      .array(z.object({ id: z.string(), connection: z.string() }))
      .describe('The runs of linked connections that this one started, to read the same export.'),
    ridesWith: z
      .string()
      .nullable()
      .describe('The run of another connection that started this one, to read the same export.'),
    wentOn: z
      .string()
      .nullable()
      .describe(
        'The run of those changes of this held run that no failed guard puts in doubt, and that were sent at once.',
      ),
    partOf: z.string().nullable().describe('The held run of whose plan this run delivers the part that was approved.'),
    parts: z.array(z.string()).readonly().describe('The runs of those parts of a held plan that were approved.'),
    asOf: Instant.nullable().describe('The time as of which the source states HR’s data.'),
    source: SourceView.nullable().describe('What was read; null also where there was nothing new.'),
    rows: Count.nullable(),
    records: Count.nullable().describe('Rows that became a record.'),
    counts: Counts.nullable(),
    guards: z.array(Verdict).nullable(),
    warnings: Warnings,
    verification: Verification.nullable().describe('What the verification of the platform found.'),
    blockedPeople: BlockedPeopleCounts.nullable().describe(
      'The people of the connection who were blocked when the plan was made or accepted. Null: not known.',
    ),
    unserved: deprecatedName(BlockedPeopleCounts.nullable(), 'blockedPeople'),
    inDoubt: InDoubtCounts.nullable().describe(
      'The people of the connection who were in doubt when the run ended, and still are. Null: no one.',
    ),
    sent: z
      .object({ upsert: Sent, update: Sent, delete: Sent, session: Sent })
      .describe('Requests and people by job kind.'),
    confirmed: Count.describe('Changes that the platform acknowledged.'),
    problems: Count.describe('Changes that the platform refused, or on which it always failed.'),
    remaining: Count.describe('Changes that are accepted and neither acknowledged nor refused yet.'),
    reason: z.string().nullable().describe('Why the run is held, failed or was ended.'),
    delay: z
      .string()
      .nullable()
      .optional()
      .describe('Why an unfinished run does not move now, in words. Null: nothing keeps it. Left out in lists.'),
    failure: z.string().nullable().describe('The code of the failure that ended the run.'),
    createdAt: Instant,
    startedAt: Instant.nullable(),
    finishedAt: Instant.nullable(),
    valuesRemovedAt: Instant.nullable().describe(
      'When the personal values of its changes were removed; null: they are kept.',
    ),
    requestedBy: z
      .array(z.string())
      .readonly()
      .describe('The people who asked for the run; none: a schedule, a file or an event did.'),
    expiresAt: Instant.nullable().describe(
      'Until when a held plan can be approved. After that a new run has to plan again.',
    ),
    decidedBy: z.string().nullable().describe('Who approved, rejected or cancelled the run.'),
    decidedAt: Instant.nullable(),
    decidedReason: z.string().nullable().describe('Why, in the words of that person.'),
    durationMs: Count.nullable(),
  })
  .meta({ id: 'Run' })
export type Run = z.infer<typeof Run>

const FirstKeys = z.array(z.string()).readonly().describe('The first of them by key.')

/** A plan by field and by manager. */
export const RunSummary = z
  .object({
    fields: z
      .array(
        z.object({
          field: z.string(),
          people: Count.describe('Whose value becomes another; joiners are left out.'),
          blanked: Count.describe('Those who lose their value.'),
          filled: Count.describe('Those who get their first.'),
          ways: z
            .array(z.object({ way: z.string(), people: Count }))
            .readonly()
            .describe(
              'By how many days dates move, and from which domain addresses move to which: the commonest ways.',
            ),
          values: z
            .array(z.object({ from: FieldView, to: FieldView, people: Count }))
            .readonly()
            .describe('The commonest replacements of one value by another.'),
          examples: FirstKeys,
        }),
      )
      .readonly(),
    managers: z
      .array(
        z.object({ manager: FieldView.describe('Null: no manager is known.'), leavers: Count, examples: FirstKeys }),
      )
      .readonly()
      .describe('The managers with the most leavers.'),
    managersCount: Count.describe('How many managers have leavers.'),
  })
  .meta({ id: 'RunSummary' })
export type RunSummary = z.infer<typeof RunSummary>

const NamedPeople = z.object({ count: Count, keys: z.array(z.string()).readonly() })

/** The effect of a revert on the people of the reverted run. */
export const RevertAccount = z
  .object({
    runId: z.string().describe('The run that is reverted.'),
    people: Count.describe('People who are reset to what was known of them before the reverted run.'),
    joiners: NamedPeople.describe(
      'People who joined in the reverted run. They stay; retracting a person deletes them.',
    ),
    retracted: NamedPeople.describe(
      'People who were retracted in the reverted run. They stay deleted; withdrawing the retraction of a person sends them again.',
    ),
    left: z
      .object({
        count: Count,
        people: z.array(z.object({ identityId: z.string(), reason: z.string() })).readonly(),
      })
      .describe('People whom the revert does not change, each with the reason.'),
  })
  .meta({ id: 'RevertAccount' })
export type RevertAccount = z.infer<typeof RevertAccount>

/** What a run of named people reports beyond its plan. */
export const RunAccount = z
  .object({
    revert: RevertAccount.nullable().describe(
      'For a run that reverts another run: what happens to the people of that run.',
    ),
    person: PersonAccount.nullable().describe(
      'Of a run of one person: their rows, how each was read, and what was decided.',
    ),
  })
  .meta({ id: 'RunAccount' })
export type RunAccount = z.infer<typeof RunAccount>
