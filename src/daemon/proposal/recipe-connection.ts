import type { Recipe, RecipeCredential } from '../config/recipe.ts'
import type { ConnectionText } from './configuration.ts'

/** What an administrator gives for a recipe. */
export type RecipeAnswers = {
  readonly parameters: Readonly<Record<string, string>>
  /** By their path below the source; secrets as references, such as ${file:hr.token}. */
  readonly credentials: Readonly<Record<string, string>>
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
  return recipeConnection({ name: 'hr', target: 'HR', timeZone: exampleZone, recipe: name, answers })
}

/** The source of that connection. */
export function exampleSource(name: string, recipe: Recipe): object {
  return recipeSource(name, exampleAnswers(recipe), exampleZone)
}

function recipeSource(recipe: string, { parameters, credentials }: RecipeAnswers, timeZone: string): object {
  const given = Object.keys(parameters).length > 0 ? { parameters } : {}
  return { preset: recipe, ...given, ...credentialSettings(credentials), timeZone }
}

/** Examples of all that a system needs. What a parameter usually is, and credentials that it can do without, are left out. */
function exampleAnswers(recipe: Recipe): RecipeAnswers {
  const parameters = [...recipe.parameters].flatMap(([parameter, { example, default: usual }]) =>
    usual === undefined ? [[parameter, example]] : [],
  )
  const credentials = [...recipe.credentials].flatMap(([path, credential]) =>
    credential.optional ? [] : [[path, exampleOf(path, credential)]],
  )
  return { parameters: Object.fromEntries(parameters), credentials: Object.fromEntries(credentials) }
}

function exampleOf(path: string, { is, example }: RecipeCredential): string {
  const last = path.split('.').at(-1) ?? path
  const file = `/run/secrets/hr_${last.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll('-', '_')}`
  return is === 'secret' ? `\${file:${file}}` : (example ?? last)
}

/** Settings by their names, as deep as they are. */
type Settings = { readonly [name: string]: string | Settings }

function credentialSettings(credentials: RecipeAnswers['credentials']): Settings {
  return Object.entries(credentials).reduce<Settings>(
    (settings, [path, value]) => withSetting(settings, path.split('.'), value),
    {},
  )
}

function withSetting(settings: Settings, [name = '', ...rest]: readonly string[], value: string): Settings {
  if (rest.length === 0) return { ...settings, [name]: value }
  const group = settings[name]
  return { ...settings, [name]: withSetting(typeof group === 'object' ? group : {}, rest, value) }
}
