import { z } from 'zod'

/** The part of JSON Schema that zod's schemas become, with references resolved. */
export type JsonSchema = {
  readonly type?: string
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
}

const known = new WeakMap<z.ZodType, JsonSchema>()

/** What a schema lets callers submit. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const name = known.get(schema)
  if (name) return name
  const { $defs = {}, ...root } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const made = resolve(root, $defs) as JsonSchema
  known.set(schema, made)
  return made
}

/** The schemas that a value may have: the members of a union, or the schema itself. */
export function alternativesOf(schema: JsonSchema): readonly JsonSchema[] {
  const members = schema.anyOf ?? schema.oneOf
  return members ? members.flatMap(alternativesOf) : [schema]
}

function resolve(value: unknown, definitions: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.map((entry) => resolve(entry, definitions))
  if (typeof value !== 'object' || value === null) return value
  if ('$ref' in value && typeof value.$ref === 'string') {
    const { $ref, ...siblings } = value
    const target = definitions[$ref.replace('#/$defs/', '')]
    return resolve({ ...(target as object), ...siblings }, definitions)
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolve(inner, definitions)]))
}
