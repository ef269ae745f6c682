import { z } from 'zod'
import type { OwnField } from '../../identity/record.ts'
import { inferSchema, type JsonObject } from '../../identity/shape/json-schema.ts'
import { type Property, propertyAt } from '../../identity/shape/property.ts'
import type { compileShape, Shape } from '../../identity/shape/shape.ts'

const Json = z.record(z.string(), z.unknown())

/** The limit of the platform for names. */
const maxNameLength = 191
const maxDescriptionLength = 768

/** A connection for custom records. Checks here what the platform would refuse. */
export const RecordTarget = z
  .strictObject({
    name: z.string().trim().min(1).max(maxNameLength).describe('The name of the custom connection.'),
    id: z.int().positive().optional().describe('The number of the custom connection, where several have the name.'),
    type: z.literal('CUSTOM').describe('Records of a shape of their own, in place of people.'),
    workspaces: z
      .array(z.int().positive())
      .min(1)
      .describe('The numbers of the workspaces that a new connection belongs to.'),
    displayNameKey: z
      .string()
      .min(1)
      .max(maxNameLength)
      .describe('The property at the top of the schema whose value labels a record.'),
    description: z.string().max(maxDescriptionLength).optional().describe('What the connection is for.'),
    schema: Json.optional().describe('The JSON Schema (draft-07) that every record satisfies.'),
    sampleData: Json.optional().describe('One typical record, in place of schema: the schema is inferred from it.'),
  })
  .superRefine(({ schema, sampleData, displayNameKey }, context) => {
    const add = (message: string, path: string[]) => context.addIssue({ code: 'custom', message, path })
    if ((schema === undefined) === (sampleData === undefined))
      return add('say what a record looks like: either schema or sampleData', ['schema'])
    const rules = schemaOf({ schema, sampleData })
    if (rules.type !== undefined && ![rules.type].flat().includes('object'))
      add('describes no object: its type is to be "object"', ['schema', 'type'])
    const { properties = {} } = rules
    if (typeof properties !== 'object' || properties === null || !Object.hasOwn(properties, displayNameKey))
      add('is no property at the top of the schema', ['displayNameKey'])
  })

type SchemaSource = { readonly schema?: JsonObject; readonly sampleData?: JsonObject }

/** The schema of the records of a target: its own, or the one that the platform infers from its sample. */
function schemaOf({ schema, sampleData }: SchemaSource): JsonObject {
  return schema ?? inferSchema(sampleData ?? {})
}

/** What is wrong with a mapping of records, by property. */
type PropertyProblem = { readonly property: string; readonly message: string }

/** What the schema says of each mapped property, and what is wrong with them. */
export function propertiesOf(
  target: SchemaSource,
  names: readonly string[],
): { readonly properties: ReadonlyMap<OwnField, Property>; readonly problems: readonly PropertyProblem[] } {
  const schema = schemaOf(target)
  const properties = new Map<OwnField, Property>()
  const problems: PropertyProblem[] = []
  for (const name of names) {
    const property = propertyAt(schema, `.${name}`)
    if (property === null)
      problems.push({ property: name, message: 'the schema of the target allows no such property' })
    else if (typeof property === 'string') problems.push({ property: name, message: `by the schema, it ${property}` })
    else properties.set(`.${name}`, property)
  }
  return { properties, problems }
}

/** The form of the records of a target; a text if its schema cannot be used. */
export function shapeOf(
  target: SchemaSource,
  properties: ReadonlyMap<OwnField, Property>,
  compile: typeof compileShape,
): Shape | string {
  try {
    return compile(schemaOf(target), properties)
  } catch (error) {
    return `cannot be used: ${error instanceof Error ? error.message : String(error)}`
  }
}
