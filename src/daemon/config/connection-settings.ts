import { z } from 'zod'
import type { ChangeKind } from '../../identity/change.ts'
import { Guards } from '../../identity/guards/limits.ts'
import { MappingPatch } from '../../identity/mapping/mapping.ts'
import { TimeZone } from '../../identity/mapping/zones.ts'
import { RecordTarget } from './record-settings.ts'
import { Blackouts, Cron, JitterMinutes } from './schedule-settings.ts'
import { isPushed, onBadCellText, Source, snapshotSettings, statusMeansText, Webhook } from './source-settings.ts'

const PeopleTarget = z
  .strictObject({
    type: z.literal('HRIS').optional().describe('People, which is the default.'),
    name: z.string().trim().min(1).max(191).optional().describe('The name of the custom connection.'),
    id: z.int().positive().optional().describe('The number of the custom connection.'),
  })
  .superRefine(({ name, id }, context) => {
    if ((name === undefined) === (id === undefined))
      context.addIssue({ code: 'custom', message: 'expected either name or id' })
  })
  .transform(({ name, id = 0 }): { readonly name: string } | { readonly id: number } =>
    name === undefined ? { id } : { name },
  )

const deliveredTo =
  "The platform's custom connection: by name (created if it is missing) or by id (must exist). Of type CUSTOM it takes records of a shape of its own."

const DirectoryTarget = z.strictObject({
  type: z
    .literal('DIRECTORY')
    .describe('The source lists accounts, which are compared with the people of HR. Nothing is sent.'),
})

const Target = z
  .discriminatedUnion('type', [PeopleTarget, RecordTarget, DirectoryTarget])
  .describe(`${deliveredTo} Of type DIRECTORY, accounts are compared and nothing is sent.`)

const LinkedTarget = z.discriminatedUnion('type', [PeopleTarget, RecordTarget]).describe(deliveredTo)

/** The form of a connection's name. */
export const connectionName = /^[a-z0-9-]{1,40}$/
/** What is wrong with a name that does not have this form. */
export const connectionNameError = 'a connection name has up to 40 of the signs a-z, 0-9 and -'

const Delivery = z.strictObject({
  batchSize: z.int().min(1).max(1000).default(1000).describe('Maximum number of people in a request.'),
  batchBytes: z.int().min(10_000).default(1_000_000).describe('Maximum number of bytes in a request.'),
  updateWave: z
    .int()
    .min(0)
    .default(100)
    .describe(
      'A batch with more leavers, returns and corrections than this sends them together, a smaller one one by one.',
    ),
})

const Leavers = z.strictObject({
  boundHours: z
    .int()
    .min(1)
    .max(8760)
    .default(24)
    .describe(
      'Maximum number of hours until the platform acknowledges a departure, from the end of the last day or from when Rollcall learned of it, whichever is later. ' +
        'A later one is a breach in the report of leavers, and raises an alert.',
    ),
})

/** The kinds of change as people call them. */
const sentOnHold = {
  leavers: 'leave',
  joiners: 'join',
  movers: 'update',
  returns: 'return',
  corrections: 'correct',
} as const satisfies Readonly<Record<string, ChangeKind>>

const OnHold = z
  .strictObject({
    send: z
      .array(z.enum(Object.keys(sentOnHold) as (keyof typeof sentOnHold)[]))
      .default([])
      .describe(
        'The kinds of change that are sent at once where a plan of the source is held and no failed guard puts them in doubt: leavers, ' +
          'joiners, movers, returns, corrections.',
      ),
  })
  .describe('What is sent while a plan waits for an approval.')

/** The kinds of change for these words. */
export function kindsSent({ send }: z.infer<typeof OnHold>): ChangeKind[] {
  return [...new Set(send)].map((word) => sentOnHold[word])
}

const Verify = z.union(
  [
    z.literal('never'),
    z.strictObject({
      cron: Cron.default('0 4 * * 0').describe('When: minute, hour, day, month, weekday. Default: Sundays at four.'),
      sampleCron: Cron.default('0 5 * * *').describe(
        'When the leavers of the last 30 days and a thousand others at random are verified. Default: daily at five.',
      ),
      timeZone: TimeZone.optional().describe(
        'The time zone of the cron lines. Default: that of the schedule, else of the source, else of the webhook.',
      ),
      jitterMinutes: JitterMinutes,
    }),
  ],
  {
    error: ({ input }) =>
      typeof input === 'object' ? undefined : "expected never, or a schedule such as { cron: '0 4 * * 0' }",
  },
)

const Deliver = z
  .enum(['direct', 'session'])
  .describe(
    'How records reach a CUSTOM connection. direct: change by change. session: the whole set at once, all or nothing. Default: session for snapshots, direct for deltas.',
  )

const Pinned = z
  .array(z.string().trim().min(1).max(191))
  .default([])
  .describe('The keys of people whom only an approval that names them separates or deletes.')

const KeepValues = z
  .literal(true, {
    error:
      'values are always kept: take this setting out, and limit what is kept with retention, "rollcall forget" and an encrypted disk',
  })
  .optional()
  .describe('Outdated and without effect: values are always kept. Take it out; the next release refuses it.')

/** The settings of a connection that is planned from the source of another one. */
const Also = z
  .strictObject({
    target: LinkedTarget,
    fields: MappingPatch.shape.fields.describe(
      'Which column holds which field. The key is that of the connection above.',
    ),
    record: MappingPatch.shape.record,
    status: MappingPatch.shape.status.describe('The column that says whether a person has left.'),
    statusMeans: MappingPatch.shape.statusMeans.describe(statusMeansText),
    onBadCell: MappingPatch.shape.onBadCell.describe(onBadCellText),
    scope: MappingPatch.shape.scope.describe('As for the connection above, whose scope is the default.'),
    outOfScope: snapshotSettings.outOfScope,
    absence: snapshotSettings.absence,
    graceRuns: snapshotSettings.graceRuns,
    deliver: Deliver.optional(),
    verify: Verify.prefault({}).describe(
      'When the daemon verifies what the platform holds, as of the connection above.',
    ),
    guards: Guards.prefault({}).describe('How far a plan may go before a person has to approve it.'),
    pinned: Pinned,
    onHold: OnHold.prefault({}),
    keepValues: KeepValues,
    delivery: Delivery.prefault({}).describe('How changes are sent.'),
    leavers: Leavers.prefault({}).describe('How long a departure may take.'),
  })
  .describe('A linked connection, with runs and guards of its own.')

/** Settings of a source that say something of a directory which it does not do. */
function unusedByDirectories(source: z.infer<typeof Source> | undefined): string[] {
  if (source === undefined) return []
  return [
    ...('take' in source && source.take === 'each' ? ['take'] : []),
    ...(keepsExports(source) ? [] : ['afterwards']),
    ...('watch' in source && source.watch !== 'off' ? ['watch'] : []),
  ]
}

function keepsExports(source: object): boolean {
  const { accepted = 'keep' } = (Reflect.get(source, 'afterwards') ?? {}) as { readonly accepted?: string }
  return accepted === 'keep'
}

/** A connection, as the file has it. */
export const Connection = z
  .strictObject({
    target: Target,
    source: Source.optional().describe("Where HR's data comes from, and how it is read."),
    webhook: Webhook.optional().describe('How the daemon reads the events that HR sends to its /webhooks/NAME.'),
    schedule: z
      .strictObject({
        cron: Cron.describe('When the export is read: minute, hour, day, month, weekday.'),
        timeZone: TimeZone.optional().describe(
          'The time zone of the cron line. Default: that of the source, else of the webhook.',
        ),
        jitterMinutes: JitterMinutes,
      })
      .optional()
      .describe('When the daemon reads the source by itself. Without it, an operator or watch starts the runs.'),
    verify: Verify.prefault({}).describe(
      'When the daemon verifies what the platform holds and corrects every difference. never: only when an operator asks.',
    ),
    blackouts: Blackouts,
    guards: Guards.prefault({}).describe('How far a plan may go before a person has to approve it.'),
    pinned: Pinned,
    onHold: OnHold.prefault({}),
    keepValues: KeepValues,
    deliver: Deliver.optional(),
    delivery: Delivery.prefault({}).describe('How changes are sent.'),
    leavers: Leavers.prefault({}).describe('How long a departure may take.'),
    also: z
      .record(z.string().regex(connectionName, { error: connectionNameError }), Also)
      .default({})
      .describe(
        'Linked connections, by their names. They read the same export, which is fetched once for all of them.',
      ),
  })
  .superRefine(({ target, source, webhook, also }, context) => {
    const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
    if ('type' in target && target.type === 'DIRECTORY') {
      const isRead = source !== undefined && !isPushed(source)
      if (!isRead || source.mode !== 'snapshot') refuse(['source'], 'a directory needs a source of mode snapshot')
      for (const setting of unusedByDirectories(source))
        refuse(['source', setting], 'a directory reads its newest list only')
      if (webhook) refuse(['webhook'], 'a directory is read from a source')
      if (Object.keys(also).length > 0) refuse(['also'], 'connections cannot be linked to a directory')
      return
    }
    if (source && isPushed(source) && webhook) {
      const message = 'goes with a source that is read: give the events a connection of their own'
      context.addIssue({ code: 'custom', path: ['webhook'], message })
    }
    if ((!source || isPushed(source)) && Object.keys(also).length > 0) {
      const message = 'needs a source that is read: linked connections read the same export'
      context.addIssue({ code: 'custom', path: ['also'], message })
    }
    if (!source && !webhook) context.addIssue({ code: 'custom', message: 'name a source, a webhook, or both' })
    if (!source && webhook?.thin) {
      const message = 'events that only say that something changed need a source to read'
      context.addIssue({ code: 'custom', path: ['webhook', 'thin'], message })
    }
  })
