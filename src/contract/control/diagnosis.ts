import { z } from 'zod'
import { operations } from '../operation.ts'

const Diagnosis = z
  .object({
    database: z.string().describe('What the database says of its version.'),
    bytes: z.int().describe('The size of the whole database.'),
    tables: z
      .array(z.object({ name: z.string(), bytes: z.int(), rows: z.int().describe('About how many.') }))
      .describe('The tables of the store, the largest first.'),
    migrations: z.array(z.object({ name: z.string(), appliedAt: z.iso.datetime() })),
    due: z
      .object({
        deliveries: z.int().describe('Batches that are to be delivered.'),
        people: z.int().describe('Their people.'),
        oldest: z.iso.datetime().nullable().describe('Since when the oldest of them is due.'),
        runs: z.int().describe('Runs that wait for their turn.'),
        events: z.int().describe('Events that wait for a run.'),
      })
      .describe('What the queue is to work on, as the store knows it.'),
  })
  .meta({ id: 'Diagnosis' })

/** What helps somebody who looks for the cause of a fault. */
export const diagnosisOperations = operations({
  diagnose: {
    method: 'GET',
    path: '/store/diagnosis',
    permission: 'operator',
    summary: 'The version, sizes and migrations of the database, and waiting work. It holds nothing about people.',
    success: { 200: Diagnosis },
    errors: [401, 403, 500, 503],
  },
})
