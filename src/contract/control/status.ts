import { z } from 'zod'
import { operations } from '../operation.ts'
import { Alert } from './alerts.ts'
import { connectionStates } from './connection-states.ts'
import { deprecatedName } from './deprecated.ts'
import { After, Limit, Search } from './lists.ts'
import { Pause } from './pauses.ts'
import { BlockedPeopleCounts, ForeignTally, InDoubtCounts, LeftOutTally } from './people-counts.ts'
import { Count, Instant } from './plan-shapes.ts'
import { Process, Reload } from './processes.ts'
import { Run } from './run-shapes.ts'

const ProblemTally = z.object({
  people: Count,
  leavers: Count.describe('Those of them that the platform may still take for employed.'),
})

/** The state of a connection: its people, problems, runs and next times. */
export const ConnectionStatus = z.object({
  name: z.string(),
  state: z
    .enum(connectionStates)
    .describe(
      'The platform refuses it, the state of its active run, paused, never read, how its last run ended, people with problems, people or events that wait, people in doubt, or in sync.',
    ),
  target: z.string().describe('The connection of the platform that this one feeds.'),
  people: z.object({
    desired: Count.describe('Everybody whom HR has stated.'),
    wanted: deprecatedName(Count, 'desired'),
    separated: Count.describe('Those of them who have left.'),
    due: Count.describe('Those that have yet to be sent to the platform.'),
  }),
  problems: z.object({
    refused: ProblemTally.describe('People that the platform turned down.'),
    undelivered: ProblemTally.describe('People whose delivery has been failing for 15 minutes, or is blocked.'),
  }),
  blockedPeople: BlockedPeopleCounts.describe('People who are blocked: what HR states of them cannot be sent.'),
  unserved: deprecatedName(BlockedPeopleCounts, 'blockedPeople'),
  foreign: ForeignTally.describe('People whom only the platform knows, as its list was read last.'),
  leftOut: LeftOutTally.optional().describe(
    'The people who were left out when a part of a plan was approved, and wait for an approval. Absent: no one waits.',
  ),
  inDoubt: InDoubtCounts.nullable().describe('The people who are in doubt now. Null: no one.'),
  twoPeople: z.boolean().describe('Whether another person than asked for a run has to approve its plan.'),
  requireReason: z.boolean().optional().describe('Whether approving or rejecting a held plan takes a reason.'),
  inbox: z
    .object({
      pending: Count.describe('Events that wait for a run, or for a person to decide about one.'),
      held: Count.describe('Those of them that were set aside until a person decides.'),
      rejected: Count.describe('Events that could not be understood.'),
    })
    .nullable()
    .describe('Null for a connection without a webhook.'),
  pushed: z
    .object({
      users: Count.describe('Users that the identity system has not deleted.'),
      active: Count.describe('Those of them that are active. The identity system should list as many.'),
      withoutKey: Count.describe('Active users without a key, of whom no person is known.'),
      lastAt: Instant.nullable().describe('When it sent a request last, to the minute. Null: never.'),
    })
    .optional()
    .describe('What an identity system pushed over SCIM. Left out where none pushes.'),
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
  asOf: Instant.nullable().describe(
    'The time as of which the newest accepted export states HR’s data. Null: none was accepted.',
  ),
  nextAt: Instant.nullable().describe(
    'When the schedule reads the source next, after a pause that ends by itself. Null: it does not.',
  ),
  nextVerifyAt: Instant.nullable().describe('When what the platform holds is verified next.'),
  nextSampleAt: Instant.nullable().describe('When leavers and a sample of the others are verified next.'),
})
export type ConnectionStatus = z.infer<typeof ConnectionStatus>

const Totals = z.object({
  employed: Count,
  problems: Count.describe('People that the platform turned down, or whose delivery fails or waits behind a block.'),
  blockedPeople: Count.describe('People and rows that are blocked.'),
  foreign: Count.describe('People whom only the platform knows, as employed.'),
  leftOut: Count.describe('People who were left out when a part of a plan was approved, and wait for an approval.'),
  stated: z.array(z.string()).describe('The connections with departures that operators state before HR.'),
  inDoubt: z.array(InDoubtCounts.extend({ connection: z.string() })).describe('The connections with people in doubt.'),
})

/** The state of the daemon and of its connections. */
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
    unsigned: z
      .string()
      .optional()
      .describe('The reason why audit entries cannot be signed and added to the trail; left out if they can.'),
    processes: z.array(Process).describe('The processes of the daemon that work on this store.'),
    reload: Reload.optional().describe(
      'What became of the newest reload of the configuration; left out: there was none.',
    ),
    connections: z.array(ConnectionStatus).describe('A page of the connections that were asked for, as configured.'),
    states: z
      .partialRecord(z.enum(connectionStates), Count)
      .describe('How many connections are in each state, of all that match `connection` and `search`.'),
    totals: Totals.describe('The people of all those connections together.'),
    next: z.string().nullable().describe('Give it as `after` for the connections that follow.'),
  })
  .meta({ id: 'Status' })
export type Status = z.infer<typeof Status>

/** The version, the daemon and the names of the connections. */
export const About = Status.pick({ version: true, daemon: true })
  .extend({
    connections: z.array(z.string()).describe('The names of all connections.'),
    receivers: z.array(z.string()).describe('Those of them that take events, by webhook or SCIM.'),
  })
  .meta({ id: 'About' })

/** How people see what runs here and the state of every connection. */
export const statusOperations = operations({
  about: {
    method: 'GET',
    path: '/about',
    permission: 'viewer',
    summary: 'The daemon, its version and the names of its connections. The store is not read.',
    success: { 200: About },
    errors: [401, 500],
  },
  status: {
    method: 'GET',
    path: '/status',
    permission: 'viewer',
    summary: 'The state of the daemon and of its connections.',
    query: z.object({
      connection: z.string().optional().describe('Only this one.'),
      search: Search.optional().describe('Those whose name has this part, in any spelling of its letters.'),
      state: z.enum(connectionStates).optional(),
      after: After,
      limit: Limit.default(100),
    }),
    success: { 200: Status },
    errors: [400, 401, 404, 500, 503],
  },
})
