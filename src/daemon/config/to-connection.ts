import { isDeepStrictEqual } from 'node:util'
import { expressionProblems } from '../../connectors/expressions/expressions.ts'
import { scimMapping } from '../../connectors/scim/mapping.ts'
import { Mapping, mergePreset } from '../../identity/mapping/mapping.ts'
import type { compileShape } from '../../identity/shape/shape.ts'
import type { Blackout } from '../schedules/blackouts.ts'
import type { Schedule } from '../schedules/schedules.ts'
import type {
  ConnectionConfig,
  DirectoryConfig,
  FeedConfig,
  PushedConfig,
  SourceConfig,
  WebhookConfig,
} from './config.ts'
import { configurationDigest } from './configuration-digest.ts'
import { kindsSent } from './connection-settings.ts'
import type { Path, Problem } from './document.ts'
import { flatten, toProblems } from './issues.ts'
import { jsonSchema } from './json-schema.ts'
import { type Presets, unknownPreset } from './presets.ts'
import { problemAt } from './problems.ts'
import { isAddressSetting, textsIn } from './recipe.ts'
import { ofRecords, type Records, recordsOf } from './records.ts'
import { leavesTime } from './schedule-settings.ts'
import { type ConfigFile, type ConnectionSettings, checkedOnce, type FeedSettings, isDirectory } from './schema.ts'
import { type SecretContext, secretsBelow } from './secret-settings.ts'
import { isPushed, readSource } from './source-settings.ts'

/** What connections are checked with. */
export type ConnectionContext = SecretContext & {
  readonly presets: Presets
  readonly approvals: ConfigFile['approvals']
  readonly compileShape: typeof compileShape
}

/** The location of a connection in the file. */
type ConnectionLocation = {
  readonly name: string
  readonly at: Path
  /** Where its source is described: for a linked connection, the connection itself. */
  readonly sourceAt: Path
  readonly linkedTo: string | null
}

/** A connection, or the problems for which it cannot be used. */
export type CheckedConnection = {
  readonly connection?: ConnectionConfig
  readonly directory?: DirectoryConfig
  readonly problems: readonly Problem[]
}

/** Checks what the schema cannot, applies presets and wraps secrets. */
export function toConnection(
  location: ConnectionLocation,
  settings: ConnectionSettings,
  context: ConnectionContext,
): CheckedConnection {
  const { name, at, sourceAt, linkedTo } = location
  const records = recordsOf(settings, { at, sourceAt }, context)
  if (records.problems.length > 0) return records
  const source = settings.source && toFeed(settings.source, sourceAt, { ...context, ...records })
  const webhook = settings.webhook && toFeed(settings.webhook, [...at, 'webhook'], { ...context, ...records })
  const timing = timingOf(settings, name)
  const problems = [...(source?.problems ?? []), ...(webhook?.problems ?? [])]
  // The blackouts of a linked connection are those of the connection it is linked to, and are checked there.
  if (problems.length === 0 && linkedTo === null && !leavesTime(timing.blackouts))
    problems.push(problemAt(context.document, [...at, 'blackouts'], 'the windows leave no time for a run'))
  if (problems.length > 0) return { problems }

  const { schedule, verify, sample } = timing
  const { document } = context
  const { target, guards } = settings
  if (isDirectory(target)) {
    const accounts = toSource(location, settings, source?.feed, context)
    const { login, email } = accounts?.mapping.record ?? {}
    if (accounts === null || (login ?? email) === undefined)
      return {
        problems: [problemAt(document, [...sourceAt, 'record'], 'say which column holds the login or the email')],
      }
    return { directory: { name, source: accounts, schedule, guards }, problems: [] }
  }
  const connection: Omit<ConnectionConfig, 'digest'> = {
    name,
    target,
    source: toSource(location, settings, source?.feed, context),
    pushed: toPushed(settings, source?.feed),
    webhook: toWebhook(location, settings, webhook?.feed, context),
    schedule,
    verify,
    sample,
    guards,
    pinned: settings.pinned,
    onHold: { send: kindsSent(settings.onHold) },
    records: records.shape ? { shape: records.shape, deliver: settings.deliver ?? 'bySource' } : undefined,
    linkedTo: linkedTo ?? undefined,
    delivery: settings.delivery,
    leavers: settings.leavers,
  }
  return { connection: { ...connection, digest: configurationDigest(connection, context.approvals) }, problems: [] }
}

function toSource(
  { at, linkedTo }: ConnectionLocation,
  settings: ConnectionSettings,
  feed: FeedConfig | undefined,
  context: SecretContext,
): SourceConfig | null {
  const source = readSource(settings.source)
  if (!feed || !source) return null
  const { absence, graceRuns, outOfScope } = source
  const secretsAt = linkedTo === null ? [...at, 'source'] : ['connections', linkedTo, 'source']
  const secrets = secretsBelow(context, secretsAt)
  const written = writtenAddresses(source, secretsAt, context)
  return { ...feed, settings: source, absence, graceRuns, outOfScope, secrets, written }
}

/** The addresses of a source that hold references. `at`: where the source is. */
function writtenAddresses(source: object, at: Path, { document }: SecretContext): ReadonlyMap<string, string> {
  const addresses = textsIn(source).flatMap(({ path }): [string, string][] => {
    const written = isAddressSetting(path) ? document.writtenValueAt([...at, ...path])?.written : undefined
    return written === undefined ? [] : [[path.join('.'), written]]
  })
  return new Map(addresses)
}

function toPushed({ source }: ConnectionSettings, feed: FeedConfig | undefined): PushedConfig | null {
  return feed && source && isPushed(source) ? { ...feed, settings: source } : null
}

function toWebhook(
  { at }: ConnectionLocation,
  { webhook }: ConnectionSettings,
  feed: FeedConfig | undefined,
  context: SecretContext,
): WebhookConfig | null {
  if (!feed || !webhook) return null
  return { ...feed, settings: webhook, secrets: [...secretsBelow(context, [...at, 'webhook']).values()] }
}

type Timing = Pick<ConnectionConfig, 'schedule' | 'verify' | 'sample'> & { readonly blackouts: readonly Blackout[] }

/** When the connection is read and verified, each in the time zone that its settings mean. */
function timingOf({ schedule, verify, source, webhook, blackouts }: ConnectionSettings, name: string): Timing {
  const timeZone = schedule?.timeZone ?? source?.timeZone ?? webhook?.timeZone ?? 'UTC'
  const windows = blackouts.map((window) => ({ ...window, timeZone: window.timeZone ?? timeZone }))
  const verifyAt = (cron: 'cron' | 'sampleCron'): Schedule | null => {
    if (verify === 'never') return null
    const line = { cron: verify[cron], timeZone: verify.timeZone ?? timeZone, jitterMinutes: verify.jitterMinutes }
    return toSchedule(line, `${name} ${cron}`, windows)
  }
  return {
    schedule: schedule ? toSchedule({ ...schedule, timeZone }, name, windows) : null,
    verify: verifyAt('cron'),
    sample: verifyAt('sampleCron'),
    blackouts: windows,
  }
}

type ScheduleLine = { readonly cron: string; readonly timeZone: string; readonly jitterMinutes: number }

/** `of` distinguishes schedules with equal cron lines, so that their jitter differs. */
function toSchedule(
  { cron, timeZone, jitterMinutes }: ScheduleLine,
  of: string,
  blackouts: readonly Blackout[],
): Schedule {
  return {
    cron,
    timeZone,
    jitter: jitterMinutes > 0 ? { minutes: jitterMinutes, of } : undefined,
    blackouts: blackouts.length > 0 ? blackouts : undefined,
  }
}

type CheckedFeed = { readonly feed?: FeedConfig; readonly problems: readonly Problem[] }

function toFeed(
  settings: FeedSettings & { readonly mode?: string; readonly preset?: string | undefined },
  at: Path,
  { document, presets, properties, shape }: ConnectionContext & Records,
): CheckedFeed {
  const { preset: presetName, timeZone, mode, ...own } = settings
  const preset = presetName === undefined ? undefined : presets.get(presetName)
  if (presetName !== undefined && preset === undefined) {
    return { problems: [problemAt(document, [...at, 'preset'], unknownPreset(presetName, presets))] }
  }
  if (properties === null && preset?.mapping.record !== undefined)
    return {
      problems: [problemAt(document, [...at, 'preset'], 'lists accounts: it is for a target of type DIRECTORY')],
    }
  const isOfScim = 'type' in settings && settings.type === 'scim'
  const merged = mergePreset(isOfScim ? scimMapping : (preset?.mapping ?? {}), own)
  const mapping = Mapping.safeParse(properties === null ? merged : ofRecords(merged, settings, properties), checkedOnce)
  if (mapping.error) return { problems: toProblems(flatten(mapping.error.issues, at), document, jsonSchema) }

  const contradiction =
    mode === 'snapshot' && mapping.data.action
      ? [{ path: ['action'], message: 'is for deltas: a snapshot lists people' }]
      : []
  const problems = [
    ...contradiction,
    ...(isOfScim ? pushedProblems(mapping.data) : []),
    ...expressionProblems(mapping.data),
  ].map(({ path, message }) => problemAt(document, [...at, ...path], message))
  const { separatedAt } = mapping.data.fields
  const feed: FeedConfig = {
    mapping: mapping.data,
    // Known mistakes in exports of people say little about records.
    traps: properties === null ? (preset?.traps ?? []) : [],
    absence: 'separate',
    graceRuns: 1,
    timeZone,
    future: (typeof separatedAt === 'object' ? separatedAt.future : undefined) ?? 'defer',
    shape: shape ?? undefined,
  }
  return { feed, problems }
}

/**
 * The key of a pushed person is read with each request, which waits for no expression. `active` is the only status: deleted users and former keys
 * leave by it, whatever else their records say.
 */
function pushedProblems({
  fields,
  status,
  statusMeans,
}: Mapping): { readonly path: string[]; readonly message: string }[] {
  const problems: { readonly path: string[]; readonly message: string }[] = []
  if (fields.identityId.expression !== undefined) {
    const message = 'a source that is pushed needs a column as the key: name column, firstOf or template'
    problems.push({ path: ['fields', 'identityId', 'expression'], message })
  }
  const message =
    'cannot be set for a source that is pushed: a person leaves on the day when active becomes false or the user is deleted'
  if (!isDeepStrictEqual(status, pushedStatus)) problems.push({ path: ['status'], message })
  if (statusMeans !== 'now') problems.push({ path: ['statusMeans'], message })
  return problems
}

const pushedStatus = Mapping.parse(scimMapping).status
