import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { expressionProblems } from '../../connectors/expressions/expressions.ts'
import { secretReference } from '../../connectors/file/source-settings.ts'
import type { WebhookSettings } from '../../connectors/webhook/settings.ts'
import { errorCode, Failure } from '../../errors.ts'
import type { ChangeKind } from '../../identity/change.ts'
import type { Guards } from '../../identity/guards/limits.ts'
import type { Trap } from '../../identity/lint/lint.ts'
import { Mapping, mergePreset } from '../../identity/mapping/mapping.ts'
import type { Retention } from '../../store/retention/retain.ts'
import type { AlertSettings, ChannelSettings } from '../alerts/channel.ts'
import { type AlertsFile, channelSecrets, smtpPorts } from './alert-settings.ts'
import { configurationDigest } from './configuration-digest.ts'
import { type ConfigDocument, type Path, type Problem, parseConfig } from './document.ts'
import { flatten, toProblems } from './issues.ts'
import { isReadable, refuseUncheckedTls, rootCertificates } from './platform-address.ts'
import { type Presets, readPresets } from './presets.ts'
import {
  ConfigFile,
  type ConnectionSettings,
  connectionSecrets,
  jsonSchema,
  kindsSent,
  possibleSecrets,
  regions,
  type SourceSettings,
} from './schema.ts'
import { Secret } from './secret.ts'

/** A configuration that was checked as a whole: paths are absolute, presets applied, secrets wrapped. */
export type Config = {
  /** The file it came from. */
  readonly file: string
  /** When the file was changed last, as it was read. */
  readonly changedMs: number
  /** Of the text of the file. */
  readonly digest: string
  /** The folder of that file; what sources name is relative to it. */
  readonly folder: string
  readonly platform: {
    readonly baseUrl: string
    /** True if what is sent can be read on the way. */
    readonly isReadable: boolean
    /** The root certificates of `caFile`; null: the well-known ones. */
    readonly ca: string | null
    readonly apiKey: Secret
    /** The reference that the key comes from, which is its name. */
    readonly apiKeyName: string
    readonly timeoutMs: number
    readonly requestsPerMinute: number
    readonly inFlight: number
  }
  /** postgres://…; null: embedded, in `dataDir`. May hold a password. */
  readonly database: Secret | null
  /** redis://…; null: the database. May hold a password. */
  readonly queue: Secret | null
  readonly dataDir: string
  /** `token` null: the control API is not served over TCP. */
  readonly server: { readonly host: string; readonly port: number; readonly token: Secret | null }
  /** `signingKey` null: one that is made in the data folder. */
  readonly audit: { readonly signingKey: Secret | null }
  /** How long the store keeps values of finished runs, and the runs themselves. */
  readonly retention: Retention
  readonly alerts: AlertSettings
  readonly approvals: ConfigFile['approvals']
  readonly connections: ReadonlyMap<string, ConnectionConfig>
}

/** How the rows of one feed become records, presets applied. */
export type FeedConfig = {
  /** The preset with the connection's own words over it. */
  readonly mapping: Mapping
  /** What the preset knows of its system. */
  readonly traps: readonly Trap[]
  readonly absence: 'separate' | 'hold' | 'ignore'
  readonly graceRuns: number
  readonly outOfScope?: 'keep' | 'separate' | 'hold'
  readonly timeZone: string
  readonly future: 'send' | 'defer'
}

export type SourceConfig = FeedConfig & {
  readonly settings: SourceSettings
  /** By their path below the source, such as `decrypt.privateKey`. */
  readonly secrets: ReadonlyMap<string, Secret>
}
export type WebhookConfig = FeedConfig & { readonly settings: WebhookSettings; readonly secrets: readonly Secret[] }

export type ConnectionConfig = {
  readonly name: string
  readonly target: { readonly name: string } | { readonly id: number }
  /** At least one of the two is there. */
  readonly source: SourceConfig | null
  readonly webhook: WebhookConfig | null
  /** When its source is read without anybody's asking. */
  readonly schedule: { readonly cron: string; readonly timeZone: string } | null
  /** When what the platform holds is read back. */
  readonly verify: { readonly cron: string; readonly timeZone: string } | null
  /** When leavers and a sample of the others are read back. */
  readonly sample: { readonly cron: string; readonly timeZone: string } | null
  readonly guards: Guards
  /** The keys of people who are neither separated nor deleted without an approval that names them. */
  readonly pinned: readonly string[]
  /** What goes on of a held plan. */
  readonly onHold: { readonly send: readonly ChangeKind[] }
  /** Whether values of people are kept once the platform has acknowledged them. */
  readonly keepValues: boolean
  /** A digest of how it is read and guarded. */
  readonly digest: string
  readonly delivery: { readonly batchSize: number; readonly batchBytes: number; readonly updateWave: number }
  readonly leavers: { readonly boundHours: number }
}

/** Settings that must come from the environment or from a file. */
const secretPaths: readonly Path[] = [
  ['platform', 'apiKey'],
  ['server', 'token'],
  ['audit', 'signingKey'],
]
const addressPaths: readonly Path[] = [['database'], ['queue']]

/** Reads and checks a configuration. Refuses with `config_invalid`, one line for each mistake: file, line, column, setting, what helps. */
export async function loadConfig(path: string, env: NodeJS.ProcessEnv): Promise<Config> {
  refuseUncheckedTls(env)
  const file = resolve(path)
  const folder = dirname(file)
  const shown = shownPath(file)
  const { text, changedMs } = await read(shown)
  const document = await parseConfig(text, { env, folder })
  refuse(shown, document.problems)
  const presets = await readPresets()
  const { platform, dataDir, server, alerts, retention, approvals, connections } = checked(shown, document, presets)
  const attempts = Object.entries(connections).map(([name, settings]) =>
    toConnection(name, settings, { document, presets, approvals }),
  )
  refuse(shown, unknownConnections({ alerts, connections }, document))
  refuse(
    shown,
    attempts.flatMap(({ problems }) => problems),
  )

  const { region = 'default', baseUrl = regions[region], caFile, insecure: _insecure, ...pace } = platform
  const ca = caFile === undefined ? null : await rootCertificates(resolve(folder, caFile))
  refuse(shown, ca?.problem === undefined ? [] : [problemAt(document, ['platform', 'caFile'], ca.problem)])
  return {
    file,
    changedMs,
    digest: `sha256:${createHash('sha256').update(text).digest('hex')}`,
    folder,
    platform: {
      ...pace,
      baseUrl: baseUrl.replace(/\/+$/, ''),
      isReadable: isReadable(baseUrl),
      ca: ca?.pem ?? null,
      apiKey: secretAt(document, ['platform', 'apiKey']),
      apiKeyName: document.writtenAt(['platform', 'apiKey']) ?? '',
    },
    database: optionalSecretAt(document, ['database']),
    queue: optionalSecretAt(document, ['queue']),
    dataDir: resolve(folder, dataDir),
    server: { host: server.host, port: server.port, token: optionalSecretAt(document, ['server', 'token']) },
    audit: { signingKey: optionalSecretAt(document, ['audit', 'signingKey']) },
    retention,
    alerts: toAlertSettings(alerts, { document, folder }),
    approvals,
    connections: new Map(attempts.flatMap(({ connection }) => (connection ? [[connection.name, connection]] : []))),
  }
}

/** Short where it can be: relative to the working directory for a file below it, unless that is the root. */
function shownPath(file: string): string {
  const short = relative('.', file)
  return short.startsWith('..') || `/${short}` === file ? file : short
}

async function read(path: string): Promise<{ readonly text: string; readonly changedMs: number }> {
  try {
    // Asked before: a change while it is read counts as a later one.
    const { ctimeMs } = await stat(path)
    return { text: await readFile(path, 'utf8'), changedMs: ctimeMs }
  } catch (error) {
    const code = errorCode(error) ?? 'unreadable'
    throw new Failure('config_invalid', `cannot read ${path} (${code}): name the configuration with --config`, {
      cause: error,
    })
  }
}

function refuse(path: string, problems: readonly Problem[]): void {
  if (problems.length === 0) return
  const lines = problems
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`)
  throw new Failure('config_invalid', lines)
}

function checked(path: string, document: ConfigDocument, presets: Presets): ConfigFile {
  const values = () => withFormats(document.values(), presets)
  let parsed = ConfigFile.safeParse(values())
  // What a reference yields is a text; where a number or a boolean is asked for, it is read as one.
  if (
    parsed.error &&
    flatten(parsed.error.issues)
      .map((issue) => document.convert(issue.path))
      .includes(true)
  ) {
    parsed = ConfigFile.safeParse(values())
  }
  const problems = toProblems(flatten(parsed.error?.issues ?? []), document, jsonSchema())
  refuse(path, [...problems, ...secretsInPlain(document)])
  if (parsed.data) return parsed.data
  throw parsed.error
}

function problemAt(document: ConfigDocument, path: Path, what: string): Problem {
  return { ...document.positionOf(path), message: `${path.join('.')}: ${what}` }
}

/** The values with what presets know of the form of their system's exports below the words of each source. */
function withFormats(values: unknown, presets: Presets): unknown {
  if (!isObject(values) || !isObject(values.connections)) return values
  const connections = Object.entries(values.connections).map(([name, connection]) => {
    const source = isObject(connection) ? connection.source : undefined
    if (!isObject(connection) || !isObject(source) || source.format === 'json') return [name, connection]
    return [name, { ...connection, source: { ...presets.get(String(source.preset))?.format, ...source } }]
  })
  return { ...values, connections: Object.fromEntries(connections) }
}

function secretsInPlain(document: ConfigDocument): Problem[] {
  const values = document.values()
  const ofConnections = Object.keys(objectAt(values, ['connections'])).flatMap((name) =>
    connectionSecrets.flatMap((path) => placesOf(values, ['connections', name, ...path.split('.')])),
  )
  const secrets = [...secretPaths, ...ofConnections, ...ofChannels(values)].filter(
    (path) => textAt(values, path) && !document.referencesAt(path),
  )
  const addresses = addressPaths.filter((path) => hasPassword(textAt(values, path)) && !document.referencesAt(path))
  return [...secrets, ...addresses].map((path) => ({
    ...document.positionOf(path),
    message: `${path.join('.')}: a secret stands in the configuration: put it into the environment or a file and write ${secretReference}`,
  }))
}

function ofChannels(values: unknown): Path[] {
  const at: Path = ['alerts', 'channels']
  return Object.keys(objectAt(values, at)).flatMap((name) => {
    const type = textAt(values, [...at, name, 'type'])
    if (!Object.hasOwn(channelSecrets, type)) return []
    return channelSecrets[type as keyof typeof channelSecrets].map((setting) => [...at, name, setting])
  })
}

/** The path itself, or those of its members where a list stands there. */
function placesOf(values: unknown, path: Path): Path[] {
  const value = valueAt(values, path)
  return Array.isArray(value) ? value.map((_, index) => [...path, index]) : [path]
}

function objectAt(values: unknown, path: Path): Record<string, unknown> {
  const value = valueAt(values, path)
  return isObject(value) ? value : {}
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textAt(values: unknown, path: Path): string {
  const value = valueAt(values, path)
  return typeof value === 'string' ? value : ''
}

function valueAt(values: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (parent, name) => (typeof parent === 'object' && parent ? Reflect.get(parent, name) : undefined),
    values,
  )
}

function hasPassword(address: string): boolean {
  return Boolean(URL.parse(address)?.password)
}

type Attempt = { readonly connection?: ConnectionConfig; readonly problems: readonly Problem[] }
type Known = {
  readonly document: ConfigDocument
  readonly presets: Presets
  readonly approvals: ConfigFile['approvals']
}

function toConnection(name: string, settings: ConnectionSettings, known: Known): Attempt {
  const at: Path = ['connections', name]
  const { document } = known
  const source = settings.source && toFeed(settings.source, [...at, 'source'], known)
  const webhook = settings.webhook && toFeed(settings.webhook, [...at, 'webhook'], known)
  const problems = [...(source?.problems ?? []), ...(webhook?.problems ?? [])]
  if (problems.length > 0) return { problems }

  const timeZone = settings.schedule?.timeZone ?? settings.source?.timeZone ?? settings.webhook?.timeZone ?? 'UTC'
  const { verify } = settings
  const readBackAt = (cron: 'cron' | 'sampleCron') =>
    verify === 'never' ? null : { cron: verify[cron], timeZone: verify.timeZone ?? timeZone }
  const connection: Omit<ConnectionConfig, 'digest'> = {
    name,
    target: settings.target,
    source:
      source?.feed && settings.source
        ? {
            ...source.feed,
            settings: settings.source,
            absence: settings.source.absence,
            graceRuns: settings.source.graceRuns,
            outOfScope: settings.source.outOfScope,
            secrets: secretsBelow(document, [...at, 'source']),
          }
        : null,
    webhook:
      webhook?.feed && settings.webhook
        ? {
            ...webhook.feed,
            settings: settings.webhook,
            secrets: [...secretsBelow(document, [...at, 'webhook']).values()],
          }
        : null,
    schedule: settings.schedule ? { cron: settings.schedule.cron, timeZone } : null,
    verify: readBackAt('cron'),
    sample: readBackAt('sampleCron'),
    guards: settings.guards,
    pinned: settings.pinned,
    onHold: { send: kindsSent(settings.onHold) },
    keepValues: settings.keepValues,
    delivery: settings.delivery,
    leavers: settings.leavers,
  }
  return { connection: { ...connection, digest: configurationDigest(connection, known.approvals) }, problems: [] }
}

/** Connections that a channel of alerts names and the configuration does not have. */
function unknownConnections(
  { alerts, connections }: Pick<ConfigFile, 'alerts' | 'connections'>,
  document: ConfigDocument,
): Problem[] {
  return Object.entries(alerts.channels).flatMap(([name, { connections: taken = [] }]) =>
    taken.flatMap((connection, at) => {
      if (Object.hasOwn(connections, connection)) return []
      const path = ['alerts', 'channels', name, 'connections', at]
      const known = Object.keys(connections).join(', ')
      const message = `${path.join('.')}: there is no connection "${connection}"; there are ${known}`
      return [{ ...document.positionOf(path), message }]
    }),
  )
}

function toAlertSettings(
  { channels, link, freshHours, ...rest }: AlertsFile,
  { document, folder }: { document: ConfigDocument; folder: string },
): AlertSettings {
  const named = Object.entries(channels).map(
    ([name, { connections = null, kinds = null, ...channel }]): ChannelSettings => {
      const secret = (setting: string) => secretAt(document, ['alerts', 'channels', name, setting])
      const about = { name, connections, kinds }
      switch (channel.type) {
        case 'webhook':
          return { ...about, type: 'webhook', url: secret('url'), secret: secret('secret'), perHour: null }
        case 'slack':
          return { ...about, ...channel, url: secret('url') }
        case 'smtp': {
          const { user, password: _password, port, ca, ...rest } = channel
          return {
            ...about,
            ...rest,
            port: port ?? smtpPorts[channel.tls],
            login: user === undefined ? null : { user: secret('user'), password: secret('password') },
            ca: ca === undefined ? null : resolve(folder, ca),
          }
        }
        default:
          return channel satisfies never
      }
    },
  )
  return { ...rest, link: link ?? null, freshHours: freshHours ?? null, channels: named }
}

type FeedSettings = NonNullable<ConnectionSettings['source'] | ConnectionSettings['webhook']>

function toFeed(
  settings: FeedSettings & { readonly mode?: string },
  at: Path,
  { document, presets }: Known,
): { readonly feed?: FeedConfig; readonly problems: readonly Problem[] } {
  const { preset, fields, status, action, rowTimeZone, timeZone, mode } = settings
  const severalRows = 'severalRows' in settings ? settings.severalRows : undefined
  const scope = 'scope' in settings ? settings.scope : undefined
  const base = preset === undefined ? undefined : presets.get(preset)
  if (preset !== undefined && base === undefined) {
    const path = [...at, 'preset']
    const message = `${path.join('.')}: unknown preset "${preset}" (known: ${[...presets.keys()].join(', ')})`
    return { problems: [{ ...document.positionOf(path), message }] }
  }
  const mapping = Mapping.safeParse(
    mergePreset(base?.mapping ?? {}, { fields, status, action, severalRows, rowTimeZone, scope }),
  )
  if (mapping.error) return { problems: toProblems(flatten(mapping.error.issues, at), document, jsonSchema()) }

  const contradiction =
    mode === 'snapshot' && mapping.data.action
      ? [{ path: ['action'], message: 'is for deltas: a snapshot lists people' }]
      : []
  const problems = [...contradiction, ...expressionProblems(mapping.data)].map(({ path, message }) => {
    const place = [...at, ...path]
    return { ...document.positionOf(place), message: `${place.join('.')}: ${message}` }
  })
  const { separatedAt } = mapping.data.fields
  const future = (typeof separatedAt === 'object' ? separatedAt.future : undefined) ?? 'defer'
  const rules = { absence: 'separate', graceRuns: 1, timeZone, future } as const
  return { feed: { mapping: mapping.data, traps: base?.traps ?? [], ...rules }, problems }
}

function secretsBelow(document: ConfigDocument, at: Path): ReadonlyMap<string, Secret> {
  const [, , part] = at
  const values = document.values()
  const found = [...connectionSecrets, ...possibleSecrets].flatMap((path) => {
    const [first, ...rest] = path.split('.')
    if (first !== part) return []
    return placesOf(values, [...at, ...rest]).filter((place) => textAt(values, place) !== '')
  })
  return new Map(found.map((place) => [place.slice(at.length).join('.'), secretAt(document, place)]))
}

function secretAt(document: ConfigDocument, path: Path): Secret {
  return new Secret(document.referencesAt(path) ?? [{ text: textAt(document.values(), path) }])
}

function optionalSecretAt(document: ConfigDocument, path: Path): Secret | null {
  return textAt(document.values(), path) === '' ? null : secretAt(document, path)
}
