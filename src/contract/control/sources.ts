import { z } from 'zod'
import { operations } from '../operation.ts'
import { After, Limit, page } from './lists.ts'
import { Run } from './run-shapes.ts'

const Count = z.int().min(0)
const Instant = z.string().describe('An instant in ISO 8601, in UTC.')

/** The result of a source that a run read, and its text. */
export const sourceOutcomes = {
  reading: 'it is being read, or waits to be read',
  nothing_new: 'the source had nothing newer than the last export read',
  accepted: 'its plan was accepted',
  held: 'its plan waits for a decision',
  refused: 'a person rejected its plan',
  superseded: 'a newer plan replaced its held plan',
  cancelled: 'a person cancelled its run',
  failed: 'it could not be read, or no plan could be made from it',
} as const

/** The outcome of reading an export. */
export type SourceOutcome = keyof typeof sourceOutcomes

/** An export that was read, and its outcome. */
export const SourceReading = z
  .object({
    runId: z.string().describe('The run that looked at the source.'),
    connection: z.string(),
    at: Instant.describe('When the run was asked for.'),
    trigger: Run.shape.trigger,
    name: z
      .string()
      .nullable()
      .describe('The export, or the listing. Null: there was none, or it could not be opened.'),
    bytes: Count.nullable().describe('As it was delivered.'),
    asOf: Instant.nullable().describe('The time as of which it states HR’s data.'),
    mode: Run.shape.mode,
    rows: Count.nullable(),
    records: Count.nullable().describe('Rows that became a record.'),
    rejected: Count.nullable().describe('Rows that could not become one.'),
    incomplete: Count.nullable().describe('Rows with a cell that could not be read.'),
    outcome: z.enum(Object.keys(sourceOutcomes) as [SourceOutcome, ...SourceOutcome[]]),
    reason: z.string().nullable().describe('Why it is held, was refused or failed.'),
  })
  .meta({ id: 'SourceReading' })
export type SourceReading = z.infer<typeof SourceReading>

/** An export that was read, with its columns. */
export const SourceDetail = SourceReading.extend({
  header: z
    .object({
      mapped: z
        .array(z.object({ field: z.string(), column: z.string().describe('Several are joined by commas.') }))
        .describe('Which column each field was taken from.'),
      left: z.array(z.string()).describe('The columns that no field is taken from: their cells stay in the export.'),
    })
    .nullable()
    .describe('The columns as they were read. Null: nothing was read, or the header was not understood.'),
  warnings: z.array(z.string()).describe('What an operator should look at in the source.'),
}).meta({ id: 'SourceDetail' })
export type SourceDetail = z.infer<typeof SourceDetail>

/** Which exports came, and what became of each. */
export const sourceOperations = operations({
  listSources: {
    method: 'GET',
    path: '/sources',
    summary: 'The exports and listings that runs have read or refused, the newest first.',
    permission: 'viewer',
    query: z.object({
      connection: z.string().optional().describe('Of this connection only.'),
      after: After,
      limit: Limit.default(50),
    }),
    success: { 200: page(SourceReading, z.string()) },
    errors: [400, 401, 403, 404, 500, 503],
  },
  getSource: {
    method: 'GET',
    path: '/sources/:runId',
    summary: 'The columns of an export, with the field that each is mapped to.',
    permission: 'viewer',
    params: z.object({ runId: z.uuid() }),
    success: { 200: SourceDetail },
    errors: [400, 401, 403, 404, 500, 503],
  },
})
