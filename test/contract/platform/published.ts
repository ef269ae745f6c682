import { createHash } from 'node:crypto'
import { platformAreas } from '../../../src/contract/platform/platform.ts'

type Json = { readonly [key: string]: unknown }

/** What is known of the published contract: its facts without a word of its prose, in the shape of the document that they stand in. */
export type Published = {
  readonly source: string
  /** When the document was stored. */
  readonly stored: string
  /** Of the document that the facts were taken from. */
  readonly sha256: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json & { readonly operationId: string }>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Json>> }
}

const methods: ReadonlySet<string> = new Set(['get', 'post', 'put', 'patch', 'delete'])
const schemaFacts: ReadonlySet<string> = new Set([
  ...['$ref', 'type', 'format', 'default', 'nullable', 'enum', 'items', 'properties', 'required'],
  ...['allOf', 'anyOf', 'oneOf', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
])
const servedPaths: ReadonlySet<string> = new Set(
  platformAreas.flatMap(({ operations }) =>
    Object.values(operations).map(({ path }) => path.replaceAll(/:(\w+)/g, '{$1}')),
  ),
)

/**
 * The facts of a published document: of each operation its name, and of those at paths that we serve everything that a table can be
 * compared with. `test/fixtures/published-contract.json` holds them.
 */
export function publishedFacts(document: Buffer): Published {
  const { paths, components } = JSON.parse(document.toString())
  const kept = mapValues(object(paths), (operations, path) =>
    mapValues(
      Object.fromEntries(Object.entries(object(operations)).filter(([method]) => methods.has(method))),
      (operation) => operationOf(object(operation), servedPaths.has(path)),
    ),
  )
  return {
    source: 'the OpenAPI document of the published contract',
    stored: '2026-08',
    sha256: createHash('sha256').update(document).digest('hex'),
    paths: kept as Published['paths'],
    components: { schemas: referred(kept, object(object(components).schemas)) },
  }
}

function operationOf(operation: Json, isServed: boolean): Json {
  const operationId = String(operation.operationId).split('_').at(-1)
  if (!isServed) return { operationId }
  const { parameters, requestBody, responses } = operation
  const needs = Object.entries(operation).filter(([key]) => /^x-\w+-(?:permissions|entitlement)$/.test(key))
  return {
    operationId,
    ...Object.fromEntries(needs),
    ...(Array.isArray(parameters) && { parameters: parameters.map(parameterOf) }),
    ...(requestBody !== undefined && {
      requestBody: { required: object(requestBody).required, ...contentOf(requestBody) },
    }),
    responses: mapValues(object(responses), contentOf),
  }
}

function parameterOf({ name, in: location, required, schema }: Json): Json {
  return { name, in: location, required, schema: schemaOf(schema) }
}

function contentOf(holder: unknown): Json {
  const json = object(object(object(holder).content)['application/json'])
  return json.schema === undefined ? {} : { content: { 'application/json': { schema: schemaOf(json.schema) } } }
}

function schemaOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(schemaOf)
  if (typeof schema !== 'object' || schema === null) return schema
  const kept = Object.entries(schema).filter(([key]) => schemaFacts.has(key))
  return Object.fromEntries(
    kept.map(([key, value]) => {
      if (key === 'properties') return [key, mapValues(object(value), schemaOf)]
      return [key, key === 'default' ? value : schemaOf(value)]
    }),
  )
}

/** The schemas that are referred to, directly or by one another, in the order of their names. */
function referred(root: unknown, schemas: Json): Record<string, Json> {
  const result = new Map<string, Json>()
  const look = (value: unknown) => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (result.has(name)) continue
      const schema = object(schemaOf(schemas[name]))
      result.set(name, schema)
      look(schema)
    }
  }
  look(root)
  return Object.fromEntries([...result].sort(([one], [other]) => (one < other ? -1 : 1)))
}

function mapValues(record: Json, map: (value: unknown, key: string) => unknown): Json {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]))
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}
