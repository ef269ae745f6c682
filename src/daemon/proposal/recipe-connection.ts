import type { Recipe, RecipeCredential } from '../config/recipe.ts'
import { isObject } from '../config/values.ts'
import type { ConnectionText } from './configuration.ts'

/** What an administrator gives for a recipe. */
export type RecipeAnswers = {
  readonly parameters: Readonly<Record<string, string>>
  /** By their path below the source; secrets as references, such as ${file:hr.token}. */
  readonly credentials: Readonly<Record<string, string>>
  /** Further settings of the source, by their path below it. They go before those of the recipe. */
  readonly settings: Readonly<Record<string, unknown>>
}

/** A connection whose source a recipe reads. */
type RecipeConnection = {
  /** The name of the connection in the configuration. */
  readonly name: string
  /** Its name on the platform. */
  readonly target: string
  readonly timeZone: string
  /** The name of the recipe. */
  readonly recipe: string
  readonly answers: RecipeAnswers
}

/** The connection as the configuration has it. */
export function recipeConnection({ name, target, timeZone, recipe, answers }: RecipeConnection): ConnectionText {
  const at = `connections.${name}`
  const source = recipeSource(recipe, answers, timeZone)
  return {
    connections: { [name]: { target: { name: target }, source, schedule: { cron: '0 2 * * *' } } },
    comments: {
      [`${at}.target`]: 'The custom connection on the platform; it is created if it is missing.',
      [`${at}.source.preset`]: `> "rollcall recipes ${recipe}" shows what it reads`,
      [`${at}.source.timeZone`]: '> of the dates in the list',
      [`${at}.schedule`]: 'When the daemon reads the list: every night at two.',
    },
  }
}

const exampleZone = 'Europe/Berlin'

/** The connection with the examples of a recipe, to be copied. */
export function exampleConnection(name: string, recipe: Recipe): ConnectionText {
  const answers = exampleAnswers(recipe)
  if (recipe.listsAccounts) {
    const source = recipeSource(name, answers, exampleZone)
    const directory = { target: { type: 'DIRECTORY' }, source, schedule: { cron: '0 5 * * *' } }
    return { connections: { directory }, comments: {} }
  }
  return recipeConnection({ name: 'hr', target: 'HR', timeZone: exampleZone, recipe: name, answers })
}

function recipeSource(recipe: string, { parameters, credentials, settings }: RecipeAnswers, timeZone: string): object {
  const given = Object.keys(parameters).length > 0 ? { parameters } : {}
  return { preset: recipe, ...given, ...byPath({ ...credentials, ...settings }), timeZone }
}

/** Examples of all that a system needs. What a parameter usually is, and credentials that it can do without, are left out. */
function exampleAnswers(recipe: Recipe): RecipeAnswers {
  const parameters = [...recipe.parameters].flatMap(([parameter, { example, default: usual }]) =>
    usual === undefined ? [[parameter, example]] : [],
  )
  const credentials = [...recipe.credentials].flatMap(([path, credential]) =>
    credential.optional ? [] : [[path, exampleOf(path, credential)]],
  )
  return { parameters: Object.fromEntries(parameters), credentials: Object.fromEntries(credentials), settings: {} }
}

/** A secret is in a file that is named after what the HR system calls it, such as hr_client_secret. */
function exampleOf(path: string, { is, example, label }: RecipeCredential): string {
  const words = label.toLowerCase().match(/[a-z0-9]+/g) ?? []
  return is === 'secret' ? `\${file:/run/secrets/hr_${words.join('_')}}` : (example ?? path.split('.').at(-1) ?? path)
}

/** Settings by their paths, as the groups that they are in. */
export function byPath(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.entries(settings).reduce<Record<string, unknown>>(
    (groups, [path, value]) => withSetting(groups, path.split('.'), value),
    {},
  )
}

function withSetting(
  settings: Readonly<Record<string, unknown>>,
  [name = '', ...rest]: readonly string[],
  value: unknown,
): Record<string, unknown> {
  if (rest.length === 0) return { ...settings, [name]: value }
  const group = settings[name]
  return { ...settings, [name]: withSetting(isObject(group) ? group : {}, rest, value) }
}
