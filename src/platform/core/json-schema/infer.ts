type JsonSchema = Readonly<Record<string, unknown>>

/** A JSON Schema (draft-07) for records like the sample: no property is required and others are allowed. */
export function inferSchema(sample: Readonly<Record<string, unknown>>): JsonSchema {
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...objectSchema(sample) }
}

function valueSchema(value: unknown): JsonSchema {
  if (value === null) return {}
  if (Array.isArray(value)) return { type: 'array' }
  if (isObject(value)) return objectSchema(value)
  return { type: typeof value }
}

function objectSchema(value: Readonly<Record<string, unknown>>): JsonSchema {
  const properties = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, valueSchema(inner)]))
  return { type: 'object', properties, required: [], additionalProperties: true }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
