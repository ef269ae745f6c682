import { isDeepStrictEqual } from 'node:util'

/** An object of parsed JSON. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Keywords that describe a schema and constrain nothing. */
const annotations: ReadonlySet<string> = new Set(
  '$schema $id $comment title description default examples readOnly writeOnly deprecated'.split(' '),
)
const maxDifferences = 10

/** Whether a value of parsed JSON is an object and not a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A JSON Schema (draft-07) that one sample record satisfies, as the platform infers it: nothing is required, and further properties may appear. */
export function inferSchema(sample: JsonObject): JsonObject {
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...objectSchema(sample) }
}

function objectSchema(sample: JsonObject): JsonObject {
  const properties = Object.fromEntries(Object.entries(sample).map(([name, value]) => [name, valueSchema(value)]))
  return { type: 'object', properties, required: [], additionalProperties: true }
}

function valueSchema(value: unknown): JsonObject {
  if (value === null) return {}
  if (Array.isArray(value)) {
    const [first] = value
    return first === undefined ? { type: 'array' } : { type: 'array', items: valueSchema(first) }
  }
  return isObject(value) ? objectSchema(value) : { type: typeof value }
}

/** The schema at a path of properties: undefined if it does not describe the property, null if it does not allow it. */
export function schemaAt(schema: JsonObject, path: readonly string[]): JsonObject | null | undefined {
  let at: JsonObject = followReference(schema, schema)
  for (const name of path) {
    const next = propertyOf(at, name)
    if (next === false) return null
    if (!isObject(next)) return undefined
    at = followReference(next, schema)
  }
  return at
}

/** The schema of a property of this name in an object schema; undefined if there is none. */
function propertyOf({ properties, patternProperties, additionalProperties }: JsonObject, name: string): unknown {
  if (isObject(properties) && Object.hasOwn(properties, name)) return properties[name]
  const patterns = isObject(patternProperties) ? Object.entries(patternProperties) : []
  const [, matching] = patterns.find(([pattern]) => matches(pattern, name)) ?? []
  return matching ?? additionalProperties
}

function matches(pattern: string, name: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(name)
  } catch (error) {
    // Compiling the schema reports it.
    if (error instanceof SyntaxError) return false
    throw error
  }
}

/** Follows a reference within the same schema. */
function followReference(schema: JsonObject, root: JsonObject): JsonObject {
  let at = schema
  for (let steps = 0; steps < 20; steps++) {
    const { $ref } = at
    if (typeof $ref !== 'string' || !$ref.startsWith('#')) return at
    const target = namesOf($ref.slice(1)).reduce<unknown>(
      (parent, name) => (isContainer(parent) && Object.hasOwn(parent, name) ? Reflect.get(parent, name) : undefined),
      root,
    )
    if (!isObject(target)) return at
    at = target
  }
  return at
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** The names in the JSON Pointer of a reference. */
function namesOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => percentDecoded(name).replaceAll('~1', '/').replaceAll('~0', '~'))
}

function percentDecoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch (error) {
    if (error instanceof URIError) return name
    throw error
  }
}

/** Where two schemas constrain records differently: one sentence for each difference, at most ten. */
export function schemaDifferences(ours: JsonObject, theirs: JsonObject): readonly string[] {
  const differences: string[] = []
  compare(toComparable(ours), toComparable(theirs), '', differences)
  return differences.length <= maxDifferences
    ? differences
    : [...differences.slice(0, maxDifferences), `${differences.length - maxDifferences} more`]
}

function compare(ours: unknown, theirs: unknown, at: string, differences: string[]): void {
  if (isDeepStrictEqual(ours, theirs)) return
  if (isObject(ours) && isObject(theirs)) {
    for (const name of new Set([...Object.keys(ours), ...Object.keys(theirs)]))
      compare(ours[name], theirs[name], `${at}/${name}`, differences)
    return
  }
  differences.push(`${at || '/'} is ${worded(ours)} in the configuration and ${worded(theirs)} on the platform`)
}

function worded(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value).slice(0, 200)
}

/** Keywords whose members are names of schemas, not keywords. */
const byName: ReadonlySet<string> = new Set(
  'properties patternProperties definitions $defs dependencies dependentSchemas'.split(' '),
)
/** Keywords whose content is a value, not a schema. */
const literal: ReadonlySet<string> = new Set(['const', 'enum'])

/** A schema for a comparison: without annotations and keywords that constrain nothing, and with sorted lists of names. */
function toComparable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toComparable)
  if (!isObject(schema)) return schema
  const kept = Object.entries(schema).filter(([keyword, value]) => {
    if (annotations.has(keyword)) return false
    if (keyword === 'required') return !Array.isArray(value) || value.length > 0
    return keyword !== 'additionalProperties' || value !== true
  })
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, comparableMember(keyword, value)]))
}

function comparableMember(keyword: string, value: unknown): unknown {
  if (literal.has(keyword)) return value
  if (byName.has(keyword) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, toComparable(schema)]))
  const isSet = keyword === 'required' || keyword === 'type'
  return isSet && Array.isArray(value) ? value.map(String).toSorted() : toComparable(value)
}
