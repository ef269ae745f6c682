import { z } from 'zod'
import { operations } from '../operation.ts'
import { After, Limit, page } from './lists.ts'
import { Values } from './plans.ts'

const Instant = z.string().describe('An instant in ISO 8601, in UTC.')
const Day = z.iso.date()
const Count = z.number().int().min(0)
const Seconds = Count.nullable()

/**
 * Why a departure that the platform acknowledged is not effective in its personnel. `unread`: the personnel could not be read, so nothing
 * is known.
 */
export const leaverFindings = {
  set_by_hand: {
    unread: false,
    text: 'the status was set by hand on the platform, and identity sync leaves the person alone',
    helps: "reset the person's sync on the platform, or set the status there",
  },
  out_of_scope: {
    unread: false,
    text: 'the platform has the person out of scope or as a service account',
    helps: 'take the person back into scope on the platform if they were an employee',
  },
  no_person: {
    unread: false,
    text: 'the platform has no person with the e-mail that HR states, so the record matches no person, or one with another address',
    helps: 'compare the e-mail in HR with the one of the person on the platform',
  },
  unmatched: {
    unread: false,
    text: 'the platform cannot tell the employment of the person: no HR record is matched to them, or none says whether they are a contractor',
    helps: 'map isContractor, and compare the e-mail in HR with the one of the person on the platform',
  },
  other_key: {
    unread: false,
    text: 'another key has the same e-mail and is employed, and the platform uses the record of the employed one',
    helps: 'find out in HR whether the two keys are one person',
  },
  still_employed: {
    unread: false,
    text: 'the platform still shows the person as employed: no identity sync has run since the acknowledgement, or another HR connection says that they are employed',
    helps: 'run an identity sync on the platform, and look there for a second HR connection',
  },
  no_email: {
    unread: true,
    text: 'HR states no e-mail, and the platform finds a person by nothing else',
    helps: 'map the e-mail, or look the person up on the platform',
  },
  not_permitted: {
    unread: true,
    text: 'the API key may not read personnel',
    helps: 'give the API key the permissions personnel-get and personnel-get-personnel-details',
  },
  no_operation: {
    unread: true,
    text: 'the platform has no operation to read personnel',
    helps: 'look the person up on the platform',
  },
  unreachable: {
    unread: true,
    text: 'the platform did not answer, or could not be understood',
    helps: 'nothing: Rollcall reads it again by itself',
  },
} as const satisfies Record<string, { readonly unread: boolean; readonly text: string; readonly helps: string }>

/** The code of a finding. */
export type LeaverFinding = keyof typeof leaverFindings
export const LeaverFinding = z.enum(Object.keys(leaverFindings) as [LeaverFinding, ...LeaverFinding[]])

/** The state of a departure and its text. */
export const leaverStates = {
  held: 'not accepted yet: in a held plan, or left out when a part of one was approved',
  dropped: 'in a plan that was rejected, replaced or cancelled',
  waiting: 'accepted; it is sent on its day',
  sending: 'accepted, and not acknowledged by the platform yet',
  acknowledged: 'acknowledged by the platform; its personnel does not show it yet',
  not_effective: 'acknowledged by the platform, but not effective in its personnel',
  effective: 'effective in the personnel of the platform',
  returned: 'the person came back',
  withdrawn: 'the departure was withdrawn before it was sent',
  retracted: 'the person was sent by mistake and retracted',
} as const

/** The code of a state. */
export type LeaverState = keyof typeof leaverStates
export const LeaverState = z.enum(Object.keys(leaverStates) as [LeaverState, ...LeaverState[]])

/** One departure with its times, from HR's statement to its effect on the platform. */
export const Leaver = z
  .object({
    connection: z.string(),
    identityId: z.string(),
    name: z.string().nullable().optional().describe('Only where values are asked for.'),
    email: z.string().nullable().optional().describe('Only where values are asked for.'),
    state: LeaverState,
    runId: z.string().describe('The run whose plan has the departure.'),
    effectiveOn: Day.describe('The last day of employment.'),
    effectiveAt: Instant.describe('The end of that day in the time zone of the source.'),
    inferred: z.boolean().describe('No row states the day: it follows from absence or from a status.'),
    joinedLeft: z.boolean().describe('The person had left already when HR first named them.'),
    formerDates: z
      .array(z.object({ on: Day, inferred: z.boolean(), until: Instant }))
      .describe('The days that were stated before, and until when each of them applied.'),
    statedAt: Instant.describe('The time of the export, event or operator that states it.'),
    statedBy: z.string().nullable().describe('The operator who stated it before HR did; null: HR did.'),
    firstSeenAt: Instant.describe('When it was first seen here, also if the plan was then held.'),
    acceptedAt: Instant.nullable(),
    sentAt: Instant.nullable().describe('When the first request went out that the platform answered.'),
    acknowledgedAt: Instant.nullable(),
    visibleAt: Instant.nullable().describe('When Rollcall first saw the departure in the personnel of the platform.'),
    checkedAt: Instant.nullable().describe('When Rollcall last read the personnel.'),
    foundStatus: z.string().nullable().describe('The employment status that the personnel showed.'),
    finding: LeaverFinding.nullable().describe('Why the departure is not effective, or why Rollcall cannot know it.'),
    findingDetail: z.string().nullable(),
    findingText: z.string().nullable().describe('The finding in words.'),
    helps: z.string().nullable(),
    endedAt: Instant.nullable(),
    dueAt: Instant.describe('When the platform should have acknowledged the departure at the latest.'),
    late: z
      .boolean()
      .describe(
        'The platform acknowledged the departure after `dueAt`, or has not done so although `dueAt` has passed.',
      ),
    hrSeconds: Seconds.describe(
      "HR's delay: from the end of the last day to the export or event that states the departure. Null if an operator stated it, or if the person had left already when HR first named them.",
    ),
    ourSeconds: Seconds.describe(
      "Rollcall's delay: from the time when the last day is over and Rollcall knows the departure, to the acknowledgement.",
    ),
    platformSeconds: Seconds.describe(
      "The platform's delay: from the acknowledgement, or the end of the last day if that is later, until its personnel shows the departure.",
    ),
  })
  .meta({ id: 'Leaver' })
export type Leaver = z.infer<typeof Leaver>

const Figures = z
  .object({ people: Count, p50: Count, p95: Count, max: Count })
  .nullable()
  .describe('In seconds; null where there is none to count.')

/** Counts and times of a connection's departures in a period. */
export const LeaverSummary = z.object({
  connection: z.string(),
  timeZone: z.string(),
  boundHours: z.number(),
  people: Count.describe('Departures that were not undone (see `takenBack`). Only these are counted here and below.'),
  acknowledged: Count,
  effective: Count,
  notEffective: Count,
  late: Count.describe('Departures acknowledged after the bound, or not acknowledged though it has passed.'),
  lateOpen: Count.describe('Those of them that are still not acknowledged.'),
  takenBack: Count.describe(
    'Departures that were undone: the person returned, the departure was withdrawn, or the person was retracted. Listed, not counted.',
  ),
  held: Count.describe(
    'Departures that only a plan waiting for approval contains. They are not in `leavers` and not counted above.',
  ),
  hrSeconds: Figures,
  ourSeconds: Figures,
  platformSeconds: Figures,
})
export type LeaverSummary = z.infer<typeof LeaverSummary>

/** The departures of a period and their summary by connection. */
export const LeaverReport = z
  .object({
    from: Day,
    to: Day,
    madeAt: Instant,
    version: z.string(),
    connections: z.array(LeaverSummary),
    leavers: z.array(Leaver).describe('Departures that an accepted plan has stated, by connection, last day and key.'),
  })
  .meta({ id: 'LeaverReport' })
export type LeaverReport = z.infer<typeof LeaverReport>

/** The files that prove a report on leavers. */
export const LeaverPack = z
  .object({
    leavers: Count,
    files: z.array(
      z.object({
        name: z.string(),
        content: z.string(),
        encoding: z.enum(['utf8', 'base64']).describe('The encoding of `content`.'),
      }),
    ),
  })
  .meta({ id: 'LeaverPack' })
export type LeaverPack = z.infer<typeof LeaverPack>

const ofPeriod = {
  from: z.iso.date().describe('The first day of the period.'),
  to: z.iso
    .date()
    .optional()
    .describe('The last day of it. Default: today, in the time zone of the source where it is the latest.'),
  connection: z.string().optional().describe('Of this connection only.'),
}

/** Operations about departures. */
export const leaverOperations = operations({
  listNotEffective: {
    method: 'GET',
    path: '/leavers/not-effective',
    permission: 'viewer',
    summary: 'The people whose acknowledged departure the personnel of the platform does not show.',
    query: z.object({
      connection: z.string().optional(),
      after: After,
      limit: Limit.default(500),
      values: Values,
    }),
    success: { 200: page(Leaver, z.string()) },
    errors: [400, 401, 403, 404, 500, 503],
  },
  reportLeavers: {
    method: 'GET',
    path: '/reports/leavers',
    permission: 'viewer',
    summary: 'The report of departures whose last day lies in a period.',
    query: z.object({ ...ofPeriod, values: Values }),
    success: { 200: LeaverReport },
    errors: [400, 401, 403, 404, 500, 503],
  },
  packLeavers: {
    method: 'GET',
    path: '/reports/leavers/pack',
    permission: 'viewer',
    summary: 'The report of departures with its audit entries and a signature.',
    query: z.object({ ...ofPeriod, values: Values }),
    success: { 200: LeaverPack },
    errors: [400, 401, 403, 404, 409, 500, 503],
  },
})
