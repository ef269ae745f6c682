import { stat } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { findConnectorKind } from '../../connectors/registry/registry.ts'
import type { Setting } from '../../contract/control/settings.ts'
import { Failure } from '../../errors.ts'
import { readProblem, readRegular } from '../../system/regular-file.ts'
import { deprecatedAlertKinds, toAlertSettings, unknownConnections } from './alert-channels.ts'
import { applyRecipes } from './apply-recipes.ts'
import type { Config, OidcConfig, TraceConfig } from './config.ts'
import { digestOf } from './configuration-digest.ts'
import { type ConfigDocument, type Path, type Problem, parseConfig } from './document.ts'
import { handOverProblems, toHandOver } from './hand-over-settings.ts'
import { flatten, toProblems } from './issues.ts'
import { jsonSchema } from './json-schema.ts'
import { listSettings } from './listed-settings.ts'
import { isUnencrypted, refuseUncheckedTls, rootCertificates } from './platform-address.ts'
import { regions } from './platform-settings.ts'
import { type Presets, presetsFor } from './presets.ts'
import { problemAt, problemLine, refuseProblems } from './problems.ts'
import { hasRecords, linkedSettings, noShapes } from './records.ts'
import { ConfigFile, checkedOnce } from './schema.ts'
import type { Secret } from './secret.ts'
import {
  apiKeyPath,
  deferSecrets,
  headersPath,
  oidcSecretPath,
  optionalSecretAt,
  plainSecrets,
  type SecretContext,
  secretAt,
} from './secret-settings.ts'
import { type CheckedConnection, type ConnectionContext, toConnection } from './to-connection.ts'
import type { TracesFile } from './trace-settings.ts'
import { isObject } from './values.ts'
import { toWeekly, weeklyProblems } from './weekly-settings.ts'

/** The lists of people in a configuration may be long. */
const maxConfigBytes = 8 * 1024 * 1024

/** How a configuration is loaded. */
export type LoadOptions = {
  /** When an unreadable secret is refused: at once with every other mistake, or when it is used. Most commands that only read need none. */
  readonly secrets?: 'now' | 'when needed'
  /** What helps if the file cannot be read. */
  readonly help?: string
}

/** Reads and checks a configuration. Throws `config_invalid` with one line for each mistake: file, line, column, setting, what helps. */
export async function loadConfig(
  path: string,
  env: NodeJS.ProcessEnv,
  { secrets = 'now', help = 'name the configuration with --config' }: LoadOptions = {},
): Promise<Config> {
  refuseUncheckedTls(env)
  const file = resolve(path)
  const { text, changedMs } = await readConfig(shownPath(file), help)
  return await configOfText({ file, text, changedMs }, env, { secrets })
}

/** The text of a configuration, and its present or future file. */
type ConfigText = { readonly file: string; readonly text: string; readonly changedMs: number }

/** Checks a configuration whose text is known already, like `loadConfig`. */
export async function configOfText(
  { file, text, changedMs }: ConfigText,
  env: NodeJS.ProcessEnv,
  { secrets = 'now' }: Pick<LoadOptions, 'secrets'> = {},
): Promise<Config> {
  const folder = dirname(file)
  const shown = shownPath(file)
  const written = await parseConfig(text, { env, folder })
  const faults = deferSecrets(written, { file: shown, secrets })
  refuseProblems(shown, written.problems)
  const presets = await presetsFor(presetsIn(written.values()))
  const { document, ...recipes } = applyRecipes(written, presets)
  const context: SecretContext = { document, faults }
  const values = checkValues(shown, { document, ...recipes }, presets)
  const { server, alerts, connections, handOver, weekly, traces } = values
  const checked = await checkConnections(values, { ...context, presets })
  refuseProblems(shown, unknownConnections({ alerts, connections, handOver, weekly }, document))
  if (handOver !== undefined) refuseProblems(shown, handOverProblems(handOver, alerts, document))
  if (weekly !== undefined) refuseProblems(shown, weeklyProblems(weekly, alerts, document))
  refuseProblems(
    shown,
    checked.flatMap(({ problems }) => problems),
  )
  const platform = await toPlatform(values.platform, { ...context, folder, shown })
  // Few commands list the settings.
  let settings: readonly Setting[] | null = null
  return {
    file,
    changedMs,
    digest: digestOf(text),
    folder,
    platform,
    database: optionalSecretAt(context, ['database']),
    queue: optionalSecretAt(context, ['queue']),
    dataDir: resolve(folder, values.dataDir),
    server: toServer(server, context),
    audit: { signingKey: optionalSecretAt(context, ['audit', 'signingKey']) },
    retention: values.retention,
    alerts: toAlertSettings(alerts, { ...context, folder, publicUrl: server.publicUrl }),
    handOver: handOver === undefined ? null : toHandOver(handOver),
    weekly: weekly === undefined ? null : toWeekly(weekly),
    approvals: values.approvals,
    traces: traces.endpoint === '' ? null : toTraces(traces, context),
    connections: new Map(checked.flatMap(({ connection }) => (connection ? [[connection.name, connection]] : []))),
    directories: new Map(checked.flatMap(({ directory }) => (directory ? [[directory.name, directory]] : []))),
    outdated: [...outdatedIn(connections, document), ...deprecatedAlertKinds(alerts, document)].map((problem) =>
      problemLine(shown, problem),
    ),
    get settings() {
      settings ??= listSettings(values, checked, { document, file: shown, presets })
      return settings
    },
  }
}

/** The path relative to the working directory for a file below it, unless that is the root; else the full path. */
function shownPath(file: string): string {
  const short = relative('.', file)
  return short.startsWith('..') || `/${short}` === file ? file : short
}

async function readConfig(path: string, help: string): Promise<Pick<ConfigText, 'text' | 'changedMs'>> {
  try {
    // Read before the text, so that a change during the reading counts as a later one.
    const { ctimeMs } = await stat(path)
    return { text: await readRegular(path, maxConfigBytes), changedMs: ctimeMs }
  } catch (error) {
    throw new Failure('config_invalid', `cannot read ${path}${readProblem(error, help)}`, { cause: error })
  }
}

/** Issues with the kind of a value. A text that is too short, or has another form, would be no better as a number. */
const kindIssues: ReadonlySet<string> = new Set(['invalid_type', 'invalid_union', 'invalid_value'])

function checkValues(
  path: string,
  { document, problems: ofRecipes, isBroken }: ReturnType<typeof applyRecipes>,
  presets: Presets,
): ConfigFile {
  const parse = () => ConfigFile.safeParse(withFormats(document.values(), presets), checkedOnce)
  let parsed = parse()
  // A reference yields text; where a number or a boolean is expected, the text is converted.
  const issues = flatten(parsed.error?.issues ?? []).filter(({ code }) => kindIssues.has(code))
  if (issues.map((issue) => document.convert(issue.path)).includes(true)) parsed = parse()
  const others = flatten(parsed.error?.issues ?? []).filter((issue) => !isBroken(issue.path))
  const problems = toProblems(others, document, jsonSchema)
  refuseProblems(path, [...problems, ...ofRecipes, ...plainSecrets(document)])
  if (parsed.data) return parsed.data
  throw parsed.error
}

/** The names of the presets in values that were not checked yet. */
function presetsIn(values: unknown): string[] {
  if (!isObject(values) || !isObject(values.connections)) return []
  const feeds = Object.values(values.connections).flatMap((connection) =>
    isObject(connection) ? [connection.source, connection.webhook] : [],
  )
  return feeds.flatMap((feed) => (isObject(feed) && feed.preset !== undefined ? [String(feed.preset)] : []))
}

/** The values, with the export format that a preset knows as the default of each source. */
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

async function checkConnections(
  { connections, approvals }: ConfigFile,
  context: Omit<ConnectionContext, 'approvals' | 'compileShape'>,
): Promise<CheckedConnection[]> {
  // The schema compiler is slow to load, and most installations send people only.
  const shapes = hasRecords(connections) ? await import('../../identity/shape/shape.ts') : noShapes
  const all = { ...context, approvals, compileShape: shapes.compileShape }
  return Object.entries(connections).flatMap(([name, connection]) => {
    const at: Path = ['connections', name]
    const own = toConnection({ name, at, sourceAt: [...at, 'source'], linkedTo: null }, connection, all)
    const linked = Object.entries(connection.also).map(([other, also]) => {
      const path = [...at, 'also', other]
      const location = { name: other, at: path, sourceAt: path, linkedTo: name }
      return toConnection(location, linkedSettings(connection, also), all)
    })
    return [own, ...linked]
  })
}

type PlatformContext = SecretContext & { readonly folder: string; readonly shown: string }

async function toPlatform(
  { region = 'default', baseUrl = regions[region], caFile, insecure: _insecure, ...limits }: ConfigFile['platform'],
  context: PlatformContext,
): Promise<Config['platform']> {
  const { document, folder, shown } = context
  const ca = caFile === undefined ? null : await rootCertificates(resolve(folder, caFile))
  if (ca?.problem !== undefined) refuseProblems(shown, [problemAt(document, ['platform', 'caFile'], ca.problem)])
  return {
    ...limits,
    baseUrl: baseUrl.replace(/\/+$/, ''),
    isUnencrypted: isUnencrypted(baseUrl),
    ca: ca?.pem ?? null,
    apiKey: secretAt(context, apiKeyPath),
    apiKeyName: document.writtenAt(apiKeyPath) ?? '',
  }
}

function toServer({ oidc, publicUrl, ...server }: ConfigFile['server'], context: SecretContext): Config['server'] {
  return {
    ...server,
    token: optionalSecretAt(context, ['server', 'token']),
    publicUrl: publicUrl === undefined ? null : new URL(publicUrl),
    oidc: oidc === undefined ? null : toOidc(oidc, secretAt(context, oidcSecretPath)),
  }
}

function toOidc({ issuer, ...settings }: NonNullable<ConfigFile['server']['oidc']>, clientSecret: Secret): OidcConfig {
  return { ...settings, issuer: new URL(issuer), clientSecret }
}

function toTraces({ headers, ...settings }: TracesFile, context: SecretContext): TraceConfig {
  const secrets = Object.keys(headers).map((name) => [name, secretAt(context, [...headersPath, name])] as const)
  return { ...settings, headers: new Map(secrets) }
}

/** A problem for each setting that no longer has an effect. */
function outdatedIn(connections: ConfigFile['connections'], document: ConfigDocument): Problem[] {
  const message = 'has no effect any more, and the next release refuses it: take it out'
  return Object.entries(connections)
    .flatMap(([name, { keepValues, also }]) => [
      { at: ['connections', name], keepValues },
      ...Object.entries(also).map(([linked, settings]) => ({
        at: ['connections', name, 'also', linked],
        keepValues: settings.keepValues,
      })),
    ])
    .filter(({ keepValues }) => keepValues !== undefined)
    .map(({ at }) => problemAt(document, [...at, 'keepValues'], message))
}
