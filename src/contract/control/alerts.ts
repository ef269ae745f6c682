import { z } from 'zod'
import { operations } from '../operation.ts'

const Instant = z.string().describe('An instant in ISO 8601, in UTC.')
const Count = z.number().int().min(0)

/** What can be wrong with a connection; it has at most one open alert of each kind. */
export const AlertKind = z.enum([
  // The platform refuses every request of the connection.
  'blocked',
  // Deliveries have been failing, or waiting for a worker, for too long.
  'overdue',
  // A batch is attempted again and again, and no attempt comes to its end.
  'repeated',
  'held',
  // The time for an approval runs out, or has run out.
  'expiring',
  'run_failed',
  'problems',
  // The newest population statement does not add up: a row, a person or an answer was lost.
  'unaccounted',
  // Possible leavers: what HR says of their leaving cannot be used. The status counts everybody who needs attention under the same name.
  'blockedPeople',
  'foreign',
  'leaver_late',
  // Somebody stated a departure without waiting for the second person.
  'emergency',
  'stated_departures',
  'not_effective',
  'directory',
  // The source was not read for too long, or only an old export is there.
  'stale',
  'paused',
  'hr_mail',
  'settings_differ',
])
export type AlertKind = z.infer<typeof AlertKind>

const about = {
  connection: z.string(),
  kind: AlertKind,
  code: z
    .string()
    .nullable()
    .describe(
      'Tells causes of one kind apart: a code of the failure table, the guards that hold a plan, when the newest fault of a blocked leaver was found, when the newest person whom only the platform knows was found. Null: there is one cause.',
    ),
  reason: z.string().describe('What is wrong, for people. It holds no key and no value of a person.'),
  consequence: z.string().describe('What happens if nobody acts.'),
  since: Instant.describe('Since when it is so.'),
  people: Count.nullable().describe('How many people wait for that reason; null where none wait.'),
  leavers: Count.nullable().describe('How many of them have left, or have a leaving date to be corrected.'),
  runId: z.string().nullable().describe('The run that it is about.'),
}

const Notified = z.object({
  channel: z.string().describe('A channel of the configuration, or log.'),
  sent: Count.describe('How many messages it has taken.'),
  notifiedAt: Instant.nullable().describe('When it took the last one.'),
  lastFailure: z.string().nullable().describe('Why the last attempt failed; null if it did not.'),
  nextAt: Instant.nullable().describe('When the next message is due: another attempt, or a reminder.'),
})

/** What is wrong now, and what was sent where. */
export const Alert = z
  .object({
    ...about,
    id: z.string().nullable().describe('Null until a daemon has looked.'),
    raisedAt: Instant.nullable(),
    link: z.string().nullable().describe('The address that alerts.link makes for it.'),
    notified: z.array(Notified).describe('How far each channel was notified, by name.'),
  })
  .meta({ id: 'Alert' })
export type Alert = z.infer<typeof Alert>

/** A place to which alerts go. */
export const AlertChannel = z
  .object({
    name: z.string(),
    type: z.enum(['log', 'webhook', 'slack', 'teams', 'pagerduty', 'opsgenie', 'smtp']),
    connections: z.array(z.string()).nullable().describe('Whose alerts it takes; null: of all.'),
    kinds: z.array(AlertKind).nullable().describe('Which kinds it takes; null: all.'),
    perHour: Count.nullable().describe('Maximum number of messages in an hour; null: no limit.'),
  })
  .meta({ id: 'AlertChannel' })
export type AlertChannel = z.infer<typeof AlertChannel>

/** What became of one test message. */
export const AlertTest = z
  .object({
    channel: z.string(),
    type: AlertChannel.shape.type,
    failure: z.string().nullable().describe('Why it was not taken; null if it was.'),
  })
  .meta({ id: 'AlertTest' })
export type AlertTest = z.infer<typeof AlertTest>

/** What is posted to a channel of the type webhook, signed as Standard Webhooks has it. */
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
      link: z.string().nullable().describe('The address that alerts.link makes for it.'),
    }),
  })
  .meta({ id: 'AlertMessage' })
export type AlertMessage = z.infer<typeof AlertMessage>

/** What `rollcall alerts test` posts to such a channel. */
export const AlertTestMessage = z
  .object({
    type: z.literal('alert.test'),
    timestamp: Instant.describe('When this message was made.'),
    data: z.object({ link: z.string().nullable() }),
  })
  .meta({ id: 'AlertTestMessage' })
export type AlertTestMessage = z.infer<typeof AlertTestMessage>

/** How people see alerts and test the channels. */
export const alertOperations = operations({
  listAlerts: {
    method: 'GET',
    path: '/alerts',
    permission: 'viewer',
    summary: 'The open alerts, their messages, and the channels.',
    success: { 200: z.object({ data: z.array(Alert), channels: z.array(AlertChannel) }) },
    errors: [401, 500, 503],
  },
  testAlerts: {
    method: 'POST',
    path: '/alerts/test',
    permission: 'operator',
    summary: 'Send a test message through one channel or all.',
    body: z.strictObject({ channel: z.string().optional() }),
    success: { 200: z.object({ data: z.array(AlertTest) }) },
    errors: [400, 401, 403, 404, 500],
  },
})
