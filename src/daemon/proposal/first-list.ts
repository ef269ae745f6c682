import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isLocalHost } from '../../connectors/http/network/private-address.ts'
import { Failure } from '../../errors.ts'
import { Refusal } from '../../http/refusal.ts'
import type { SyncConnection, SyncContext } from '../../sync/context/context.ts'
import { type Preview, planReading } from '../../sync/sync.ts'
import type { Config, ConnectionConfig } from '../config/config.ts'
import { configOfText } from '../config/load-config.ts'
import { type RecipePreset, readRecipes, requireRecipe } from '../config/presets.ts'
import { Secret } from '../config/secret.ts'
import { refuseReferences, requireTimeZone, toConnectionName, withConnection } from './configuration.ts'
import {
  type Confirmed,
  draftDigest,
  emptyConfiguration,
  type InTurn,
  writeFirstConnection,
  writeSecret,
} from './first-configuration.ts'
import { firstKey, type KeyTrial, type PlatformKey } from './first-key.ts'
import { requireAskedFor, requireParameter } from './recipe-answers.ts'
import { type RecipeAnswers, recipeConnection } from './recipe-connection.ts'

/** What a person gives for the list of an HR system. */
type ListRequest = {
  readonly recipe: string
  /** The name of the connection on the platform. */
  readonly name: string
  readonly timeZone: string
  readonly parameters: Readonly<Record<string, string>>
  /** By the setting of the source that they become; the secrets themselves. */
  readonly credentials: Readonly<Record<string, string>>
  /** Further settings of the source, by their path. */
  readonly settings: Readonly<Record<string, unknown>>
}

/** A list that was read once, and what its first run would do. */
export type FirstList = {
  readonly id: string
  readonly recipe: string
  readonly title: string
  readonly connection: string
  readonly preview: Preview
  /** How the end of the list was recognised; null if the source does not say. */
  readonly end: string | null
  readonly digest: string
  readonly text: string
  /** The address that is read. */
  readonly source: string
  /** The files that secrets will be written into. */
  readonly secretFiles: readonly string[]
  readonly key: PlatformKey
}

/** Turns the list of an HR system into the first connection of a configuration that has none. */
export type FirstLists = AsyncDisposable & {
  recipes(): Promise<ReadonlyMap<string, RecipePreset>>
  /** Reads the list once. What the person gave stays in memory until it is connected, dropped, or forgotten after a while. */
  read(request: ListRequest, principal: string): Promise<FirstList>
  /** Throws `not_found` if it is gone or belongs to somebody else. */
  find(id: string, principal: string): FirstList
  drop(id: string, principal: string): void
  connect(
    id: string,
    principal: string,
    request: Confirmed,
  ): Promise<{ connection: string; source: string; isTakenUp: boolean }>
}

type FirstListParts = {
  readonly config: Config
  readonly env: NodeJS.ProcessEnv
  readonly sync: Pick<SyncContext, 'store' | 'now'>
  readonly toSync: (config: Config, connection: ConnectionConfig) => SyncConnection
  readonly tryKey: KeyTrial
  /** Reloads the configuration; null: a person has to. */
  readonly takeUp: (() => void) | null
  readonly signal: AbortSignal
  readonly inTurn: InTurn
  readonly limits: { readonly maxUploads: number; readonly maxIdleMs: number }
}

type Kept = {
  readonly principal: string
  readonly list: FirstList
  readonly secrets: ReadonlyMap<string, string>
  readonly timer: NodeJS.Timeout
}

const maxChangesShown = 50
const maxReadingMs = 5 * 60_000

/** Lets people set up the first connection from the list of an HR system. */
export function openFirstLists(parts: FirstListParts): FirstLists {
  const { limits } = parts
  const kept = new Map<string, Kept>()
  let reading = 0

  function find(id: string, principal: string): Kept {
    const list = kept.get(id)
    if (list?.principal !== principal)
      throw new Failure('not_found', 'the list is no longer here: give the credentials again')
    list.timer.refresh()
    return list
  }
  function drop(id: string): void {
    clearTimeout(kept.get(id)?.timer)
    kept.delete(id)
  }

  return {
    recipes: readRecipes,
    async read(request, principal) {
      for (const [id, other] of kept) if (other.principal === principal) drop(id)
      if (kept.size + reading >= limits.maxUploads) throw tooMany()
      reading += 1
      try {
        const { list, secrets } = await readList(parts, request)
        const timer = setTimeout(() => drop(list.id), limits.maxIdleMs).unref()
        kept.set(list.id, { principal, list, secrets, timer })
        return list
      } finally {
        reading -= 1
      }
    },
    find: (id, principal) => find(id, principal).list,
    drop: (id, principal) => {
      find(id, principal)
      drop(id)
    },
    async connect(id, principal, request) {
      return await parts.inTurn(async () => {
        const { list, secrets } = find(id, principal)
        await connectNow(parts, { list, secrets, request })
        drop(id)
        parts.takeUp?.()
        return { connection: list.connection, source: list.source, isTakenUp: parts.takeUp !== null }
      })
    },
    async [Symbol.asyncDispose]() {
      for (const id of [...kept.keys()]) drop(id)
    },
  }
}

type ListToConnect = Pick<Kept, 'list' | 'secrets'> & { readonly request: Confirmed }

async function connectNow(parts: FirstListParts, { list, secrets, request }: ListToConnect): Promise<void> {
  const before = await emptyConfiguration(parts.config, parts.env)
  // Another text in the file makes another digest than the one that was confirmed.
  const digest = draftDigest(before, list.text)
  const draft = { before, text: list.text, digest, connection: { name: list.connection } }
  await writeFirstConnection(parts, draft, {
    ...request,
    async prepare(undoing) {
      for (const [file, secret] of secrets) {
        await writeSecret(file, secret)
        undoing.defer(() => rm(file, { force: true }))
      }
    },
  })
}

async function readList(parts: FirstListParts, request: ListRequest) {
  const { config, env, sync } = parts
  const preset = await requireRecipe(request.recipe)
  const name = toConnectionName(request.name)
  const { answers, secrets } = answersOf(preset, request, {
    folder: config.folder,
    name,
    isTrial: isLocalHost(new URL(config.platform.baseUrl)),
  })
  const before = await emptyConfiguration(config, env)
  const text = withConnection(
    before,
    recipeConnection({
      name,
      target: request.name,
      timeZone: requireTimeZone(request.timeZone),
      recipe: request.recipe,
      answers,
    }),
  )
  const next = await configOfText({ file: config.file, text, changedMs: 0 }, env, { secrets: 'when needed' })
  const connection = next.connections.get(name)
  if (!connection?.source || !('url' in connection.source.settings)) throw new Error('the connection reads a list')
  const url = new URL(String(connection.source.settings.url))
  const given = new Map([...secrets].map(([path, { secret }]) => [path, new Secret([{ text: secret }])]))
  const source = { ...connection.source, secrets: new Map([...connection.source.secrets, ...given]) }
  const signal = AbortSignal.any([parts.signal, AbortSignal.timeout(maxReadingMs)])
  const { preview, end } = await planOf(parts.toSync(next, { ...connection, source }), { sync, signal })
  const list: FirstList = {
    id: randomUUID(),
    recipe: request.recipe,
    title: preset.title,
    connection: name,
    preview,
    end,
    digest: draftDigest(before, text),
    text,
    source: `${url.origin}${url.pathname}`,
    secretFiles: [...secrets.values()].map(({ file }) => file),
    key: await firstKey(config, { tryKey: parts.tryKey, entered: undefined, signal: parts.signal }),
  }
  return { list, secrets: new Map([...secrets.values()].map(({ file, secret }) => [file, secret])) }
}

async function planOf(
  connection: SyncConnection,
  { sync, signal }: Pick<FirstListParts, 'sync' | 'signal'>,
): Promise<{ readonly preview: Preview; readonly end: string | null }> {
  const { source } = connection.feeds
  if (!source) throw new Error('the connection has a source')
  try {
    const reading = await source.connector.open({ now: sync.now, signal, findDecided: async () => new Set() })
    try {
      const preview = await planReading(sync, connection, { reading, maxChanges: maxChangesShown, signal })
      return { preview, end: reading.source?.end ?? null }
    } finally {
      await reading.close?.()
    }
  } catch (error) {
    if (!(signal.reason instanceof DOMException) || signal.reason.name !== 'TimeoutError') throw error
    const help = 'connect it with "rollcall init --recipe" on the machine that runs Rollcall'
    throw new Failure('source_unreachable', `reading the list takes longer than five minutes: ${help}`, {
      cause: error,
    })
  }
}

type SecretToWrite = { readonly file: string; readonly secret: string }
type GivenAnswers = { readonly answers: RecipeAnswers; readonly secrets: ReadonlyMap<string, SecretToWrite> }

/** Settings that name files of the machine. */
const fileSettings = /^(?:ca|decrypt|clientCertificate|oauth2)(?:\.|$)/
/** Settings that name neither files nor addresses. */
const harmlessSettings =
  /^(?:fields|status|statusMeans|severalRows|onBadCell|scope|outOfScope|absence|graceRuns|missing|missingDetails|pages|requestsPerMinute|max\w+|\w+TimeoutMs)(?:\.|$)/

function answersOf(
  { recipe }: RecipePreset,
  { name: target, parameters, credentials, settings }: ListRequest,
  { folder, name, isTrial }: { readonly folder: string; readonly name: string; readonly isTrial: boolean },
): GivenAnswers {
  for (const parameter of Object.keys(parameters)) requireAskedFor(recipe.parameters, parameter, 'parameters')
  for (const setting of Object.keys(credentials)) requireAskedFor(recipe.credentials, setting, 'credentials')
  const texts = [...recipe.credentials].flatMap(([setting, { is }]) => (is === 'secret' ? [] : [credentials[setting]]))
  refuseReferences([target, parameters, settings, texts])
  refuseForeignSettings(settings, { isTrial })
  const values = [...recipe.parameters].flatMap(([parameter, { label, example, default: usual }]) => {
    const value = parameters[parameter] || usual
    if (value === undefined) throw new Failure('usage', `give the ${label}, such as ${example}`)
    requireParameter(recipe, parameter, value)
    return value === usual ? [] : [[parameter, value] as const]
  })
  const secrets = new Map<string, SecretToWrite>()
  const references = [...recipe.credentials].flatMap(([setting, { label, is, optional }]) => {
    const value = credentials[setting]?.replaceAll('\r\n', '\n').trim() ?? ''
    if (value === '' && optional) return []
    if (value === '') throw new Failure('usage', `give the ${label}`)
    if (is === 'file') refusePath(label, value)
    if (is !== 'secret') return [[setting, value] as const]
    const file = `${name}-${setting.split('.').slice(-2).join('-')}.secret`
    secrets.set(setting, { file: join(folder, file), secret: value })
    return [[setting, `\${file:${file}}`] as const]
  })
  return {
    answers: { parameters: Object.fromEntries(values), credentials: Object.fromEntries(references), settings },
    secrets,
  }
}

/**
 * Refuses settings with which a person at a browser could read files of the machine or reach addresses of its network. Where the platform
 * itself is on this machine, the installation is a trial, and addresses may be given.
 */
function refuseForeignSettings(
  settings: Readonly<Record<string, unknown>>,
  { isTrial }: { readonly isTrial: boolean },
) {
  const isAllowed = (name: string) => (isTrial ? !fileSettings.test(name) : harmlessSettings.test(name))
  const foreign = Object.keys(settings).find((name) => !isAllowed(name))
  if (foreign === undefined) return
  throw new Failure(
    'usage',
    `${foreign} is no setting for a browser, as it may name files or addresses: connect with "rollcall init --recipe" on the machine`,
  )
}

/** A file beside the configuration; a path could look for files anywhere on the machine. */
function refusePath(label: string, file: string): void {
  if (/^[\w.-]+$/.test(file) && !file.startsWith('.')) return
  throw new Failure(
    'usage',
    `the ${label} is the name of a file in the folder of the configuration, such as client.pem`,
  )
}

function tooMany(): Refusal {
  const message = 'several lists are being looked at already: try again when they are done with'
  return new Refusal(429, message, { headers: { 'retry-after': '60' } })
}
