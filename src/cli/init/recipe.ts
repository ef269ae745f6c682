import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { type RecipePreset, requirePeopleRecipe } from '../../daemon/config/presets.ts'
import type { RecipeCredential } from '../../daemon/config/recipe.ts'
import {
  type ConnectionText,
  configurationText,
  requireTimeZone,
  toConnectionName,
} from '../../daemon/proposal/configuration.ts'
import { draftedConfig } from '../../daemon/proposal/drafted-config.ts'
import { requireAskedFor, requireParameter } from '../../daemon/proposal/recipe-answers.ts'
import { type RecipeAnswers, recipeConnection } from '../../daemon/proposal/recipe-connection.ts'
import { type ListPreview, previewList } from '../../daemon/proposal/recipe-preview.ts'
import { toSyncConnection } from '../../daemon/sync-connection.ts'
import { Failure } from '../../errors.ts'
import { pathFrom } from '../../system/path-from.ts'
import { readProblem, readRegular } from '../../system/regular-file.ts'
import { renderListPreview, renderSetup } from '../render/recipes.ts'
import type { Output } from '../session/output.ts'
import { type Prompts, Stopped } from '../session/prompts.ts'

/** The options of `rollcall init` about a recipe. */
type RecipeOptions = {
  readonly recipe: string
  readonly parameter: readonly string[]
  readonly credential: readonly string[]
  readonly set: readonly string[]
  readonly name?: string
  readonly timeZone?: string
}

type RecipeContext = {
  readonly output: Output
  readonly prompts: Prompts | null
  readonly signal: AbortSignal
  /** The configuration that will be written. */
  readonly file: string
}

/** A connection that was read once, and what it holds. */
type RecipeResult = { readonly connection: ConnectionText; readonly preview: ListPreview }

/** Asks for what a recipe needs, reads the list once, and shows its first people. `prompts`: null takes everything from the options. */
export async function connectRecipe(options: RecipeOptions, asking: RecipeContext): Promise<RecipeResult> {
  const { output, prompts } = asking
  const preset = await requirePeopleRecipe(options.recipe)
  const given = givenBy(options, preset)
  output.printPart(renderSetup(preset.title, preset.recipe.setup, output.paint))
  const name = options.name ?? (await prompts?.text('Name of the connection?', 'HR')) ?? 'HR'
  const timeZone = await untilGood(asking, options.timeZone, {
    message: 'In which time zone are the dates of the list?',
    usual: Temporal.Now.timeZoneId(),
    lacking: null,
    check: async (text) => requireTimeZone(text),
  })
  const typed = new Map<string, string>()
  for (;;) {
    const answers = await answersFor(preset, { given, typed }, asking)
    const settings = { name: toConnectionName(name), target: name, timeZone, recipe: options.recipe, answers }
    const connection = recipeConnection(settings)
    try {
      const preview = await previewOf(connection, settings.name, asking)
      output.printPart(renderListPreview(preview, output.paint))
      if (prompts === null || (await prompts.confirm('Are these your people?'))) return { connection, preview }
      throw new Stopped()
    } catch (error) {
      if (prompts === null || !(error instanceof Failure)) throw error
      output.printMessage(error.message)
      if (!(await prompts.confirm('Give it again, and try once more?'))) throw new Stopped()
    }
  }
}

async function previewOf(
  connection: ConnectionText,
  name: string,
  { file, output, signal }: RecipeContext,
): Promise<ListPreview> {
  // Reading the list needs no key of the platform.
  const text = configurationText(connection, { platform: { region: 'default' }, apiKey: `\${file:platform.key}` })
  const { next, connection: configured } = await draftedConfig({ config: { file }, text, name }, process.env)
  output.printMessage('Reading the list …')
  const onWait = (reason: string) => output.printMessage(reason)
  return await previewList(toSyncConnection(next, configured), { now: () => new Date(), signal, onWait })
}

type RecipeValues = {
  readonly parameters: ReadonlyMap<string, string>
  readonly credentials: ReadonlyMap<string, string>
  /** Further settings of the source, by their path. */
  readonly settings: ReadonlyMap<string, unknown>
}

function givenBy({ parameter, credential, set }: RecipeOptions, { recipe }: RecipePreset): RecipeValues {
  return {
    parameters: knownPairs('--parameter', parameter, recipe.parameters),
    credentials: knownPairs('--credential', credential, recipe.credentials),
    settings: new Map([...pairsIn('--set', set)].map(([path, value]) => [path, settingIn(path, value)])),
  }
}

/** The value of a setting as the configuration would have it. */
function settingIn(path: string, text: string): unknown {
  try {
    return parse(text)
  } catch {
    throw new Failure(
      'usage',
      `--set ${path}: ${text} is no YAML: write it as the configuration has it, such as '"a: b"'`,
    )
  }
}

function knownPairs(
  option: string,
  texts: readonly string[],
  known: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, string> {
  const pairs = pairsIn(option, texts)
  for (const name of pairs.keys()) requireAskedFor(known, name, option)
  return pairs
}

/** The names and values of a repeatable option. Throws a `usage` failure for another text. */
export function pairsIn(option: string, texts: readonly string[]): ReadonlyMap<string, string> {
  const pairs = texts.map((text): [string, string] => {
    const [, name = '', value = ''] = /^([^=]+)=(.+)$/s.exec(text) ?? []
    if (name === '') throw new Failure('usage', `${option} takes NAME=VALUE`)
    return [name, value]
  })
  return new Map(pairs)
}

/** What the options give, and what was typed at the last attempt, by the name of the parameter or the setting of the credential. */
type KnownAnswers = { readonly given: RecipeValues; readonly typed: Map<string, string> }

async function answersFor(
  { recipe }: RecipePreset,
  { given, typed }: KnownAnswers,
  asking: RecipeContext,
): Promise<RecipeAnswers> {
  const ask = (name: string, option: string | undefined, question: Question) =>
    untilGood(asking, option, {
      ...question,
      usual: typed.get(name) ?? question.usual,
      check: async (text) => {
        const checked = await question.check(text)
        typed.set(name, text)
        return checked
      },
    })
  const parameters: Record<string, string> = {}
  for (const [name, { label, help, example, default: usual }] of recipe.parameters) {
    const value = await ask(`parameters.${name}`, given.parameters.get(name), {
      message: withHelp(label, help ?? `such as ${example}`),
      // An example is the account of another company: Enter must not send a key there.
      usual: usual ?? '',
      lacking: usual === undefined ? `give the ${label} with --parameter ${name}=${example}` : null,
      check: async (text) => requireParameter(recipe, name, text),
    })
    if (value !== usual) parameters[name] = value
  }
  const credentials: Record<string, string> = {}
  for (const [path, credential] of recipe.credentials) {
    const option = given.credentials.get(path)
    if (option === undefined && credential.optional) continue
    credentials[path] = await ask(path, option, credentialQuestion(path, credential, asking))
  }
  return { parameters, credentials, settings: Object.fromEntries(given.settings) }
}

function credentialQuestion(
  path: string,
  { is, label, help, example }: RecipeCredential,
  { file }: RecipeContext,
): Question {
  const last = path.split('.').at(-1) ?? path
  const fileName = is === 'secret' ? `${last}.secret` : last
  const ofFile = is === 'text' ? label : `file of the ${label}`
  return {
    message: withHelp(ofFile, help),
    usual: is === 'text' ? '' : (example ?? fileName),
    lacking: `give the ${ofFile} with --credential ${path}=${example ?? fileName}`,
    check: async (text) => {
      if (is === 'text') return text
      const fromConfiguration = pathFrom(dirname(file), resolve(text))
      await requireContent(text, ofFile)
      return is === 'secret' ? `\${file:${fromConfiguration}}` : fromConfiguration
    },
  }
}

/** Whoever gives the secret itself instead of a file must not find it in the output. */
async function requireContent(file: string, ofFile: string): Promise<void> {
  try {
    if ((await readRegular(resolve(file))).trim() !== '') return
  } catch (error) {
    const problem = readProblem(error, 'write the content into a file, and give the name of that file')
    throw new Failure('usage', `cannot read the ${ofFile}${problem}`, { cause: error })
  }
  throw new Failure('usage', `the ${ofFile} is empty: write the content into it`)
}

function withHelp(label: string, help: string): string {
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}? (${help.replace(/\.$/, '')})`
}

/** A question with a text as its answer. */
export type Question = {
  readonly message: string
  readonly usual: string
  /** What helps where nobody can be asked; null: the usual answer is taken. */
  readonly lacking: string | null
  readonly check: (text: string) => Promise<string>
}

/** The person who is asked, if there is one, and where refused answers are explained. */
export type PromptContext = Pick<RecipeContext, 'prompts'> & { readonly output: Pick<Output, 'printMessage'> }

/** The checked answer. Asks again after one that cannot be used; a value given as an option is refused at once. */
export async function untilGood(
  { prompts, output }: PromptContext,
  option: string | undefined,
  { message, usual, lacking, check }: Question,
): Promise<string> {
  for (;;) {
    const text = option ?? (await prompts?.text(message, usual))
    if (text === undefined && lacking !== null) throw new Failure('usage', lacking)
    try {
      if (text === '' && lacking !== null) throw new Failure('usage', 'an answer is needed here')
      return await check(text ?? usual)
    } catch (error) {
      if (prompts === null || option !== undefined || !(error instanceof Failure)) throw error
      output.printMessage(error.message)
    }
  }
}
