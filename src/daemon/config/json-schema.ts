import { z } from 'zod'
import { ConfigFile } from './schema.ts'

/** The values for the placeholders of a recipe. They are filled in before a source is parsed. */
const RecipeParameters = z
  .record(z.string(), z.string())
  .describe(
    'What a preset that is a recipe asks for, such as the name of your company in its address. "rollcall recipes NAME" shows it.',
  )

/** The JSON Schema of the configuration file, with the settings that recipes leave to a connection. */
export function settingsSchema(): SettingsSchema {
  const { $schema, ...schema } = z.toJSONSchema(ConfigFile, { io: 'input' })
  return changeSource({ $schema, title: 'Rollcall configuration', ...schema } as SettingsSchema, withParameters)
}

/** The JSON Schema of the configuration file, for editors. What a recipe may give is not required of a source with a preset. */
export function jsonSchema(): SettingsSchema {
  return changeSource(settingsSchema(), relaxSource)
}

/** What a JSON Schema says about settings; all that is used of one here. */
export type SettingsSchema = {
  readonly properties?: Readonly<Record<string, SettingsSchema>>
  readonly additionalProperties?: SettingsSchema | boolean
  readonly required?: readonly string[]
  readonly anyOf?: readonly SettingsSchema[]
  readonly oneOf?: readonly SettingsSchema[]
  readonly const?: unknown
}

/** Changes the schema of a source of type http, which is the type of every recipe. */
function changeSource(schema: SettingsSchema, change: (source: SettingsSchema) => SettingsSchema): SettingsSchema {
  const changeAt = (parent: SettingsSchema, [name, ...rest]: readonly string[]): SettingsSchema => {
    if (name === undefined)
      return {
        ...parent,
        oneOf: parent.oneOf?.map((kind) => (kind.properties?.type?.const === 'http' ? change(kind) : kind)),
      }
    if (name === '*')
      return { ...parent, additionalProperties: changeAt(parent.additionalProperties as SettingsSchema, rest) }
    const { [name]: member = {} } = parent.properties ?? {}
    return { ...parent, properties: { ...parent.properties, [name]: changeAt(member, rest) } }
  }
  return changeAt(schema, ['connections', '*', 'source'])
}

function withParameters(source: SettingsSchema): SettingsSchema {
  const { $schema: _, ...parameters } = z.toJSONSchema(RecipeParameters)
  return { ...source, properties: { ...source.properties, parameters: parameters as SettingsSchema } }
}

function relaxSource({ required = [], ...source }: SettingsSchema): SettingsSchema {
  const { oneOf: _, ...partial } = withoutRequired(source)
  return { ...partial, anyOf: [{ required: ['preset'] }, { required }] }
}

/** The schema with nothing required, so that several of its alternatives may match. */
function withoutRequired(schema: SettingsSchema): SettingsSchema {
  const { required: _, oneOf, anyOf, properties, ...rest } = schema
  const alternatives = [...(anyOf ?? []), ...(oneOf ?? [])].map(withoutRequired)
  const members = Object.entries(properties ?? {}).map(([name, member]) => [name, withoutRequired(member)])
  return {
    ...rest,
    ...(properties && { properties: Object.fromEntries(members) }),
    ...(alternatives.length > 0 && { anyOf: alternatives }),
  }
}
