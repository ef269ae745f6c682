import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CsvSource } from '../connectors/csv.ts'
import { Failure } from '../errors.ts'
import type { Guards } from '../identity/guards.ts'
import { Mapping, mergePreset } from '../identity/mapping.ts'
import { type ConfigDocument, type Path, type Problem, parseConfig } from './config-document.ts'
import { flatten, toProblems } from './config-issues.ts'
import { ConfigFile, type ConnectionSettings, jsonSchema, reference, regions } from './config-schema.ts'
import { presetNames, readPreset } from './presets.ts'
import { Secret } from './secret.ts'

/** A configuration that was checked as a whole: paths are absolute, presets applied, secrets wrapped. */
export type Config = {
  /** The file it came from. */
  readonly file: string
  /** The folder of that file; what sources name is relative to it. */
  readonly folder: string
  readonly platform: {
    readonly baseUrl: string
    readonly apiKey: Secret
    readonly timeoutMs: number
    readonly requestsPerMinute: number
    readonly inFlight: number
  }
  /** postgres://…; null: embedded, in `dataDir`. May hold a password. */
  readonly database: Secret | null
  /** redis://…; null: the database. May hold a password. */
  readonly queue: Secret | null
  readonly dataDir: string
  /** `token` null: one that the daemon generates. */
  readonly server: { readonly host: string; readonly port: number; readonly token: Secret | null }
  readonly connections: ReadonlyMap<string, ConnectionConfig>
}

export type ConnectionConfig = {
  readonly name: string
  readonly target: { readonly name: string } | { readonly id: number }
  readonly source: CsvSource
  /** The preset with the connection's own words over it. */
  readonly mapping: Mapping
  readonly absence: 'separate' | 'hold' | 'ignore'
  readonly graceRuns: number
  readonly timeZone: string
  readonly future: 'send' | 'defer'
  readonly schedule: { readonly cron: string; readonly timeZone: string } | null
  readonly guards: Guards
  readonly delivery: { readonly batchSize: number; readonly batchBytes: number; readonly updateWave: number }
}

const installation = fileURLToPath(new URL('../../', import.meta.url))
const defaultPath = 'config/rollcall.yaml'

/** Settings that must come from the environment or from a file. */
const secretPaths: readonly Path[] = [
  ['platform', 'apiKey'],
  ['server', 'token'],
]
const addressPaths: readonly Path[] = [['database'], ['queue']]

/** The configuration file to use: the one given, else config/rollcall.yaml of the working directory, else that of the installation. */
export function resolveConfigPath(given: string | undefined, workingDirectory: string): string {
  if (given !== undefined) return resolve(workingDirectory, given)
  const local = resolve(workingDirectory, defaultPath)
  return existsSync(local) ? local : resolve(installation, defaultPath)
}

/** Reads and checks a configuration. Refuses with `config_invalid`, one line for each mistake: file, line, column, setting, what helps. */
export async function loadConfig(path: string, env: NodeJS.ProcessEnv): Promise<Config> {
  const file = resolve(path)
  const folder = dirname(file)
  const shown = shownPath(file)
  const document = await parseConfig(await textOf(shown), { env, folder })
  refuse(shown, document.problems)
  const { platform, dataDir, server, connections } = checked(shown, document)
  const attempts = await Promise.all(
    Object.entries(connections).map(([name, settings]) => toConnection(name, settings, document)),
  )
  refuse(
    shown,
    attempts.flatMap(({ problems }) => problems),
  )

  const { region = 'default', baseUrl = regions[region], ...pace } = platform
  return {
    file,
    folder,
    platform: { ...pace, baseUrl: baseUrl.replace(/\/+$/, ''), apiKey: secretAt(document, ['platform', 'apiKey']) },
    database: optionalSecretAt(document, ['database']),
    queue: optionalSecretAt(document, ['queue']),
    dataDir: resolve(folder, dataDir),
    server: { host: server.host, port: server.port, token: optionalSecretAt(document, ['server', 'token']) },
    connections: new Map(attempts.flatMap(({ connection }) => (connection ? [[connection.name, connection]] : []))),
  }
}

/** Short where it can be: relative to the working directory for a file below it. */
function shownPath(file: string): string {
  const short = relative('.', file)
  return short.startsWith('..') ? file : short
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'
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
  throw new Failure('config_invalid', lines.join('\n'))
}

function checked(path: string, document: ConfigDocument): ConfigFile {
  let parsed = ConfigFile.safeParse(document.values())
  // What a reference yields is a text; where a number or a boolean is asked for, it is read as one.
  if (
    parsed.error &&
    flatten(parsed.error.issues)
      .map((issue) => document.convert(issue.path))
      .includes(true)
  ) {
    parsed = ConfigFile.safeParse(document.values())
  }
  const problems = toProblems(flatten(parsed.error?.issues ?? []), document, jsonSchema())
  refuse(path, [...problems, ...secretsInPlain(document)])
  if (parsed.data) return parsed.data
  throw parsed.error
}

function secretsInPlain(document: ConfigDocument): Problem[] {
  const values = document.values()
  const secrets = secretPaths.filter((path) => textAt(values, path) && !document.referencesAt(path))
  const addresses = addressPaths.filter((path) => hasPassword(textAt(values, path)) && !document.referencesAt(path))
  return [...secrets, ...addresses].map((path) => ({
    ...document.positionOf(path),
    message: `${path.join('.')}: a secret stands in the configuration: put it into the environment or a file and write ${reference}`,
  }))
}

function textAt(values: unknown, path: Path): string {
  const value = path.reduce<unknown>(
    (parent, name) => (typeof parent === 'object' && parent ? Reflect.get(parent, name) : undefined),
    values,
  )
  return typeof value === 'string' ? value : ''
}

function hasPassword(address: string): boolean {
  return Boolean(URL.parse(address)?.password)
}

type Attempt = { readonly connection?: ConnectionConfig; readonly problems: readonly Problem[] }

async function toConnection(name: string, settings: ConnectionSettings, document: ConfigDocument): Promise<Attempt> {
  const at: Path = ['connections', name, 'source']
  const { preset, fields, status, absence, graceRuns, ...source } = settings.source
  const names = await presetNames()
  if (preset !== undefined && !names.includes(preset)) {
    const message = `${[...at, 'preset'].join('.')}: unknown preset "${preset}" (known: ${names.join(', ')})`
    return { problems: [{ ...document.positionOf([...at, 'preset']), message }] }
  }

  const base = preset === undefined ? {} : await readPreset(preset)
  const mapping = Mapping.safeParse(mergePreset(base, { fields, status }))
  if (mapping.error) return { problems: toProblems(flatten(mapping.error.issues, at), document, jsonSchema()) }

  const { separatedAt } = mapping.data.fields
  const connection = {
    name,
    target: settings.target,
    source,
    mapping: mapping.data,
    absence,
    graceRuns,
    timeZone: source.timeZone,
    future: (typeof separatedAt === 'object' ? separatedAt.future : undefined) ?? 'defer',
    schedule: settings.schedule
      ? { cron: settings.schedule.cron, timeZone: settings.schedule.timeZone ?? source.timeZone }
      : null,
    guards: settings.guards,
    delivery: settings.delivery,
  }
  return { connection, problems: [] }
}

function secretAt(document: ConfigDocument, path: Path): Secret {
  return new Secret(document.referencesAt(path) ?? [{ text: textAt(document.values(), path) }])
}

function optionalSecretAt(document: ConfigDocument, path: Path): Secret | null {
  return textAt(document.values(), path) === '' ? null : secretAt(document, path)
}
