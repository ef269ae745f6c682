import { z } from 'zod'
import { isObject } from './values.ts'

/** The value of a parameter if the recipe gives no pattern: safe in every part of an address. */
const plainPattern = '[A-Za-z0-9._~-]+'

const Parameter = z
  .strictObject({
    label: z.string().min(1).describe('What the administrator looks for, such as company name.'),
    example: z.string().min(1).describe('A value as it may be. It is the one in the examples.'),
    pattern: z.string().default(plainPattern).describe('A regular expression that the whole value matches.'),
    help: z.string().optional().describe('Where the value is found.'),
    default: z.string().optional().describe('The value if the connection gives none.'),
  })
  .refine(({ pattern, ...values }) => [values.example, values.default ?? values.example].every(matcher(pattern)), {
    error: 'example and default must match the pattern',
  })

const Credential = z.strictObject({
  label: z.string().min(1).describe('What the HR system calls it.'),
  help: z.string().min(1).describe('Where it is found, in plain words.'),
  is: z
    .enum(['secret', 'text', 'file'])
    .default('secret')
    .describe(
      'secret: it stands in a file of its own. text: it may stand in the configuration. file: the name of a file.',
    ),
  example: z.string().optional().describe('Of a text or a file.'),
  optional: z.boolean().default(false).describe('Whether the system can do without it.'),
})

/** Parameters have names that no column of a record has, since {COLUMN} is a placeholder of another kind. */
const parameterName = /^[a-z][A-Za-z0-9]{0,39}$/
/** The names from a source to one of its settings, such as basic.username or headers.X-Account-Token. */
const settingPath = /^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$/

/** The parts of a preset that make it a recipe: a source, and what the administrator has to give. */
export const recipeSettings = {
  source: z
    .record(z.string(), z.json())
    .optional()
    .describe(
      'Settings of a source of type http. A text may hold {NAME}, the value of a parameter. What a connection says overrides it.',
    ),
  setup: z.array(z.string().min(1)).default([]).describe('What to create in the HR system, step by step.'),
  asks: z
    .strictObject({
      parameters: z.record(z.string().regex(parameterName), Parameter).default({}),
      credentials: z
        .record(z.string().regex(settingPath), Credential)
        .default({})
        .describe('By the setting of the source that they become.'),
    })
    .prefault({})
    .describe('What the administrator has to give.'),
}

const RecipeSettings = z.strictObject(recipeSettings)
type RecipeSettings = z.infer<typeof RecipeSettings>

/** A source of one HR system, and what an administrator has to give for it. */
export type Recipe = {
  /** Settings of a source, with placeholders in the texts. */
  readonly source: Readonly<Record<string, unknown>>
  /** Whether it reads accounts, for a target of type DIRECTORY, and no people. */
  readonly listsAccounts: boolean
  readonly setup: readonly string[]
  readonly parameters: ReadonlyMap<string, RecipeParameter>
  /** By their path below the source, such as `basic.username`. */
  readonly credentials: ReadonlyMap<string, RecipeCredential>
}
/** A value that fills placeholders. It is no secret. */
type RecipeParameter = z.infer<typeof Parameter>
/** What authenticates Rollcall to the HR system. */
export type RecipeCredential = z.infer<typeof Credential>

/** The recipe in a preset; null if the preset only reads exports. */
export function toRecipe({ source, setup, asks }: RecipeSettings, listsAccounts: boolean): Recipe | null {
  if (source === undefined) return null
  const parameters = new Map(Object.entries(asks.parameters))
  return { source, listsAccounts, setup, parameters, credentials: new Map(Object.entries(asks.credentials)) }
}

/** What is wrong with the parts of a recipe, if anything. */
export function recipeMistakes({ source, setup, asks }: RecipeSettings): string[] {
  const names = Object.keys(asks.parameters)
  if (source === undefined) {
    const isRecipe = setup.length + names.length + Object.keys(asks.credentials).length > 0
    return isRecipe ? ['setup and asks need a source'] : []
  }
  const texts = textsIn(source)
  const unused = names.filter((name) => !texts.some(({ text }) => text.includes(`{${name}}`)))
  const placeholders = texts
    .filter(({ path }) => path[0] !== 'each')
    .flatMap(({ text }) => [...text.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name))
  const bare = texts.filter(({ path, text }) => isAddressSetting(path) && !address.test(text))
  return [
    ...(source.type === 'http' ? [] : ['source: a recipe has type: http']),
    ...(setup.length > 0 ? [] : ['setup: say what to create in the HR system']),
    ...unused.map((name) => `asks.parameters.${name}: no text holds {${name}}`),
    ...placeholders.filter((name) => !names.includes(name)).map((name) => `source: {${name}} is no parameter`),
    ...bare.map(({ path }) => `source.${path.join('.')}: an address begins with https://`),
  ]
}

/** An address: its scheme, its host with port, and what follows. */
const address = /^(https?:\/\/)([^/?#]*)(.*)$/s
/** What a parameter may add to a host, or to its end. Anything else could lead credentials to another one. */
const hostPart = /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/
const hostEnd = /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:\d{1,5})?$/
const maxValueCharacters = 500

/** Why a value of a parameter is refused; null if it is not. The value is not quoted. */
export function parameterRefusal(recipe: Recipe, name: string, value: unknown): string | null {
  const parameter = recipe.parameters.get(name)
  if (parameter === undefined) return null
  const { label, example, pattern } = parameter
  if (typeof value !== 'string') return `expected a text such as '${example}', in quotes`
  const isRefused =
    value.length > maxValueCharacters ||
    /^\.+$|[{}\p{Cc}]/u.test(value) ||
    !matcher(pattern)(value) ||
    !hostForms(recipe, name).every((form) => form.test(value))
  return isRefused ? `is no ${label} such as '${example}' (expected ${pattern})` : null
}

/** The forms that a parameter must have because of the hosts that it is in. */
function hostForms({ source }: Recipe, name: string): RegExp[] {
  return textsIn(source).flatMap(({ text }) => {
    const [, , host = ''] = address.exec(text) ?? []
    if (!host.includes(`{${name}}`)) return []
    return [host.indexOf(`{${name}}`) + name.length + 2 === host.length ? hostEnd : hostPart]
  })
}

/** The value with the parameters in its texts: percent-encoded behind the host of an address, as they are elsewhere. */
export function fillPlaceholders(value: unknown, parameters: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return fillText(value, parameters)
  if (Array.isArray(value)) return value.map((member) => fillPlaceholders(member, parameters))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fillPlaceholders(member, parameters)]))
}

function fillText(text: string, parameters: ReadonlyMap<string, string>): string {
  const [, scheme, host = '', rest = ''] = address.exec(text) ?? []
  if (scheme === undefined) return replaceIn(text, parameters)
  return `${scheme}${replaceIn(host, parameters)}${replaceIn(rest, parameters, encodeURIComponent)}`
}

function replaceIn(
  text: string,
  parameters: ReadonlyMap<string, string>,
  encode: (value: string) => string = (value) => value,
): string {
  return text.replaceAll(/\{([^{}]*)\}/g, (placeholder, name: string) => {
    const value = parameters.get(name)
    return value === undefined ? placeholder : encode(value)
  })
}

/** A text in settings, and where it is. */
type TextAt = { readonly path: readonly string[]; readonly text: string }

/** Every text in a value. */
export function textsIn(value: unknown, path: readonly string[] = []): TextAt[] {
  if (typeof value === 'string') return [{ path, text: value }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => textsIn(member, [...path, name]))
}

/** Whether a setting of a source is an address, by its path. */
export function isAddressSetting(path: readonly string[]): boolean {
  return /^(?:url|tokenUrl)$/.test(path.at(-1) ?? '')
}

function matcher(pattern: string): (value: string) => boolean {
  const whole = new RegExp(`^(?:${pattern})$`, 'u')
  return (value) => whole.test(value)
}
