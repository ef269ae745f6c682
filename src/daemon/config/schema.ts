import { z } from 'zod'
import { secretReference } from '../../connectors/file/source-settings.ts'
import type { ConnectorKind } from '../../connectors/kind.ts'
import { connectorKinds } from '../../connectors/registry/registry.ts'
import { WebhookSettings } from '../../connectors/webhook/settings.ts'
import { roles } from '../../contract/control/access.ts'
import type { ChangeKind } from '../../identity/change.ts'
import { Guards } from '../../identity/guards/limits.ts'
import { MappingPatch } from '../../identity/mapping/mapping.ts'
import { TimeZone } from '../../identity/mapping/zones.ts'
import { Alerts } from './alert-settings.ts'
import { MetricsAccess, openOnLoopback } from './metrics-settings.ts'
import { addressFaults, isReadable } from './platform-address.ts'
import { RecordTarget } from './record-settings.ts'
import { Blackouts, Cron, JitterMinutes } from './schedule-settings.ts'
import { TracesFile } from './trace-settings.ts'

/** The base addresses of the platform's regions. */
export const regions = {
  default: 'https://public-api.drata.com/public/v2',
  eu: 'https://public-api.eu.drata.com/public/v2',
  apac: 'https://public-api.apac.drata.com/public/v2',
} as const

const regionNames = ['default', 'eu', 'apac'] as const satisfies readonly (keyof typeof regions)[]

const Platform = z
  .strictObject({
    region: z.enum(regionNames).optional().describe('The region of the account. Default: default (North America).'),
    baseUrl: z
      .url({ protocol: /^https?$/, error: 'expected an address that begins with https:// or http://' })
      .optional()
      .describe('The address of the API, instead of region, for a platform of your own.'),
    insecure: z
      .boolean()
      .default(false)
      .describe(
        'Allows http:// in baseUrl for another machine than this one. Anyone on the way can then read and change what is sent, and the ' +
          'API key. Every start warns of it.',
      ),
    caFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        "The file of the root certificates (PEM) that the platform's certificate must lead to, instead of the well-known ones. Relative " +
          'to the folder of the configuration file.',
      ),
    apiKey: z
      .string()
      .min(1, { error: 'is empty: check the variable or the file that it comes from' })
      .describe(`The API key, as ${secretReference}. The key itself may not be written here.`),
    timeoutMs: z
      .int()
      .min(1000)
      .max(600_000)
      .default(30_000)
      .describe('How long one request may take, in milliseconds.'),
    requestsPerMinute: z
      .int()
      .min(1)
      .default(450)
      .describe(
        'How many requests a minute all daemons that share a database send together. The platform allows 500 for one address.',
      ),
    inFlight: z
      .int()
      .min(1)
      .max(16)
      .default(4)
      .describe('How many requests of one process are under way at the same time.'),
  })
  .refine(({ region, baseUrl }) => region === undefined || baseUrl === undefined, {
    path: ['baseUrl'],
    error: 'name either region or baseUrl, not both',
  })
  .superRefine((platform, context) => {
    for (const [setting, message] of addressFaults(platform))
      context.addIssue({ code: 'custom', path: [setting], message })
  })
  .describe('Where changes go, and how fast.')

const shortestToken = 16

const Oidc = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(60)
      .default('your company account')
      .describe('What the button says behind "Sign in with".'),
    issuer: z
      .url({ protocol: /^https?$/, error: 'expected an address that begins with https://' })
      .refine((text) => !isReadable(text), { error: 'http:// is for this machine alone' })
      .describe('The provider, as it names itself: what stands before /.well-known/openid-configuration.'),
    clientId: z.string().min(1).describe('What the provider calls Rollcall.'),
    clientSecret: z.string().min(1).describe(`The secret of the client, as ${secretReference}.`),
    scopes: z
      .array(z.string().regex(/^[!#-[\]-~]+$/))
      .default(['openid', 'profile', 'email'])
      .refine((scopes) => scopes.includes('openid'), { error: 'openid is missing' })
      .describe('What is asked for. Some providers give the groups for a scope such as groups.'),
    rolesFrom: z.string().min(1).default('groups').describe('The claim that names the groups of a person.'),
    roles: z
      .record(z.string(), z.enum(roles))
      .refine((given) => Object.keys(given).length > 0, { error: 'name at least one group' })
      .describe(
        'The role of each group. A person has the highest role of their groups, and without one is not let in.',
      ),
  })
  .describe(
    'Lets people sign in by OpenID Connect. It needs publicUrl, where the provider sends them back to /sign-in/callback.',
  )

const ProxyAddress = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])

const Server = z
  .strictObject({
    host: z.string().min(1).default('127.0.0.1').describe('The address that the daemon listens on.'),
    port: z
      .int()
      .min(0)
      .max(65_535)
      .default(8686)
      .describe('The port that the daemon listens on. 0 means any free port.'),
    token: z
      .string()
      .refine((token) => token === '' || token.length >= shortestToken, {
        error: `is shorter than ${shortestToken} characters: make one with "openssl rand -base64 32"`,
      })
      .optional()
      .describe(
        `A token of the role admin for the control API over TCP, as ${secretReference}, besides those that "rollcall token create" makes. Default: none.`,
      ),
    publicUrl: z
      .url({ protocol: /^https?$/, error: 'expected an address that begins with https:// or http://' })
      .refine((text) => URL.parse(text)?.pathname === '/' && !/[?#@]/.test(text), {
        error: 'names more than a host: write it as https://rollcall.acme.example',
      })
      .optional()
      .describe(
        'The address at which people reach the console, as behind a proxy. With https:// its cookies travel over HTTPS only. Default: host and port.',
      ),
    trustedProxies: z
      .array(
        z.string().refine((text) => ProxyAddress.safeParse(text).success, {
          error: 'expected an address or a network, such as 10.0.0.0/8',
        }),
      )
      .default([])
      .describe(
        'The addresses or networks of your proxies. Of requests from them, X-Forwarded-For names the sender; without it, wrong tokens of one person make everybody behind a proxy wait.',
      ),
    hosts: z
      .array(z.string().regex(/^[a-z0-9.-]+$/, { error: 'a name of a host in small letters, without a port' }))
      .default([])
      .describe(
        'Further names under which the daemon is reached. Requests to another name are refused, so that no page of another site reaches it by a name of its own.',
      ),
    sessions: z
      .strictObject({
        idleMinutes: z
          .int()
          .min(1)
          .max(1440)
          .default(60)
          .describe('A person who does nothing for so long has to sign in again.'),
        hours: z.int().min(1).max(168).default(12).describe('A sign-in ends after so long, however much it is used.'),
      })
      .prefault({})
      .describe('How long people stay signed in.'),
    oidc: Oidc.optional(),
    metrics: MetricsAccess,
  })
  .superRefine(({ oidc, publicUrl }, context) => {
    if (oidc === undefined || publicUrl !== undefined) return
    const message = 'needs server.publicUrl: the provider sends people back there'
    context.addIssue({ code: 'custom', path: ['oidc'], message })
  })

const Audit = z
  .strictObject({
    signingKey: z
      .string()
      .min(1, { error: 'is empty: check the variable or the file that it comes from' })
      .optional()
      .describe(
        `The ed25519 key in PKCS#8 PEM that signs the audit trail, as ${secretReference}. Needed if several daemons share a database. ` +
          'Default: a key that is generated into dataDir.',
      ),
  })
  .describe('How the audit trail is signed.')

const Retention = z
  .strictObject({
    valuesDays: z
      .int()
      .min(1)
      .max(3650)
      .default(30)
      .describe(
        'How many days the personal values of a finished run, its rejected rows, and events that could not be used are kept. Keys, dates of ' +
          'leaving, counts and digests stay.',
      ),
    historyDays: z
      .int()
      .min(90)
      .max(36_500)
      .default(1095)
      .describe('How many days finished runs are kept at all. The last hundred of a connection stay.'),
  })
  .describe('How long the store keeps what it no longer needs.')

const Approvals = z
  .strictObject({
    expireHours: z
      .int()
      .min(1)
      .max(8760)
      .default(72)
      .describe(
        'For how long a held plan can be approved. After that it has to be planned again on what is known then.',
      ),
    twoPeople: z
      .boolean()
      .default(false)
      .describe(
        'Whether the person who approves has to be another one than the one who asked for the run or brought in the configuration.',
      ),
  })
  .describe('What an approval of a held plan needs.')

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

const Target = z
  .discriminatedUnion('type', [PeopleTarget, RecordTarget])
  .describe(
    "The platform's custom connection: by name (created if it is missing) or by id (must exist). Of type CUSTOM it takes records of a shape of its own.",
  )

const connectionName = /^[a-z0-9-]{1,40}$/
const connectionNameError = 'a connection name has up to 40 of the signs a-z, 0-9 and -'

const statusMeansText =
  'When a status that says "left" counts. now (default): at once. onDate: on the leaving date of the row, for systems that set the status ahead.'
const onBadCellText =
  'What a cell costs that cannot be read. keepField (default): its field stays as it was, and the rest of the row counts. rejectRow: the whole row.'

const mappingSettings = {
  preset: z.string().optional().describe('A list of known columns to start from, such as generic.'),
  fields: MappingPatch.shape.fields.describe('Which column holds which field. This adds to the preset.'),
  record: MappingPatch.shape.record,
  status: MappingPatch.shape.status.describe('The column that says whether a person has left.'),
  statusMeans: MappingPatch.shape.statusMeans.describe(statusMeansText),
  action: MappingPatch.shape.action.describe('The column of a delta that says what each row is about.'),
  severalRows: MappingPatch.shape.severalRows.describe('What several rows of one person mean.'),
  onBadCell: MappingPatch.shape.onBadCell.describe(onBadCellText),
  rowTimeZone: MappingPatch.shape.rowTimeZone.describe("The column that names the time zone of a row's dates."),
}

const snapshotSettings = {
  scope: MappingPatch.shape.scope.describe(
    'Which rows are meant at all: a JSONata expression over the columns that gives true or false. Default: all.',
  ),
  outOfScope: z
    .enum(['hold', 'keep', 'separate'])
    .default('hold')
    .describe(
      'What follows for a person who was sent and whose row is no longer in scope. hold: the plan is held until a person decides. ' +
        'keep: the person stays as known. separate: the person is separated.',
    ),
  absence: z
    .enum(['separate', 'hold', 'ignore'])
    .default('separate')
    .describe(
      'What follows when a person is missing from a snapshot. separate: the person is separated. hold: the plan is held until a ' +
        'person decides. ignore: nothing.',
    ),
  graceRuns: z
    .int()
    .min(1)
    .default(1)
    .describe('How many accepted snapshots in a row a person must be missing from before the absence counts.'),
}

const [firstKind, ...otherKinds] = connectorKinds
const Source = z.discriminatedUnion('type', [sourceOf(firstKind), ...otherKinds.map(sourceOf)])

function sourceOf({ settings }: ConnectorKind) {
  return settings.safeExtend({ ...mappingSettings, ...snapshotSettings })
}

// Events count one after the other, so several about one person are no question.
const { severalRows: _severalRows, ...eventMapping } = mappingSettings
const Webhook = WebhookSettings.safeExtend(eventMapping)

const Delivery = z.strictObject({
  batchSize: z.int().min(1).max(1000).default(1000).describe('The most people in one request.'),
  batchBytes: z.int().min(10_000).default(1_000_000).describe('The most bytes in one request.'),
  updateWave: z
    .int()
    .min(0)
    .default(100)
    .describe(
      'If a batch has more leavers, returns and corrections than this, they are sent together instead of in one request each.',
    ),
})

const Leavers = z.strictObject({
  boundHours: z
    .int()
    .min(1)
    .max(8760)
    .default(24)
    .describe(
      'By when the platform is to have acknowledged a leaver: so many hours after the last day is over and the departure is known here. ' +
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
  .describe('What goes on while a plan waits for an approval.')

/** The kinds of change that these words mean. */
export function kindsSent({ send }: z.infer<typeof OnHold>): ChangeKind[] {
  return [...new Set(send)].map((word) => sentOnHold[word])
}

const Verify = z.union(
  [
    z.literal('never'),
    z.strictObject({
      cron: Cron.default('0 4 * * 0').describe('When: minute, hour, day, month, weekday. Default: Sundays at four.'),
      sampleCron: Cron.default('0 5 * * *').describe(
        'When the leavers of the last 30 days and a thousand of the others, chosen by chance, are read back. Default: every day at five.',
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
  .describe('The keys of people who are never separated or deleted without an approval that names them.')

const KeepValues = z
  .literal(true, {
    error:
      'values are always kept: take this setting out, and limit what is kept with retention, "rollcall forget" and an encrypted disk',
  })
  .optional()
  .describe('Outdated and without effect: values are always kept. Take it out; the next release refuses it.')

/** What a connection says that is planned from the source of another one. */
const Also = z
  .strictObject({
    target: Target,
    fields: MappingPatch.shape.fields.describe(
      'Which column holds which field. The key is that of the connection above.',
    ),
    record: MappingPatch.shape.record,
    status: MappingPatch.shape.status.describe('The column that says whether a person has left.'),
    statusMeans: MappingPatch.shape.statusMeans.describe(statusMeansText),
    onBadCell: MappingPatch.shape.onBadCell.describe(onBadCellText),
    scope: MappingPatch.shape.scope.describe(
      'Which rows are meant at all: a JSONata expression over the columns that gives true or false. Default: that of the connection above.',
    ),
    outOfScope: snapshotSettings.outOfScope,
    absence: snapshotSettings.absence,
    graceRuns: snapshotSettings.graceRuns,
    deliver: Deliver.optional(),
    verify: Verify.prefault({}).describe(
      'When the daemon reads back what the platform holds, as of the connection above.',
    ),
    guards: Guards.prefault({}).describe('How far a plan may go before a person has to approve it.'),
    pinned: Pinned,
    onHold: OnHold.prefault({}),
    keepValues: KeepValues,
    delivery: Delivery.prefault({}).describe('How changes are sent.'),
    leavers: Leavers.prefault({}).describe('How long a departure may take.'),
  })
  .describe('A linked connection: it reads the same export in its own run, and is guarded and held by itself.')

const Connection = z
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
      'When the daemon reads back what the platform holds and repairs every difference. never: only when an operator asks.',
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
  .superRefine(({ source, webhook, also }, context) => {
    if (!source && Object.keys(also).length > 0) {
      const message = 'needs a source: linked connections read the same export'
      context.addIssue({ code: 'custom', path: ['also'], message })
    }
    if (!source && !webhook) context.addIssue({ code: 'custom', message: 'name a source, a webhook, or both' })
    if (!source && webhook?.thin) {
      const message = 'events that only say that something changed need a source to read'
      context.addIssue({ code: 'custom', path: ['webhook', 'thin'], message })
    }
  })

/** Settings of a connection that must come from the environment or from a file. A list holds one in each place. */
export const connectionSecrets: readonly string[] = [...sourcePaths((kind) => kind.secrets), 'webhook.secrets']

/** Settings that may be a secret, as where a key takes the place of a user's name, and may stand in the configuration. */
export const possibleSecrets: readonly string[] = sourcePaths((kind) => kind.possibleSecrets)

/** These settings of every kind of source, each once. */
function sourcePaths(pathsOf: (kind: ConnectorKind) => readonly string[]): string[] {
  return [...new Set(connectorKinds.flatMap(pathsOf))].map((path) => `source.${path}`)
}

/** For what is checked once, as it is read. Making code for a check, as zod does for what is checked often, takes longer than the check. */
export const checkedOnce = { jitless: true } as const

/** The configuration as it is written: references resolved, presets not yet applied. */
export const ConfigFile = z.strictObject({
  platform: Platform,
  database: z
    .string()
    .refine((at) => at === '' || /^postgres(ql)?:\/\//.test(at), {
      error: 'expected an address that begins with postgres://, or nothing',
    })
    .default('')
    .describe('Where the state is kept: postgres://…, or empty for the embedded database in dataDir.'),
  queue: z
    .string()
    .refine((at) => at === '' || /^rediss?:\/\//.test(at), {
      error: 'expected an address that begins with redis://, or nothing',
    })
    .default('')
    .describe('Where the jobs wait: redis://…, or empty for the database.'),
  dataDir: z
    .string()
    .min(1)
    .default('./data')
    .describe('The folder of the embedded database and of generated secrets, relative to the folder of this file.'),
  server: Server.refine(openOnLoopback.holds, openOnLoopback.otherwise)
    .prefault({})
    .describe("The daemon's own address."),
  alerts: Alerts.prefault({}),
  audit: Audit.prefault({}),
  retention: Retention.prefault({}),
  approvals: Approvals.prefault({}),
  traces: TracesFile.prefault({}),
  connections: z
    .record(z.string().regex(connectionName, { error: connectionNameError }), Connection)
    .superRefine((connections, context) => {
      const named = namedConnections(connections)
      for (const { path, name } of named) {
        if (named.find((other) => other.name === name)?.path === path) continue
        context.addIssue({ code: 'custom', path, message: `there is another connection "${name}"` })
      }
      for (const [path, twin] of doubleTargets(named)) {
        const message = `connection ${twin} has the same target: two sources would undo each other's work`
        context.addIssue({ code: 'custom', path: [...path, 'target'], message })
      }
    })
    .default({})
    .describe(
      'Each connection feeds one custom connection of the platform from one HR source. Without any, the daemon waits for the first one.',
    ),
})

export type ConfigFile = z.infer<typeof ConfigFile>
export type ConnectionSettings = ConfigFile['connections'][string]
/** What a connection says of its source, or of its webhook. */
export type FeedSettings = NonNullable<ConnectionSettings['source'] | ConnectionSettings['webhook']>
export type AlsoSettings = ConnectionSettings['also'][string]
export type SourceSettings = z.infer<typeof Source>

/** The JSON Schema of the configuration file, for editors. */
export function jsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(ConfigFile, { io: 'input' })
  return { $schema, title: 'Rollcall configuration', ...schema }
}

type Named = { readonly name: string; readonly path: string[]; readonly target: z.infer<typeof Target> }

/** Every connection, with the linked ones. */
function namedConnections(
  connections: Readonly<Record<string, Pick<z.infer<typeof Connection>, 'target' | 'also'>>>,
): Named[] {
  return Object.entries(connections).flatMap(([name, { target, also }]) => [
    { name, path: [name], target },
    ...Object.entries(also).map(([linked, settings]) => ({
      name: linked,
      path: [name, 'also', linked],
      target: settings.target,
    })),
  ])
}

function doubleTargets(connections: readonly Named[]): [string[], string][] {
  const seen = new Map<string, string>()
  return connections.flatMap(({ name, path, target }): [string[], string][] => {
    const type = 'type' in target ? target.type : 'HRIS'
    const key = JSON.stringify(
      'id' in target && target.id !== undefined ? target.id : [type, 'name' in target && target.name],
    )
    const twin = seen.get(key)
    seen.set(key, name)
    return twin === undefined ? [] : [[path, twin]]
  })
}
