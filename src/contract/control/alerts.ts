import { z } from 'zod'

const Instant = z.string().describe('An instant in ISO 8601, in UTC.')
const Count = z.number().int().min(0)

/** What can be wrong with a connection; it has at most one open alert of each kind. */
export const AlertKind = z.enum(['blocked', 'overdue', 'held', 'run_failed', 'problems', 'unserved'])
export type AlertKind = z.infer<typeof AlertKind>

const about = {
  connection: z.string(),
  kind: AlertKind,
  code: z
    .string()
    .nullable()
    .describe(
      'Tells causes of one kind apart: a code of the failure table, the guards that hold a plan, when the newest unserved leaver was met. Null: there is one cause.',
    ),
  reason: z.string().describe('What is wrong, for people. It holds no key and no value of a person.'),
  since: Instant.describe('Since when it is so.'),
  people: Count.nullable().describe('How many people wait for that reason; null where none wait.'),
  leavers: Count.nullable().describe('How many of them have left, or have a leaving date to be corrected.'),
  runId: z.string().nullable().describe('The run that it is about.'),
}

/** What is wrong now, and whether that was sent. */
export const Alert = z
  .object({
    ...about,
    id: z.string().nullable().describe('Null until a daemon has looked.'),
    raisedAt: Instant.nullable(),
    notifiedAt: Instant.nullable().describe(
      'When it was last sent: accepted by alerts.url, or only logged if there is none.',
    ),
    lastFailure: z.string().nullable().describe('Why the last attempt to send it failed; null if it did not.'),
  })
  .meta({ id: 'Alert' })
export type Alert = z.infer<typeof Alert>

/** What is posted to `alerts.url`, signed as Standard Webhooks has it. */
export const AlertMessage = z
  .object({
    type: z.enum(['alert.raised', 'alert.cleared']),
    timestamp: Instant.describe('When this message was made.'),
    data: z.object({
      id: z.string().describe('The same in every message about one alert.'),
      ...about,
      raisedAt: Instant,
      clearedAt: Instant.nullable().describe('Since when it is over.'),
      reminder: z.boolean().describe('It was told before and is still so, or for another reason now.'),
    }),
  })
  .meta({ id: 'AlertMessage' })
export type AlertMessage = z.infer<typeof AlertMessage>
