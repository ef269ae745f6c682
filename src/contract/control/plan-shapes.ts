import { z } from 'zod'

/** An instant as text. */
export const Instant = z.string().describe('An instant in ISO 8601, in UTC.')
/** A count of people, rows or requests. */
export const Count = z.number().int().min(0)

/** The kinds of change that a plan can hold. */
export const ChangeKind = z.enum(['join', 'update', 'leave', 'return', 'correct', 'retract'])
export type ChangeKind = z.infer<typeof ChangeKind>

/** How many people and rows of a plan are of each kind. */
export const Counts = z.object({
  join: Count,
  update: Count,
  leave: Count,
  return: Count,
  correct: Count,
  retract: Count,
  unchanged: Count.describe('People of the source that the platform already has as HR says.'),
  rejected: Count.describe('Rows that could not become a record.'),
  incomplete: Count.describe('Rows that became one but for a cell that could not be read.'),
})
export type Counts = z.infer<typeof Counts>

/** A field whose values the configuration lists. */
export const ListedField = z.enum(['status', 'isContractor']).describe('A field whose values are a closed list.')

/** What one guard decided about a plan. */
export const Verdict = z.object({
  name: z.string().describe('The guard.'),
  actual: z.number(),
  limit: z.number().nullable().describe('Null for a guard that has no number to exceed.'),
  ok: z.boolean(),
  reason: z.string().optional(),
  people: z
    .array(z.string())
    .readonly()
    .optional()
    .describe('The keys of the first people that a failed guard counts.'),
  hints: z
    .array(z.string())
    .readonly()
    .optional()
    .describe('How the values of a field move where a guard failed, and what usually causes that.'),
  unlisted: z
    .array(z.object({ field: ListedField, value: z.string() }))
    .readonly()
    .optional()
    .describe('The first values that are in no list of the configuration, where a guard failed because of them.'),
  fields: z.array(z.string()).readonly().optional().describe('The fields of which a failed guard counts the values.'),
  taints: z
    .array(z.enum(['join', 'update', 'leave', 'return', 'correct', 'retract']))
    .readonly()
    .optional()
    .describe(
      'The kinds of change that a failed guard puts in doubt. The others may be sent if `onHold.send` of the connection names them.',
    ),
})
export type Verdict = z.infer<typeof Verdict>

/** A reference to a plan that a later run must reproduce. */
export const KeptPlan = z
  .strictObject({
    digest: z.string().describe('A digest of the plan.'),
    version: z.string().nullable().describe('The version of the source that was read; null: there was nothing new.'),
    basis: z.string().describe('A digest of the configuration, the platform and the values that operators classified.'),
    accepted: z.string().nullable().describe('The newest accepted run when the plan was made.'),
  })
  .describe('A plan, and what it was made from.')
export type KeptPlan = z.infer<typeof KeptPlan>

/** The name and size of what a run read. */
export const SourceView = z.object({
  name: z.string(),
  bytes: Count.describe('As it was delivered.'),
  textBytes: Count.optional().describe('In UTF-8, decrypted and unpacked; left out where that is no other size.'),
  end: z.string().optional().describe('How the end of a list was recognised; left out where the source is no list.'),
})
/** Sentences about the source for an operator. */
export const Warnings = z.array(z.string()).describe('What an operator should look at in the source.')

const FieldValue = z.union([z.string(), z.boolean(), z.null()])
/** The value of a field, or a mark that it is hidden. */
export const FieldView = z.union([FieldValue, z.object({ hidden: z.literal(true) })])

/** A record by field, with personal values hidden unless the caller asks for them. */
export const RecordView = z.record(z.string(), FieldView)
export type RecordView = z.infer<typeof RecordView>

/** The old and new value of a field. */
export const FieldChange = z
  .union([
    z.object({ from: FieldValue, to: FieldValue, inferred: z.literal(true).optional() }),
    z.object({ hidden: z.literal(true) }).describe('A personal value that was not asked for.'),
    z.object({ gone: z.literal(true) }).describe('A personal value that is no longer kept.'),
  ])
  .meta({ id: 'FieldChange' })
export type FieldChange = z.infer<typeof FieldChange>

/** The change of one person in a plan. */
export const ChangeView = z
  .object({
    kind: ChangeKind,
    identityId: z.string(),
    fields: z.record(z.string(), FieldChange).optional(),
    reason: z.string().optional().describe('Why a person is retracted.'),
    why: z
      .string()
      .optional()
      .describe('Of leavers, returns and corrections: on what evidence, and from which row. No personal values.'),
    person: RecordView.optional().describe(
      'Of leavers, returns and retractions: name, title, manager and e-mail, where personal values are asked for.',
    ),
    carried: z.boolean().describe('An earlier accepted run already contained this change and could not deliver it.'),
  })
  .meta({ id: 'Change' })
export type ChangeView = z.infer<typeof ChangeView>

/** A row, or a cell of one, that cannot be used. */
export const RejectView = z
  .object({
    line: Count.describe('Of the file, the header included, or of the items of an event; counted from 1.'),
    event: z.string().optional().describe('The event that the row came in.'),
    column: z.string().nullable(),
    reason: z.string(),
    identityId: z.string().nullable(),
    level: z
      .enum(['warning', 'rejected'])
      .describe('`warning`: the field of one cell is lost. `rejected`: the whole row does not count.'),
    cellOnly: z.boolean().describe('True: the field of the cell is lost, and the rest of the row applies.'),
    mayLeave: z
      .boolean()
      .describe('True: the row says that the person has left, or a cell that could say so cannot be read.'),
  })
  .meta({ id: 'Reject' })
export type RejectView = z.infer<typeof RejectView>

/** Whom a run would hold while it delivers all others. */
export const OthersGoOn = z
  .object({
    people: Count.describe('People who were left out when a part of a plan was approved. They alone would be held.'),
    runIds: z.array(z.string()).readonly().describe('The runs of which they were left out, at most three.'),
  })
  .meta({ id: 'OthersGoOn' })
export type OthersGoOn = z.infer<typeof OthersGoOn>

const PlanOfOne = z
  .object({
    connection: z.string(),
    mode: z.enum(['snapshot', 'delta']),
    source: SourceView.nullable().describe('Null where there is nothing new.'),
    asOf: Instant,
    digest: z.string(),
    rows: Count,
    records: Count,
    counts: Counts,
    guards: z.array(Verdict),
    leftOut: OthersGoOn.optional().describe(
      'The only people whom a run of it would hold; all others would be delivered. Absent: if a guard fails, everybody is held.',
    ),
    warnings: Warnings,
    kept: KeptPlan.describe('Give it as `plan` to a run that must come to exactly this plan.'),
    changes: z.array(ChangeView),
    rejects: z.array(RejectView),
  })
  .meta({ id: 'PlanOfOne' })
/** A plan that was neither stored nor sent. */
export const PlanDocument = PlanOfOne.extend({
  also: z
    .array(PlanOfOne)
    .optional()
    .describe('The plans of the linked connections, from the same export. Left out if there are none.'),
}).meta({ id: 'Plan' })
export type PlanDocument = z.infer<typeof PlanDocument>

/** A change of a person with the progress of its delivery. */
export const PersonChange = z.object({
  runId: z.string(),
  kind: ChangeKind,
  state: z.string().describe('How far its delivery has come.'),
  fields: z.record(z.string(), FieldChange).optional(),
  reason: z.string().optional(),
  source: z.string().nullable().describe('The row that said so, as `file:line`, or the event.'),
  plannedAt: Instant,
  sentAt: Instant.nullable(),
  answeredAt: Instant.nullable(),
  answer: z.object({ status: z.union([z.number(), z.string()]), message: z.string().optional() }).nullable(),
})
export type PersonChange = z.infer<typeof PersonChange>

const CellAccount = z.object({
  column: z.string(),
  field: z.string(),
  text: FieldView.nullable().describe('As it stands in the row. Null: the row does not speak of the column.'),
  value: FieldView.describe('What was read from it.'),
  normalised: z.boolean().describe('The value is written otherwise than the text.'),
  keeps: z.boolean().describe('The cell says nothing, and what is known stays.'),
  reason: z.string().nullable().describe('Why the cell cannot be used; null if it can.'),
})

/** How a run read the rows of one person, and what it decided. */
export const PersonAccount = z
  .object({
    identityId: z.string(),
    source: z.string(),
    asOf: Instant,
    rows: z.array(
      z.object({
        place: z.string().describe('The row, as `file:line`.'),
        reason: z.string().nullable().describe('Why the row does not count; null if it does.'),
        cells: z.array(CellAccount),
      }),
    ),
    decision: z.enum([...ChangeKind.options, 'none']),
    evidence: z.array(z.string()).describe('Why, in sentences.'),
    delivery: PersonChange.nullable().describe(
      'What was sent, and what the platform answered; null: there was nothing to send.',
    ),
  })
  .meta({ id: 'PersonAccount' })
export type PersonAccount = z.infer<typeof PersonAccount>

/** The plan of a run of one person. */
export const PersonPlan = PlanDocument.omit({ kept: true, also: true })
  .extend({ person: PersonAccount })
  .meta({ id: 'PersonPlan' })
export type PersonPlan = z.infer<typeof PersonPlan>
