import { Failure } from '../../errors.ts'
import type { Preview } from '../../sync/sync.ts'
import { type RecipePreset, readRecipes, requirePeopleRecipe } from '../config/presets.ts'
import { refuseReferences, requireTimeZone, toConnectionName, withConnection } from './configuration.ts'
import { draftedConfig } from './drafted-config.ts'
import { type Confirmation, draftDigest, emptyConfiguration, writeFirstConnection } from './first-configuration.ts'
import { firstKey, type PlatformKey } from './first-key.ts'
import { isTrial, reportingFailures, type VisitParts } from './first-parts.ts'
import { planList } from './plan-list.ts'
import { requireAskedFor, requireParameter } from './recipe-answers.ts'
import { type RecipeAnswers, recipeConnection } from './recipe-connection.ts'
import { type SecretsToWrite, type SecretToWrite, secretFile, writeSecrets } from './secret-files.ts'
import { openVisitStore, type Visitor } from './visit-store.ts'

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
  read(request: ListRequest, visitor: Visitor): Promise<FirstList>
  /** Throws `not_found` if it is gone or belongs to somebody else. */
  find(id: string, principal: string): FirstList
  drop(id: string, principal: string): void
  connect(
    id: string,
    principal: string,
    request: Confirmation,
  ): Promise<{ connection: string; source: string; isTakenUp: boolean }>
}

type Kept = { readonly list: FirstList; readonly secrets: SecretsToWrite }

/** Lets people set up the first connection from the list of an HR system. */
export function openFirstLists(parts: VisitParts): FirstLists {
  const visits = openVisitStore<Kept>({ ...parts, noun: 'lists' })

  function find(id: string, principal: string): Kept {
    const kept = visits.find(id, principal)
    if (kept === undefined) throw new Failure('not_found', 'the list is no longer here: give the credentials again')
    return kept
  }

  return {
    recipes: async () => new Map([...(await readRecipes())].filter(([, { recipe }]) => !recipe.listsAccounts)),
    async read(request, visitor) {
      const preset = await requirePeopleRecipe(request.recipe)
      const read = (id: string, signal: AbortSignal) =>
        reportingFailures(parts, { source: request.recipe, signal }, () =>
          readList({ ...parts, signal }, { ...request, preset, id }),
        )
      return (await visits.fill(visitor, read)).list
    },
    find: (id, principal) => find(id, principal).list,
    drop: (id, principal) => {
      find(id, principal)
      visits.drop(id)
    },
    async connect(id, principal, request) {
      return await parts.inTurn(async () => {
        const { list, secrets } = find(id, principal)
        await connectNow(parts, { list, secrets, request })
        visits.drop(id)
        parts.takeUp?.()
        return { connection: list.connection, source: list.source, isTakenUp: parts.takeUp !== null }
      })
    },
    async [Symbol.asyncDispose]() {
      visits[Symbol.dispose]()
    },
  }
}

type ListToConnect = Kept & { readonly request: Confirmation }

async function connectNow(parts: VisitParts, { list, secrets, request }: ListToConnect): Promise<void> {
  const before = await emptyConfiguration(parts.config, parts.env)
  // Another text in the file makes another digest than the one that was confirmed.
  const digest = draftDigest(before, list.text)
  const draft = { before, text: list.text, digest, connection: { name: list.connection } }
  await writeFirstConnection(parts, draft, {
    ...request,
    prepare: (undoing) => writeSecrets(secrets, undoing),
  })
}

type ListToRead = ListRequest & { readonly preset: RecipePreset; readonly id: string }

async function readList(parts: VisitParts, request: ListToRead): Promise<Kept> {
  const { config, env, signal } = parts
  const { preset, id } = request
  const name = toConnectionName(request.name)
  const target = { folder: config.folder, name, isTrial: isTrial(config) }
  const { answers, secrets } = answersOf(preset, request, target)
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
  const { next, connection } = await draftedConfig({ config, text, name }, env)
  if (!connection.source || !('url' in connection.source.settings))
    throw new Error('the connection reads no list from an address')
  const url = new URL(String(connection.source.settings.url))
  const given = new Map([...secrets].map(([path, { secret }]) => [path, secret]))
  const { preview, end } = await planList({ next, connection, secrets: given }, parts)
  const list: FirstList = {
    id,
    recipe: request.recipe,
    title: preset.title,
    connection: name,
    preview,
    end,
    digest: draftDigest(before, text),
    text,
    source: `${url.origin}${url.pathname}`,
    secretFiles: [...secrets.values()].map(({ file }) => file),
    key: await firstKey(config, { tryKey: parts.tryKey, entered: undefined, signal }),
  }
  return { list, secrets }
}

type GivenAnswers = { readonly answers: RecipeAnswers; readonly secrets: SecretsToWrite }

/** Settings that name files of the machine, and groups that hold such a setting. */
const fileSettings = /^(?:ca|decrypt|clientCertificate)(?:\.|$)|^oauth2(?:$|\.certificate)/
/** Settings that name neither files nor addresses. */
const harmlessSettings =
  /^(?:fields|status|statusMeans|severalRows|onBadCell|scope|outOfScope|absence|graceRuns|missing|missingDetails|pages|requestsPerMinute|max\w+|\w+TimeoutMs)(?:\.|$)/

/** Where a connection will be written, and its name there. */
type ConnectionTarget = { readonly folder: string; readonly name: string; readonly isTrial: boolean }

function answersOf(
  { recipe }: RecipePreset,
  { name: platformName, parameters, credentials, settings }: ListRequest,
  target: ConnectionTarget,
): GivenAnswers {
  for (const parameter of Object.keys(parameters)) requireAskedFor(recipe.parameters, parameter, 'parameters')
  for (const setting of Object.keys(credentials)) requireAskedFor(recipe.credentials, setting, 'credentials')
  const texts = [...recipe.credentials].flatMap(([setting, { is }]) => (is === 'secret' ? [] : [credentials[setting]]))
  refuseReferences([platformName, parameters, settings, texts])
  refuseForeignSettings(settings, target)
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
    const toWrite = secretFile(target, { setting, secret: value })
    secrets.set(setting, toWrite)
    return [[setting, toWrite.reference] as const]
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
function refuseForeignSettings(settings: Readonly<Record<string, unknown>>, target: ConnectionTarget): void {
  const isAllowed = (name: string) => (target.isTrial ? !fileSettings.test(name) : harmlessSettings.test(name))
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
