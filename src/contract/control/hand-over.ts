import { z } from 'zod'
import { operations } from '../operation.ts'
import { Count, Instant } from './plan-shapes.ts'
import { Values } from './plans.ts'

/** What a fault blocks, most urgent first. */
export const handOverBlocks = {
  departure: 'perhaps a departure',
  row: 'the whole row',
  field: 'this field only',
  nothing: 'nothing; the person stays separated',
} as const

/** What a fault of an event blocks, where the words for rows do not fit. */
export const eventBlocks: Readonly<Record<keyof typeof handOverBlocks, string>> = {
  ...handOverBlocks,
  row: 'the whole event',
}

/** The file formats of the hand-over. */
export const handOverFormats = ['csv', 'xlsx', 'html'] as const
/** A file format of the hand-over. */
export type HandOverFormat = (typeof handOverFormats)[number]

/** A row or cell for HR to correct. */
export const HandOverRow = z.object({
  identityId: z.string().nullable().describe('Null: the key of the row cannot be read.'),
  name: z.string().nullable().optional().describe('Only where values are asked for. Null: none is known.'),
  source: z.string().nullable().describe('The export that holds the row, or the event.'),
  line: Count.describe('The line in it, or the first of its lines; the item of an event.'),
  rows: Count.describe('How many of its rows are the same.'),
  cell: z
    .string()
    .nullable()
    .optional()
    .describe(
      'The cell as HR wrote it, at most 200 characters. Only where values are asked for. Null: the fault concerns the whole row.',
    ),
  problem: z.string().describe('What is wrong.'),
  blocks: z.enum(Object.keys(handOverBlocks) as [keyof typeof handOverBlocks, ...(keyof typeof handOverBlocks)[]]),
  firstAt: Instant.describe('Since when.'),
  isNew: z.boolean().describe('No mail to HR has listed it yet.'),
})
export type HandOverRow = z.infer<typeof HandOverRow>

/** Faults of one column with the same cause. */
export const HandOverGroup = z.object({
  connection: z.string(),
  kind: z.enum(['export', 'event']).describe('What has the faults: rows of an export, or events.'),
  column: z.string().nullable().describe('Null: the fault concerns the whole row or event.'),
  cause: z.string().nullable().describe('The code of the cause. Null: an earlier version recorded the fault.'),
  problem: z.string().describe('What is wrong with all of them.'),
  remedy: z.string().describe('What to write instead.'),
  count: Count.describe('How many cells, or rows where no column is named; fields and events if `kind` is `event`.'),
  people: Count.describe('How many people with a known key.'),
  departures: Count.describe('How many of the `entries` may hide a departure.'),
  cells: z
    .array(z.object({ cell: z.string(), count: Count }))
    .optional()
    .describe('The most frequent cells. Only with values.'),
  firstAt: Instant.describe('When the oldest fault was first seen.'),
  rows: z.array(HandOverRow).describe('Possible departures first, then the oldest.'),
  entries: Count.describe('The length of `rows` without `perGroup`. Equal rows are one entry, but several in `count`.'),
})
export type HandOverGroup = z.infer<typeof HandOverGroup>

/** What HR has to correct, by column and cause. */
export const HandOver = z
  .object({
    madeAt: Instant,
    count: Count.describe('How many cells and rows there are to correct.'),
    people: Count.describe('How many people with a known key.'),
    departures: Count.describe('How many entries may hide a departure.'),
    groups: z.array(HandOverGroup).describe('Those that may hide departures first, then the largest.'),
  })
  .meta({ id: 'HandOver' })
export type HandOver = z.infer<typeof HandOver>

/** The hand-over as a file. */
export const HandOverFile = z
  .object({
    name: z.string(),
    type: z.string(),
    content: z.string().describe('In base64.'),
    count: Count.describe('How many cells and rows there are to correct.'),
  })
  .meta({ id: 'HandOverFile' })
export type HandOverFile = z.infer<typeof HandOverFile>

const chosen = { connection: z.string().optional().describe('Of this connection only.'), values: Values }

/** How HR learns what it has to correct. */
export const handOverOperations = operations({
  getHandOver: {
    method: 'GET',
    path: '/reports/hand-over',
    permission: 'viewer',
    summary: 'What HR has to correct, by column and cause.',
    query: z.object({
      ...chosen,
      perGroup: z
        .int()
        .min(0)
        .max(100_000)
        .default(100_000)
        .describe('Maximum number of rows that are listed of each group.'),
    }),
    success: { 200: HandOver },
    errors: [400, 401, 403, 404, 500, 503],
  },
  getHandOverFile: {
    method: 'GET',
    path: '/reports/hand-over/file',
    permission: 'viewer',
    summary: 'What HR has to correct, as a file.',
    query: z.object({ ...chosen, format: z.enum(handOverFormats) }),
    success: { 200: HandOverFile },
    errors: [400, 401, 403, 404, 500, 503],
  },
})
