import { z } from 'zod'
import { secretReference } from '../../connectors/file/source-settings.ts'
import { AlertKind } from '../../contract/control/alerts.ts'

const Secret = z.string().min(1, { error: 'is empty: check the variable or the file that it comes from' })

const HttpAddress = z
  .url({ protocol: /^https?$/, error: 'expected an address that begins with https:// or http://' })
  .refine((url) => !URL.parse(url)?.username && !URL.parse(url)?.password, {
    error: 'takes no user name and no password',
  })

/** An address that takes mail. */
export const MailAddress = z.email({ error: 'expected a mail address such as alerts@example.com' }).max(254)

const perHour = z
  .int()
  .min(1)
  .max(1000)
  .default(30)
  .describe('Maximum number of messages in an hour. Further alerts wait for the next message.')

/** Deprecated: removed after 0.1. Kinds of alerts under the names that a configuration may still use. */
export const deprecatedKinds = { unserved: 'blockedPeople' } as const satisfies Record<string, AlertKind>

type DeprecatedKind = keyof typeof deprecatedKinds
type WrittenKind = AlertKind | DeprecatedKind

const WrittenKind = z.enum([...AlertKind.options, 'unserved' satisfies DeprecatedKind])

/** Deprecated: removed after 0.1. Whether the configuration uses the old name of a kind. */
export function isDeprecatedKind(kind: WrittenKind): kind is DeprecatedKind {
  return Object.hasOwn(deprecatedKinds, kind)
}

/** Deprecated: removed after 0.1. The name of a kind that the configuration may name by its old name. */
export function currentKind(kind: WrittenKind): AlertKind {
  return isDeprecatedKind(kind) ? deprecatedKinds[kind] : kind
}

const filter = {
  connections: z.array(z.string()).min(1).optional().describe('The connections whose alerts it takes. Default: all.'),
  kinds: z
    .array(WrittenKind)
    .min(1)
    .optional()
    .describe('The kinds of alerts that it takes. Default: all. unserved is the deprecated name of blockedPeople.'),
}

const Webhook = z.strictObject({
  type: z.literal('webhook').describe('Posts each alert to your URL, with a signature.'),
  url: HttpAddress.describe(`The URL. Write it as ${secretReference} if the URL itself is a secret.`),
  secret: Secret.describe(
    `The secret that signs alerts, in the form of Standard Webhooks (whsec_… or whsk_…), as ${secretReference}.`,
  ),
  ...filter,
})

/** Where a receiver may be. */
const network = {
  allowPrivate: z
    .boolean()
    .default(false)
    .describe('Allows addresses of private networks and of this machine. Without it they are refused.'),
  insecure: z
    .boolean()
    .default(false)
    .describe('Allows http:// instead of https://. Anyone on the way can then read the messages and the address.'),
}

const Slack = z.strictObject({
  type: z
    .literal('slack')
    .describe('Posts to an incoming webhook of Slack, or of a chat that takes the same messages.'),
  url: HttpAddress.describe(`The address of the incoming webhook, as ${secretReference}.`),
  ...network,
  perHour,
  ...filter,
})

const Teams = z.strictObject({
  type: z.literal('teams').describe('Posts a card to a workflow of Microsoft Teams.'),
  url: HttpAddress.describe(`The address of the workflow, as ${secretReference}.`),
  ...network,
  perHour,
  ...filter,
})

/** The address of each receiver by its region. */
export const receiverAddresses = {
  pagerduty: { us: 'https://events.pagerduty.com', eu: 'https://events.eu.pagerduty.com' },
  opsgenie: { us: 'https://api.opsgenie.com', eu: 'https://api.eu.opsgenie.com' },
} as const

const region = z.enum(['us', 'eu']).default('us').describe('Where the account is.')

const PagerDuty = z.strictObject({
  type: z.literal('pagerduty').describe('Opens and resolves incidents of PagerDuty.'),
  routingKey: Secret.describe(`The key of an integration "Events API v2", as ${secretReference}.`),
  region,
  url: HttpAddress.optional().describe('Its address. Default: that of region.'),
  ...network,
  ...filter,
})

const Opsgenie = z.strictObject({
  type: z.literal('opsgenie').describe('Creates and closes alerts of Opsgenie, or of Jira Service Management.'),
  apiKey: Secret.describe(`The key of an API integration, as ${secretReference}.`),
  region,
  url: HttpAddress.optional().describe(
    'Its address. Default: that of region. Jira Service Management: https://api.atlassian.com/jsm/ops/integration.',
  ),
  ...network,
  ...filter,
})

const Smtp = z
  .strictObject({
    type: z.literal('smtp').describe('Sends mail.'),
    host: z
      .string()
      .regex(/^[A-Za-z0-9](?:[A-Za-z0-9.:-]{0,252}[A-Za-z0-9])?$/, { error: 'expected the name of a host' })
      .describe('The mail server.'),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .optional()
      .describe('Its port. Default: 587 with starttls, 465 with implicit, 25 with none.'),
    tls: z
      .enum(['starttls', 'implicit', 'none'])
      .default('starttls')
      .describe(
        'starttls: the connection has to change to TLS. implicit: TLS from the beginning. none: anyone on the way can read the mail.',
      ),
    user: z
      .string()
      .min(1)
      .optional()
      .describe(`The user name, if the server wants one. It may be ${secretReference}.`),
    password: Secret.optional().describe(`The password, as ${secretReference}.`),
    from: MailAddress.describe('The address of the sender.'),
    to: z.array(MailAddress).min(1).max(20).describe('The addresses of the recipients.'),
    ca: z
      .string()
      .min(1)
      .optional()
      .describe(
        "The file of the root certificates (PEM) that the server's certificate must lead to, instead of the well-known ones. Relative " +
          'to the folder of the configuration file.',
      ),
    perHour,
    ...filter,
  })
  .superRefine(({ user, password, tls, ca, to }, context) => {
    const issue = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message })
    if (user !== undefined && password === undefined) issue(['password'], 'is needed beside user')
    if (password !== undefined && user === undefined) issue(['user'], 'is needed beside password')
    if (password !== undefined && tls === 'none') issue(['tls'], 'a password is not sent without TLS')
    if (ca !== undefined && tls === 'none') issue(['ca'], 'is for starttls and implicit')
    for (const [at, one] of to.entries()) if (to.indexOf(one) !== at) issue(['to', at], 'stands there twice')
  })

const Channel = z
  .discriminatedUnion('type', [Webhook, Slack, Teams, PagerDuty, Opsgenie, Smtp])
  .superRefine((channel, context) => {
    if (!('insecure' in channel) || channel.insecure || channel.url === undefined) return
    const url = URL.parse(channel.url)
    if (url?.protocol !== 'http:') return
    if (channel.allowPrivate && /^(?:localhost|127\..*|\[::1\])$/.test(url.hostname)) return
    const message = 'http:// is not encrypted: write https://, or insecure: true'
    context.addIssue({ code: 'custom', path: ['url'], message })
  })

const placeholders = ['connection', 'kind', 'run', 'alert']

const Link = z
  .string()
  .superRefine((text, context) => {
    const unknown = [...text.matchAll(/\{([^}]*)\}/g)].find(([, name = '']) => !placeholders.includes(name))
    if (unknown) {
      const message = `${unknown[0]} is unknown: the placeholders are ${placeholders.map((name) => `{${name}}`).join(', ')}`
      context.addIssue({ code: 'custom', message })
    }
    const url = URL.parse(text.replaceAll(/\{\w+\}/g, 'x'))
    if (!url || !/^https?:$/.test(url.protocol))
      context.addIssue({ code: 'custom', message: 'expected an address that begins with https:// or http://' })
    else if (url.username || url.password)
      context.addIssue({ code: 'custom', message: 'takes no user name and no password: it stands in every message' })
  })
  .describe(
    'An address that messages show, such as https://wiki.example.com/rollcall?run={run}. {connection}, {kind}, {run} and {alert} are ' +
      'filled in. Default: the page of the console at server.publicUrl.',
  )

const channelName = /^(?!log$)[a-z0-9-]{1,40}$/

/** The section of the configuration file on alerts, before references are resolved. */
export const Alerts = z
  .strictObject({
    link: Link.optional(),
    overdueMinutes: z
      .int()
      .min(1)
      .max(10_080)
      .default(60)
      .describe('How long deliveries may fail, or wait for a worker, before an alert is raised.'),
    pausedHours: z
      .int()
      .min(1)
      .max(8760)
      .default(24)
      .describe(
        'How long a connection may be paused before an alert is raised. If events wait, overdueMinutes applies.',
      ),
    maxNotEffective: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(0)
      .describe(
        "How many people of a connection may have another status on the platform than HR's data implies before an alert is raised. A wait for the next " +
          'identity sync counts after two days.',
      ),
    contradictedNights: z
      .int()
      .min(1)
      .max(366)
      .default(3)
      .describe('For how many nights HR may contradict a stated departure before an alert is raised.'),
    maxGhosts: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(0)
      .describe(
        'How many accounts of a directory may be enabled although their person has left or is unknown to HR before an alert is raised.',
      ),
    freshHours: z
      .int()
      .min(1)
      .max(8760)
      .optional()
      .describe(
        'How old the newest export that was read may be before an alert is raised. Default: by the schedule of the connection, for a ' +
          'nightly one a day and a half.',
      ),
    remindHours: z.int().min(1).max(8760).default(24).describe('How often an alert that stays open is repeated.'),
    channels: z
      .record(
        z
          .string()
          .regex(channelName, { error: 'a channel name has up to 40 of the signs a-z, 0-9 and -, and is not log' }),
        Channel,
      )
      .default({})
      .describe('Where alerts go, by names of your own. Without channels, alerts are only logged.'),
  })
  .describe('How operators learn what needs attention.')

/** The settings of alerts, as the file has them. */
export type AlertsFile = z.infer<typeof Alerts>

/** Settings of a channel that must come from the environment or from a file, by its type. */
export const channelSecrets = {
  webhook: ['secret'],
  slack: ['url'],
  teams: ['url'],
  pagerduty: ['routingKey'],
  opsgenie: ['apiKey'],
  smtp: ['password'],
} as const

/** The default port for each kind of TLS. */
export const smtpPorts = { starttls: 587, implicit: 465, none: 25 } as const
