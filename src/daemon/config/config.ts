import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { expressionProblems } from '../../connectors/expressions/expressions.ts'
import { secretReference } from '../../connectors/file/source-settings.ts'
import { findConnectorKind } from '../../connectors/registry/registry.ts'
import type { WebhookSettings } from '../../connectors/webhook/settings.ts'
import type { Setting } from '../../contract/control/settings.ts'
import { Failure } from '../../errors.ts'
import type { ChangeKind } from '../../identity/change.ts'
import type { Guards } from '../../identity/guards/limits.ts'
import type { Trap } from '../../identity/lint/lint.ts'
import { Mapping, mergePreset } from '../../identity/mapping/mapping.ts'
import type { compileShape, Shape } from '../../identity/shape/shape.ts'
import type { Retention } from '../../store/retention/retain.ts'
import { readProblem, readRegular } from '../../system/regular-file.ts'
import type { Blackout } from '../schedules/blackouts.ts'
import type { Schedule } from '../schedules/schedules.ts'
import {
  type AlertsFile,
  channelSecrets,
  currentKind,
  deprecatedKinds,
  isDeprecatedKind,
  smtpPorts,
} from './alert-settings.ts'
import type { AlertSettings, ChannelSettings } from './channel.ts'
import { configurationDigest } from './configuration-digest.ts'
import { type ConfigDocument, type Path, type Problem, parseConfig } from './document.ts'
import { effectiveSettings } from './effective-settings.ts'
import { flatten, toProblems } from './issues.ts'
import { isReadable, refuseUncheckedTls, rootCertificates } from './platform-address.ts'
import { type Presets, presetsFor } from './presets.ts'
import { hasRecords, linkedSettings, noShapes, ofRecords, type Records, recordsOf } from './records.ts'
import { leavesTime } from './schedule-settings.ts'
import {
  ConfigFile,
  type ConnectionSettings,
  checkedOnce,
  connectionSecrets,
  type FeedSettings,
  jsonSchema,
  kindsSent,
  possibleSecrets,
  regions,
  type SourceSettings,
} from './schema.ts'
import { Secret } from './secret.ts'
import type { TracesFile } from './trace-settings.ts'

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
  /** `token` null: tokens that were made are the only ones. */
  readonly server: {
    readonly host: string
    readonly port: number
    readonly token: Secret | null
    readonly publicUrl: URL | null
    /** Of requests from these, `X-Forwarded-For` names the sender. */
    readonly trustedProxies: readonly string[]
    /** Further names under which the daemon is reached. */
    readonly hosts: readonly string[]
    readonly sessions: ConfigFile['server']['sessions']
    /** Null: people sign in by token. */
    readonly oidc: OidcConfig | null
    /** Who may read the metrics. */
    readonly metrics: 'token' | 'open'
  }
  /** `signingKey` null: one that is made in the data folder. */
  readonly audit: { readonly signingKey: Secret | null }
  /** How long the store keeps values of finished runs, and the runs themselves. */
  readonly retention: Retention
  readonly alerts: AlertSettings
  readonly approvals: ConfigFile['approvals']
  /** Where traces go; null: there are none. */
  readonly traces: TraceConfig | null
  readonly connections: ReadonlyMap<string, ConnectionConfig>
  /** Settings that the next release refuses, each with its place and what to write instead. */
  readonly outdated: readonly string[]
  /** Every setting in effect, for people: where it comes from, and no secret. */
  readonly settings: readonly Setting[]
}

/** A collector of traces, and the headers that it wants. */
type TraceConfig = Omit<TracesFile, 'headers'> & { readonly headers: ReadonlyMap<string, Secret> }

type OidcFile = NonNullable<ConfigFile['server']['oidc']>

/** The provider of identities that lets people in. */
export type OidcConfig = Omit<OidcFile, 'issuer' | 'clientSecret'> & {
  readonly issuer: URL
  readonly clientSecret: Secret
}

/** How the rows of one feed become records, presets applied. */
type FeedConfig = {
  /** The preset with the connection's own words over it. */
  readonly mapping: Mapping
  /** What the preset knows of its system. */
  readonly traps: readonly Trap[]
  readonly absence: 'separate' | 'hold' | 'ignore'
  readonly graceRuns: number
  readonly outOfScope?: 'keep' | 'separate' | 'hold'
  readonly timeZone: string
  readonly future: 'send' | 'defer'
  readonly shape?: Shape
}

type SourceConfig = FeedConfig & {
  readonly settings: SourceSettings
  /** By their path below the source, such as `decrypt.privateKey`. */
  readonly secrets: ReadonlyMap<string, Secret>
}
export type WebhookConfig = FeedConfig & { readonly settings: WebhookSettings; readonly secrets: readonly Secret[] }

export type ConnectionConfig = {
  readonly name: string
  readonly target: ConnectionSettings['target']
  /** At least one of the two is there. */
  readonly source: SourceConfig | null
  readonly webhook: WebhookConfig | null
  /** When its source is read without anybody's asking. */
  readonly schedule: Schedule | null
  /** When what the platform holds is read back. */
  readonly verify: Schedule | null
  /** When leavers and a sample of the others are read back. */
  readonly sample: Schedule | null
  readonly guards: Guards
  /** The keys of people who are neither separated nor deleted without an approval that names them. */
  readonly pinned: readonly string[]
  /** What goes on of a held plan. */
  readonly onHold: { readonly send: readonly ChangeKind[] }
  /** Of a target of type CUSTOM. `bySource`: all at once for snapshots, change by change for deltas. */
  readonly records?: { readonly shape: Shape; readonly deliver: 'direct' | 'session' | 'bySource' }
  /** The connection whose source it is planned from, in the same run; left out where it reads for itself. */
  readonly linkedTo?: string
  /** A digest of how it is read and guarded. */
  readonly digest: string
  readonly delivery: { readonly batchSize: number; readonly batchBytes: number; readonly updateWave: number }
  readonly leavers: { readonly boundHours: number }
}

/** Why secrets cannot be read, by the names of their settings. */
type Faults = ReadonlyMap<string, string>

/** The lists of people in it may be long. */
const maxConfigBytes = 8 * 1024 * 1024

const blankSecret = 'is empty: check the variable or the file that it comes from'

/** Settings that must come from the environment or from a file. */
const keyPath: Path = ['platform', 'apiKey']
const oidcSecretPath: Path = ['server', 'oidc', 'clientSecret']
const secretPaths: readonly Path[] = [keyPath, ['server', 'token'], oidcSecretPath, ['audit', 'signingKey']]
const headersPath: Path = ['traces', 'headers']
const addressPaths: readonly Path[] = [['database'], ['queue']]
const anySecrets: readonly string[] = [...connectionSecrets, ...possibleSecrets]

export type LoadOptions = {
  /** When a secret that cannot be read is refused: with every other mistake, or once it is needed. Most of what the store knows needs none. */
  readonly secrets?: 'now' | 'when needed'
  /** What helps where the file cannot be read. */
  readonly help?: string
}

/** Reads and checks a configuration. Refuses with `config_invalid`, one line for each mistake: file, line, column, setting, what helps. */
export async function loadConfig(
  path: string,
  env: NodeJS.ProcessEnv,
  { secrets = 'now', help = 'name the configuration with --config' }: LoadOptions = {},
): Promise<Config> {
  refuseUncheckedTls(env)
  const file = resolve(path)
  const { text, changedMs } = await read(shownPath(file), help)
  return await configOfText({ file, text, changedMs }, env, { secrets })
}

/** The text of a configuration, and the file in which it stands or is to stand. */
type ConfigText = { readonly file: string; readonly text: string; readonly changedMs: number }

/** The same for a text that is known already. */
export async function configOfText(
  { file, text, changedMs }: ConfigText,
  env: NodeJS.ProcessEnv,
  { secrets = 'now' }: Pick<LoadOptions, 'secrets'> = {},
): Promise<Config> {
  const folder = dirname(file)
  const shown = shownPath(file)
  const document = await parseConfig(text, { env, folder })
  const known = { document, faults: faultsOf(document, { file: shown, secrets }) }
  refuse(shown, document.problems)
  const presets = await presetsFor(presetsIn(document.values()))
  const values = checked(shown, document, presets)
  const { platform, dataDir, server, alerts, retention, approvals, connections } = values
  // What judges records costs time to load, and most installations have people alone.
  const shapes = hasRecords(connections) ? await import('../../identity/shape/shape.ts') : noShapes
  const attempts = Object.entries(connections).flatMap(([name, connection]) => {
    const at: Path = ['connections', name]
    const all = { ...known, presets, approvals, compileShape: shapes.compileShape }
    const own = toConnection({ name, at, sourceAt: [...at, 'source'], linkedTo: null }, connection, all)
    const linked = Object.entries(connection.also).map(([other, also]) => {
      const place = [...at, 'also', other]
      return toConnection(
        { name: other, at: place, sourceAt: place, linkedTo: name },
        linkedSettings(connection, also),
        all,
      )
    })
    return [own, ...linked]
  })
  refuse(shown, unknownConnections({ alerts, connections }, document))
  refuse(
    shown,
    attempts.flatMap(({ problems }) => problems),
  )

  const { region = 'default', baseUrl = regions[region], caFile, insecure: _insecure, ...pace } = platform
  const ca = caFile === undefined ? null : await rootCertificates(resolve(folder, caFile))
  refuse(shown, ca?.problem === undefined ? [] : [problemAt(document, ['platform', 'caFile'], ca.problem)])
  // Where each setting comes from is told to people, by few commands.
  let settings: readonly Setting[] | null = null
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
      apiKey: secretAt(known, keyPath),
      apiKeyName: document.writtenAt(keyPath) ?? '',
    },
    database: optionalSecretAt(known, ['database']),
    queue: optionalSecretAt(known, ['queue']),
    dataDir: resolve(folder, dataDir),
    server: {
      host: server.host,
      port: server.port,
      token: optionalSecretAt(known, ['server', 'token']),
      publicUrl: server.publicUrl === undefined ? null : new URL(server.publicUrl),
      trustedProxies: server.trustedProxies,
      hosts: server.hosts,
      sessions: server.sessions,
      oidc: server.oidc === undefined ? null : toOidc(server.oidc, secretAt(known, oidcSecretPath)),
      metrics: server.metrics,
    },
    audit: { signingKey: optionalSecretAt(known, ['audit', 'signingKey']) },
    retention,
    alerts: toAlertSettings(alerts, { ...known, folder, publicUrl: server.publicUrl }),
    approvals,
    traces: values.traces.endpoint === '' ? null : toTraces(values.traces, known),
    connections: new Map(attempts.flatMap(({ connection }) => (connection ? [[connection.name, connection]] : []))),
    outdated: [...outdatedIn(connections, document), ...deprecatedIn(alerts, document)].map((problem) =>
      lineOf(shown, problem),
    ),
    get settings() {
      settings ??= settingsOf(values, attempts, { document, file: shown, presets })
      return settings
    },
  }
}

/** The settings in effect: what presets say of a mapping stands where a connection would say it. */
function settingsOf(
  values: ConfigFile,
  attempts: readonly Attempt[],
  { document, file, presets }: { document: ConfigDocument; file: string; presets: Presets },
): Setting[] {
  const { platform } = values
  const mapped = attempts.flatMap(({ connection }) => {
    if (!connection || connection.linkedTo !== undefined) return []
    const { name, source, webhook } = connection
    const settings = values.connections[name]
    const parts = {
      ...(source && { source: { ...source.settings, ...asWritten(source.mapping) } }),
      ...(webhook && { webhook: { ...webhook.settings, ...asWritten(webhook.mapping) } }),
    }
    return [[name, { ...settings, ...parts }] as const]
  })
  const effective = {
    ...values,
    platform: { ...platform, baseUrl: platform.baseUrl ?? regions[platform.region ?? 'default'] },
    connections: Object.fromEntries(mapped),
  }
  const secrets = [...secretPlaces(document.values(), anySecrets), ...addressPaths]
  return effectiveSettings(effective, {
    document,
    file,
    secrets: new Set(secrets.map((path) => path.join('.'))),
    presetOf(part) {
      const name = textAt(part, ['preset'])
      const preset = presets.get(name)
      return preset === undefined ? null : { name, values: { ...preset.mapping, ...preset.format } }
    },
  })
}

/** A mapping without what the schema says of its properties, which is no setting. */
function asWritten({ record, ...mapping }: Mapping): object {
  if (record === undefined) return mapping
  const rules = Object.entries(record).map(([name, { property: _property, ...said }]) => [name, said])
  return { ...mapping, record: Object.fromEntries(rules) }
}

function toTraces({ headers, ...settings }: TracesFile, known: SecretsKnown): TraceConfig {
  const named = Object.keys(headers).map((name) => [name, secretAt(known, [...headersPath, name])] as const)
  return { ...settings, headers: new Map(named) }
}

function toOidc({ issuer, ...settings }: OidcFile, clientSecret: Secret): OidcConfig {
  return { ...settings, issuer: new URL(issuer), clientSecret }
}

/** Short where it can be: relative to the working directory for a file below it, unless that is the root. */
function shownPath(file: string): string {
  const short = relative('.', file)
  return short.startsWith('..') || `/${short}` === file ? file : short
}

async function read(path: string, help: string): Promise<{ readonly text: string; readonly changedMs: number }> {
  try {
    // Asked before: a change while it is read counts as a later one.
    const { ctimeMs } = await stat(path)
    return { text: await readRegular(path, maxConfigBytes), changedMs: ctimeMs }
  } catch (error) {
    throw new Failure('config_invalid', `cannot read ${path}${readProblem(error, help)}`, { cause: error })
  }
}

function refuse(path: string, problems: readonly Problem[]): void {
  if (problems.length === 0) return
  const lines = problems
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .map((problem) => lineOf(path, problem))
  throw new Failure('config_invalid', lines)
}

function lineOf(path: string, { line, column, message }: Problem): string {
  return `${path}:${line}:${column}: ${message}`
}

/** Issues with the kind of a value. A text that is too short, or has another form, would be no better as a number. */
const kindIssues: ReadonlySet<string> = new Set(['invalid_type', 'invalid_union', 'invalid_value'])

function checked(path: string, document: ConfigDocument, presets: Presets): ConfigFile {
  const values = () => withFormats(document.values(), presets)
  let parsed = ConfigFile.safeParse(values(), checkedOnce)
  // What a reference yields is a text; where a number or a boolean is asked for, it is read as one.
  if (
    parsed.error &&
    flatten(parsed.error.issues)
      .filter(({ code }) => kindIssues.has(code))
      .map((issue) => document.convert(issue.path))
      .includes(true)
  ) {
    parsed = ConfigFile.safeParse(values(), checkedOnce)
  }
  const problems = toProblems(flatten(parsed.error?.issues ?? []), document, jsonSchema)
  refuse(path, [...problems, ...secretsInPlain(document)])
  if (parsed.data) return parsed.data
  throw parsed.error
}

function problemAt(document: ConfigDocument, path: Path, what: string): Problem {
  return { ...document.positionOf(path), message: `${path.join('.')}: ${what}` }
}

/** The settings of connections that have no effect any more. */
function outdatedIn(connections: ConfigFile['connections'], document: ConfigDocument): Problem[] {
  const all = Object.entries(connections).flatMap(([name, { keepValues, also }]) => [
    { at: ['connections', name], keepValues },
    ...Object.entries(also).map(([linked, settings]) => ({
      at: ['connections', name, 'also', linked],
      keepValues: settings.keepValues,
    })),
  ])
  return all.flatMap(({ at, keepValues }) =>
    keepValues === undefined
      ? []
      : problemAt(
          document,
          [...at, 'keepValues'],
          'has no effect any more, and the next release refuses it: take it out',
        ),
  )
}

/** Deprecated: removed after 0.1. The kinds of alerts that channels name by an old name. */
function deprecatedIn({ channels }: AlertsFile, document: ConfigDocument): Problem[] {
  return Object.entries(channels).flatMap(([name, { kinds = [] }]) =>
    kinds.flatMap((kind, at) =>
      isDeprecatedKind(kind)
        ? problemAt(
            document,
            ['alerts', 'channels', name, 'kinds', at],
            `${kind} is the old name of ${deprecatedKinds[kind]}, and the next release refuses it: write ${deprecatedKinds[kind]}`,
          )
        : [],
    ),
  )
}

/** The names of presets in values of which nothing is known yet. */
function presetsIn(values: unknown): string[] {
  if (!isObject(values) || !isObject(values.connections)) return []
  const feeds = Object.values(values.connections).flatMap((connection) =>
    isObject(connection) ? [connection.source, connection.webhook] : [],
  )
  return feeds.flatMap((feed) => (isObject(feed) && feed.preset !== undefined ? [String(feed.preset)] : []))
}

/** The values with what presets know of the form of their system's exports below the words of each source. */
function withFormats(values: unknown, presets: Presets): unknown {
  if (!isObject(values) || !isObject(values.connections)) return values
  const connections = Object.entries(values.connections).map(([name, connection]) => {
    const source = isObject(connection) ? connection.source : undefined
    if (!isObject(connection) || !isObject(source)) return [name, connection]
    if (findConnectorKind(source.type)?.isTextExport(source) !== true) return [name, connection]
    return [name, { ...connection, source: { ...presets.get(String(source.preset))?.format, ...source } }]
  })
  return { ...values, connections: Object.fromEntries(connections) }
}

/** Why secrets cannot be read that may be missing as yet. Without a connection nothing is sent, so the key may come with the first one. */
function faultsOf(
  document: ConfigDocument,
  { file, secrets }: { file: string; secrets: LoadOptions['secrets'] },
): Faults {
  const values = spelledOut(document)
  if (values === null) return new Map()
  if (secrets === 'when needed') return putOffSecrets(document, file, secretPlaces(values.plain, anySecrets))
  const isWaiting = Object.keys(objectAt(values.plain, ['connections'])).length === 0
  return putOffSecrets(document, file, isWaiting ? [keyPath] : [])
}

/** The values; null if its aliases cannot be followed, which is among its mistakes. */
function spelledOut(document: ConfigDocument): { readonly plain: unknown } | null {
  try {
    return { plain: document.values() }
  } catch (error) {
    if (error instanceof ReferenceError) return null
    throw error
  }
}

/** Where the secrets of a configuration stand, or would stand. */
function secretPlaces(values: unknown, below: readonly string[]): Path[] {
  const ofConnections = Object.keys(objectAt(values, ['connections'])).flatMap((name) =>
    below.flatMap((path) => placesOf(values, ['connections', name, ...path.split('.')])),
  )
  const ofHeaders = Object.keys(objectAt(values, headersPath)).map((name) => [...headersPath, name])
  return [...secretPaths, ...ofConnections, ...ofChannels(values), ...ofHeaders]
}

/** Why secrets cannot be read, by their place. The rest of the configuration is checked without them. */
function putOffSecrets(document: ConfigDocument, file: string, places: readonly Path[]): Faults {
  const isBlank = (path: Path) => (text: string) =>
    path === keyPath && text === '' ? `${path.join('.')}: ${blankSecret}` : null
  return new Map(
    places.flatMap((path) => {
      const problem = document.putOff(path, isBlank(path))
      return problem === null ? [] : [[path.join('.'), lineOf(file, problem)]]
    }),
  )
}

function secretsInPlain(document: ConfigDocument): Problem[] {
  const values = document.values()
  const secrets = secretPlaces(values, connectionSecrets).filter(
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
type SecretsKnown = { readonly document: ConfigDocument; readonly faults: Faults }
type Known = SecretsKnown & {
  readonly presets: Presets
  readonly approvals: ConfigFile['approvals']
  readonly compileShape: typeof compileShape
}

type Place = {
  readonly name: string
  /** Where it stands in the file, and where its source is described. */
  readonly at: Path
  readonly sourceAt: Path
  readonly linkedTo: string | null
}

function toConnection({ name, at, sourceAt, linkedTo }: Place, settings: ConnectionSettings, known: Known): Attempt {
  const records = recordsOf(settings, { at, sourceAt }, known)
  if (records.problems.length > 0) return records
  const source = settings.source && toFeed(settings.source, sourceAt, { ...known, ...records })
  const webhook = settings.webhook && toFeed(settings.webhook, [...at, 'webhook'], { ...known, ...records })
  const problems = [...(source?.problems ?? []), ...(webhook?.problems ?? [])]
  if (problems.length > 0) return { problems }

  const timeZone = settings.schedule?.timeZone ?? settings.source?.timeZone ?? settings.webhook?.timeZone ?? 'UTC'
  const { verify } = settings
  const blackouts = settings.blackouts.map((window) => ({ ...window, timeZone: window.timeZone ?? timeZone }))
  // A connection that is linked has the windows of the one above, which are checked there.
  if (linkedTo === null && !leavesTime(blackouts))
    return { problems: [problemAt(known.document, [...at, 'blackouts'], 'the windows leave no time for a run')] }
  const readBackAt = (cron: 'cron' | 'sampleCron'): Schedule | null => {
    if (verify === 'never') return null
    const of = `${name} ${cron}`
    return toSchedule({ ...verify, cron: verify[cron], timeZone: verify.timeZone ?? timeZone }, { of, blackouts })
  }
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
            secrets: secretsBelow(known, linkedTo === null ? [...at, 'source'] : ['connections', linkedTo, 'source']),
          }
        : null,
    webhook:
      webhook?.feed && settings.webhook
        ? {
            ...webhook.feed,
            settings: settings.webhook,
            secrets: [...secretsBelow(known, [...at, 'webhook']).values()],
          }
        : null,
    schedule: settings.schedule ? toSchedule({ ...settings.schedule, timeZone }, { of: name, blackouts }) : null,
    verify: readBackAt('cron'),
    sample: readBackAt('sampleCron'),
    guards: settings.guards,
    pinned: settings.pinned,
    onHold: { send: kindsSent(settings.onHold) },
    ...(records.shape && { records: { shape: records.shape, deliver: settings.deliver ?? 'bySource' } }),
    ...(linkedTo !== null && { linkedTo }),
    delivery: settings.delivery,
    leavers: settings.leavers,
  }
  return { connection: { ...connection, digest: configurationDigest(connection, known.approvals) }, problems: [] }
}

function toSchedule(
  { cron, timeZone, jitterMinutes }: { cron: string; timeZone: string; jitterMinutes: number },
  { of, blackouts }: { of: string; blackouts: readonly Blackout[] },
): Schedule {
  return {
    cron,
    timeZone,
    ...(jitterMinutes > 0 && { jitter: { minutes: jitterMinutes, of } }),
    ...(blackouts.length > 0 && { blackouts }),
  }
}

/** Connections that a channel of alerts names and the configuration does not have. */
function unknownConnections(
  { alerts, connections }: Pick<ConfigFile, 'alerts' | 'connections'>,
  document: ConfigDocument,
): Problem[] {
  const known = Object.entries(connections).flatMap(([name, { also }]) => [name, ...Object.keys(also)])
  return Object.entries(alerts.channels).flatMap(([name, { connections: taken = [] }]) =>
    taken.flatMap((connection, at) => {
      if (known.includes(connection)) return []
      const path = ['alerts', 'channels', name, 'connections', at]
      const message = `${path.join('.')}: there is no connection "${connection}"; there are ${known.join(', ')}`
      return [{ ...document.positionOf(path), message }]
    }),
  )
}

function toAlertSettings(
  { channels, link, freshHours, ...others }: AlertsFile,
  { folder, publicUrl, ...known }: SecretsKnown & { folder: string; publicUrl: string | undefined },
): AlertSettings {
  const named = Object.entries(channels).map(([name, { connections = null, kinds, ...channel }]): ChannelSettings => {
    const secret = (setting: string) => secretAt(known, ['alerts', 'channels', name, setting])
    const about = { name, connections, kinds: kinds?.map(currentKind) ?? null }
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
  })
  const consoleUrl = publicUrl === undefined ? null : new URL(publicUrl)
  return { ...others, link: link ?? null, consoleUrl, freshHours: freshHours ?? null, channels: named }
}

function toFeed(
  settings: FeedSettings & { readonly mode?: string },
  at: Path,
  { document, presets, properties, shape }: Known & Records,
): { readonly feed?: FeedConfig; readonly problems: readonly Problem[] } {
  const { preset, timeZone, mode, ...own } = settings
  const base = preset === undefined ? undefined : presets.get(preset)
  if (preset !== undefined && base === undefined) {
    const path = [...at, 'preset']
    const message = `${path.join('.')}: unknown preset "${preset}" (known: ${[...presets.keys()].join(', ')})`
    return { problems: [{ ...document.positionOf(path), message }] }
  }
  const merged = mergePreset(base?.mapping ?? {}, own)
  const mapping = Mapping.safeParse(properties === null ? merged : ofRecords(merged, settings, properties), checkedOnce)
  if (mapping.error) return { problems: toProblems(flatten(mapping.error.issues, at), document, jsonSchema) }

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
  // What is known of exports of people says little of records.
  const traps = properties === null ? (base?.traps ?? []) : []
  return { feed: { mapping: mapping.data, traps, ...rules, ...(shape && { shape }) }, problems }
}

function secretsBelow(known: SecretsKnown, at: Path): ReadonlyMap<string, Secret> {
  const [, , part] = at
  const values = known.document.values()
  const found = anySecrets.flatMap((path) => {
    const [first, ...rest] = path.split('.')
    if (first !== part) return []
    return placesOf(values, [...at, ...rest]).filter((place) => textAt(values, place) !== '')
  })
  return new Map(found.map((place) => [place.slice(at.length).join('.'), secretAt(known, place)]))
}

function secretAt({ document, faults }: SecretsKnown, path: Path): Secret {
  return new Secret(
    document.referencesAt(path) ?? [{ text: textAt(document.values(), path) }],
    faults.get(path.join('.')) ?? null,
  )
}

function optionalSecretAt(known: SecretsKnown, path: Path): Secret | null {
  return textAt(known.document.values(), path) === '' ? null : secretAt(known, path)
}
