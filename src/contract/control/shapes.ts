import { z } from 'zod'
import type { DeliveryAction } from '../failures.ts'
import { Alert } from './alerts.ts'
import { deprecatedName } from './deprecated.ts'
import { HoldBack } from './hold-backs.ts'
import { Leaver } from './leavers.ts'
import { Pause } from './pauses.ts'
import {
  ChangeKind,
  Count,
  Counts,
  FieldView,
  Instant,
  KeptPlan,
  ListedField,
  PersonAccount,
  PersonChange,
  RecordView,
  SourceView,
  Verdict,
  Warnings,
} from './plan-shapes.ts'
import { Process, Reload } from './processes.ts'

export {
  ChangeKind,
  ChangeView,
  Counts,
  FieldChange,
  KeptPlan,
  PersonAccount,
  PersonChange,
  PersonPlan,
  PlanDocument,
  RecordView,
  RejectView,
  Verdict,
} from './plan-shapes.ts'

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

/** The states in which nothing happens by itself any more: those that end a run, and `held`, which waits for a person. */
export const restingStates = [
  'held',
  'unchanged',
  'finished',
  'finished_with_problems',
  'rejected',
  'superseded',
  'failed',
  'cancelled',
] as const satisfies readonly RunState[]

/** True once nothing happens to the run by itself any more. */
export function isResting({ state }: { readonly state: RunState }): boolean {
  return restingStates.some((resting) => resting === state)
}

const RunOptions = z.object({
  plan: KeptPlan.optional().describe('The plan that the run must come to; with any other it fails.'),
  joined: z.unknown().optional().describe('What was asked for while this run waited. It becomes a run of its own.'),
  full: z.boolean().optional().describe('Send everybody again, also those without a difference.'),
  verify: z.boolean().optional().describe('Read the list of the platform first and repair every difference.'),
  sample: z
    .boolean()
    .optional()
    .describe('Read back the leavers of the last 30 days and a thousand others first, and repair every difference.'),
  retract: z
    .object({ identityId: z.string(), reason: z.string(), by: z.string() })
    .optional()
    .describe('The one person that this run takes back.'),
  restore: z
    .object({ identityId: z.string(), by: z.string() })
    .optional()
    .describe('Whose retraction was taken back right before this run.'),
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
    .describe('The run that this one takes back, and why.'),
  held: z.boolean().optional().describe('Plan again what waits in held runs of events.'),
  again: z
    .object({ runId: z.string(), digest: z.string(), by: z.string(), because: z.string().nullable() })
    .optional()
    .describe('The held run whose plan this one makes again, and who approved which plan.'),
})

const Sent = z.object({ requests: Count, people: Count })

const deliveryActions = [
  'problem',
  'split',
  'correct',
  'read_back',
  'upsert',
  'wait',
  'retry',
  'block',
] as const satisfies readonly DeliveryAction[]

const Keys = z.array(z.string())

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

export const BlockedPeopleCounts = z
  .object({
    people: Count.describe('People whose row, or a cell of it, cannot be read.'),
    leavers: Count.describe('Those of them who may have left, and whom the platform may still take for employed.'),
    rows: Count.describe('Rows whose key cannot be read, so that their people are not known.'),
  })
  .meta({ id: 'BlockedPeopleCounts' })
export type BlockedPeopleCounts = z.infer<typeof BlockedPeopleCounts>

export const ForeignTally = z
  .object({
    people: Count.describe(
      'People whom the platform takes for employed, and no accepted export states: they may have left. None before an export was accepted.',
    ),
    separated: Count.describe('Others whom no accepted export states, and who have left there.'),
  })
  .meta({ id: 'ForeignTally' })
export type ForeignTally = z.infer<typeof ForeignTally>

export const InDoubtCounts = z
  .object({
    people: Count.describe(
      'People who were delivered after a request about them that was given up and may still reach the platform.',
    ),
    leavers: Count.describe('Those of them who have left: a late request could bring them back on the platform.'),
    until: Instant.describe('Until when they are read back at least.'),
  })
  .meta({ id: 'DoubtTally' })
export type InDoubtCounts = z.infer<typeof InDoubtCounts>

export const Run = z
  .object({
    id: z.string(),
    connection: z.string(),
    trigger: z
      .enum(['schedule', 'operator', 'file', 'webhook', 'repair'])
      .describe('Who asked. `repair`: a request whose outcome is unknown; what the platform holds is read back.'),
    feed: z
      .enum(['source', 'webhook', 'roster', 'person', 'revert', 'separation'])
      .describe(
        "What is read: the connection's source, the events that came in, or, with `roster`, nothing new: what HR said last is delivered. With `person` the source is read for one person, with `revert` what a former run did is taken back, and with `separation` people are separated whom only the platform knows.",
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
        'The run of those changes of this held one that no failed guard puts in doubt, and that went on at once.',
      ),
    asOf: Instant.nullable().describe('When the facts of the source were true.'),
    source: SourceView.nullable().describe('What was read; null also where there was nothing new.'),
    rows: Count.nullable(),
    records: Count.nullable().describe('Rows that became a record.'),
    counts: Counts.nullable(),
    guards: z.array(Verdict).nullable(),
    warnings: Warnings,
    verification: Verification.nullable().describe('What reading back from the platform found.'),
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

export const ValueMeaning = z
  .enum(['employed', 'left', 'contractor', 'employee'])
  .describe('employed and left class a status, contractor and employee a value of the contractor column.')

export const ClassifiedValue = z
  .object({
    field: ListedField,
    value: z.string().describe('As it is compared: without blanks around it, in lower case.'),
    as: ValueMeaning,
    by: z.string(),
    at: z.iso.datetime(),
  })
  .meta({ id: 'ClassedValue' })
export type ClassifiedValue = z.infer<typeof ClassifiedValue>

export const Problem = z
  .object({
    connection: z.string(),
    identityId: z.string(),
    name: z.string().nullable().optional().describe('Only where values are asked for. Null: none is known.'),
    state: z
      .enum(['refused', 'undelivered'])
      .describe(
        '`refused`: the platform turned this person down. `undelivered`: the delivery fails for a while, or waits behind a block.',
      ),
    runId: z.string().describe('The run that met it last.'),
    kind: ChangeKind,
    leaver: z.boolean().describe('The platform may still take this person for employed.'),
    status: z.number().int().nullable().describe('What the platform answered.'),
    code: z.string().nullable().describe('What `GET /failures` calls the answer.'),
    message: z.string(),
    firstAt: Instant.describe('Since when.'),
    ageSeconds: Count,
    lastAt: Instant.nullable().describe('When the platform answered about this person last; null: it has not.'),
    nextAt: Instant.nullable().describe('When it is tried again. Null: by the next run, and no schedule says when.'),
    times: Count.describe('How often it was tried in vain.'),
  })
  .meta({ id: 'Problem' })
export type Problem = z.infer<typeof Problem>

export const BlockedPerson = z
  .object({
    connection: z.string(),
    identityId: z.string().nullable().describe('Null: the key of the row cannot be read.'),
    name: z.string().nullable().optional().describe('Only where values are asked for. Null: none is known.'),
    leaver: z.boolean().describe('The person may have left, and the platform may still take them for employed.'),
    cellOnly: z
      .boolean()
      .describe('True: one field stays as it was, and the rest of the row counts. False: the whole row is rejected.'),
    contradicts: z
      .literal(true)
      .optional()
      .describe(
        'All of the row counts, and its status contradicts its leaving date: HR has to correct one of the two. Left out everywhere else.',
      ),
    column: z.string().nullable(),
    reason: z.string(),
    source: z.string().nullable().describe('The export that said so last.'),
    line: Count.nullable().describe('The line in it, or the first of its lines. Null where the row could be read.'),
    rows: Count.describe('How many of its rows have this fault.'),
    runId: z.string().describe('The run that met it last.'),
    accepted: z.boolean().describe('A plan with it was accepted; false: its plan is held.'),
    firstAt: Instant.describe('Since when.'),
    ageSeconds: Count,
    lastAt: Instant.describe('When it was read last.'),
  })
  .meta({ id: 'BlockedPerson' })
export type BlockedPerson = z.infer<typeof BlockedPerson>

export const FailureView = z
  .object({
    code: z.string(),
    when: z.string().describe('What the platform did.'),
    action: z.enum(deliveryActions),
    follows: z.string().describe('What comes of it.'),
    helps: z.string().nullable().describe('What an operator can do; null where there is nothing to do.'),
    uncertain: z.boolean().describe('The request may have been applied: what the platform holds is read back.'),
  })
  .meta({ id: 'Failure' })
export type FailureView = z.infer<typeof FailureView>

const Fault = z.object({
  column: z.string().nullable(),
  reason: z.string(),
  source: z.string().nullable(),
  line: Count,
})

export const Person = z
  .object({
    connection: z.string(),
    identityId: z.string(),
    desired: RecordView.nullable().describe('What HR says.'),
    confirmed: RecordView.nullable().describe('What the platform acknowledged last.'),
    due: z.array(z.string()).describe('The fields in which the two differ.'),
    asOf: Instant.nullable().describe('When the desired facts were true.'),
    inferred: z.boolean().describe('The desired leaving date was inferred.'),
    deferredTo: z.string().nullable().describe('A stated leaving date that waits for its day.'),
    waiting: z
      .array(
        z.object({
          effectiveOn: z.string().describe('The day on which the row takes effect.'),
          leaves: z.boolean().describe('The row speaks of leaving.'),
          leavingDate: z.string().nullable().describe('The leaving date that it states.'),
          fields: z.array(z.string()).describe('The fields that it states.'),
        }),
      )
      .describe('Rows that wait for their day, the earliest first.'),
    absences: Count,
    retracted: z.object({ reason: z.string(), at: Instant }).nullable(),
    heldBack: HoldBack.omit({ identityId: true })
      .nullable()
      .describe('Whether an operator holds leavings of this person back.'),
    keys: z.array(z.string()).describe('Further keys by which HR has named this person since.'),
    forgotten: z.literal(true).optional().describe('The values were removed on request.'),
    overtaken: z
      .array(
        z.object({
          id: z.string(),
          eventId: z.string().nullable(),
          runId: z.string().nullable(),
          receivedAt: Instant,
          reason: z.string(),
        }),
      )
      .optional()
      .describe('Events of late that had no effect on the person, the newest first; left out where there is none.'),
    blockedBy: z
      .array(Fault)
      .optional()
      .describe(
        'What HR has to correct in the rows of the person: what cannot be read, and what contradicts itself. Left out where there is nothing.',
      ),
    unserved: deprecatedName(z.array(Fault), 'blockedBy'),
    changes: z.array(PersonChange).describe('Newest first.'),
    leavers: z.array(Leaver).describe('How far each departure of the person has come, the newest first.'),
  })
  .meta({ id: 'Person' })
export type Person = z.infer<typeof Person>

const NamedPeople = z.object({ count: Count, keys: z.array(z.string()).readonly() })

export const RevertAccount = z
  .object({
    runId: z.string().describe('The run that is reverted.'),
    people: Count.describe('People who go back to what was known of them before.'),
    joiners: NamedPeople.describe('People who joined by it. A retraction of each takes them back.'),
    retracted: NamedPeople.describe(
      'People who were taken back by it. Withdrawing the retraction of each sends them again.',
    ),
    left: z
      .object({
        count: Count,
        people: z.array(z.object({ identityId: z.string(), reason: z.string() })).readonly(),
      })
      .describe('People who are left as they are.'),
  })
  .meta({ id: 'RevertAccount' })
export type RevertAccount = z.infer<typeof RevertAccount>

export const RunAccount = z
  .object({
    revert: RevertAccount.nullable().describe('Of a run that reverts another one: what becomes of its people.'),
    person: PersonAccount.nullable().describe(
      'Of a run of one person: their rows, how each was read, and what was decided.',
    ),
  })
  .meta({ id: 'RunAccount' })
export type RunAccount = z.infer<typeof RunAccount>

export const EventState = z.enum(['pending', 'held', 'settled', 'rejected', 'dismissed', 'test'])

export type EventState = z.infer<typeof EventState>

export const InboxEvent = z
  .object({
    id: z.string(),
    connection: z.string(),
    eventId: z.string().nullable().describe('What the sender calls it.'),
    state: EventState,
    receivedAt: Instant,
    runId: z.string().nullable().describe('The run that read it last, or whose decision it waits for.'),
    reason: z.string().nullable().describe('Why it was set aside, or what could not be used.'),
  })
  .meta({ id: 'InboxEvent' })
export type InboxEvent = z.infer<typeof InboxEvent>

const ProblemTally = z.object({
  people: Count,
  leavers: Count.describe('Those of them that the platform may still take for employed.'),
})

export const ConnectionStatus = z.object({
  name: z.string(),
  target: z.string().describe('The connection of the platform that this one feeds.'),
  people: z.object({
    desired: Count.describe('Everybody HR has told of.'),
    separated: Count.describe('Those of them who have left.'),
    due: Count.describe('Those that have yet to be sent to the platform.'),
  }),
  problems: z.object({
    refused: ProblemTally.describe('People that the platform turned down.'),
    undelivered: ProblemTally.describe('People whose delivery fails for a while, or waits behind a block.'),
  }),
  blockedPeople: BlockedPeopleCounts.describe('People who are blocked: what HR states of them cannot be sent.'),
  unserved: deprecatedName(BlockedPeopleCounts, 'blockedPeople'),
  foreign: ForeignTally.describe('People whom only the platform knows, as its list was read last.'),
  inDoubt: InDoubtCounts.nullable().describe('The people who are in doubt now. Null: no one.'),
  twoPeople: z.boolean().describe('Whether another person than asked for a run has to approve its plan.'),
  inbox: z
    .object({
      pending: Count.describe('Events that wait for a run, or for a person to decide about one.'),
      held: Count.describe('Those of them that were set aside until a person decides.'),
      rejected: Count.describe('Events that could not be understood.'),
    })
    .nullable()
    .describe('Null for a connection without a webhook.'),
  blocked: z
    .object({
      status: z.int(),
      code: z.string().nullable().describe('What `GET /failures` calls the answer.'),
      reason: z.string(),
      since: Instant,
      probeAt: Instant.nullable().describe('When it is tried again.'),
    })
    .nullable(),
  paused: Pause.nullable().describe('Null: it takes in what is new by itself.'),
  active: Run.nullable().describe('The run at work, else the one that waits or is held.'),
  last: Run.nullable().describe('The newest run that has ended.'),
  nextAt: Instant.nullable().describe(
    'When the schedule reads the source next, after a pause that ends by itself. Null: it does not.',
  ),
  nextVerifyAt: Instant.nullable().describe('When what the platform holds is read back next.'),
  nextSampleAt: Instant.nullable().describe('When leavers and a sample of the others are read back next.'),
})
export type ConnectionStatus = z.infer<typeof ConnectionStatus>

export const Status = z
  .object({
    version: z.string(),
    daemon: z.object({ pid: z.number().int(), startedAt: Instant }).nullable().describe('Null where none runs.'),
    configuration: z.string().describe('The file of the configuration in use.'),
    database: z.string(),
    queue: z.string(),
    platform: z.string(),
    platformDelay: z
      .string()
      .optional()
      .describe(
        'Why no request gets through to the platform, since when, and when it is tried again, in words. Left out: the newest one was answered.',
      ),
    alerts: z.array(Alert).describe('What needs the attention of a person now, by connection and kind.'),
    unsigned: z.string().optional().describe('Why nothing is added to the audit trail; left out where all is well.'),
    processes: z.array(Process).describe('The processes of the daemon that work on this store.'),
    reload: Reload.optional().describe(
      'What became of the newest reload of the configuration; left out: there was none.',
    ),
    connections: z.array(ConnectionStatus),
  })
  .meta({ id: 'Status' })
export type Status = z.infer<typeof Status>

export const About = Status.pick({ version: true, daemon: true })
  .extend({ connections: z.array(z.string()).describe('The names of all connections.') })
  .meta({ id: 'About' })
