import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { bytesType, type Example, type FirstOf, type Operation, type OperationTable } from '../contract/operation.ts'
import { ExceptionResponse, NamedExceptionResponse } from '../contract/platform/common.ts'
import { isNamedStatus } from './refusal.ts'

/** A section of the document with its operations. */
export type Area = { readonly tag: string; readonly description?: string; readonly operations: OperationTable }

type DocumentInfo = {
  readonly title: string
  readonly version: string
  readonly description?: string
  /** Base addresses, each with the prefix below which the operations are served. */
  readonly servers?: readonly string[]
  /** Whether requests are limited, so that each can be answered with 429. */
  readonly isLimited?: boolean
  /** The property of a caller to which permissions refer. */
  readonly callersHave?: 'permission' | 'role'
  /** Example requests, by the name of their operation. */
  readonly examples?: Examples
}

type Examples = Readonly<Record<string, Example>>

type Json = Readonly<Record<string, unknown>>
/** Converts a schema for the document, and collects the named schemas that it refers to. */
type Describe = (schema: z.ZodType) => JsonSchema
type DocumentContext = {
  readonly describe: Describe
  readonly isLimited: boolean
  readonly callersHave: 'permission' | 'role'
  readonly examples: Examples
}
type JsonSchema = Json & {
  readonly properties?: Readonly<Record<string, Json>>
  readonly required?: readonly string[]
  readonly $defs?: Readonly<Record<string, Json>>
}

const componentPath = '#/components/schemas/'

const statusTexts: Readonly<Record<number, string>> = {
  200: 'Done.',
  201: 'Created.',
  204: 'Done; there is nothing to say.',
  207: 'Some or all items were refused; every item has its own result.',
  400: 'The request is malformed or breaks a rule.',
  401: 'The key is missing, unknown, expired or revoked.',
  402: 'The plan of the account does not include this feature.',
  403: 'The key does not hold the permission.',
  404: 'There is no such thing.',
  408: 'The request did not arrive in time.',
  409: 'The state of the thing does not allow this now.',
  412: 'The account has not accepted the terms.',
  413: 'The body is too large.',
  415: 'The body is of another kind than the operation takes.',
  422: 'The request is well formed and cannot be carried out.',
  429: 'Too many requests came from this address; `Retry-After` says in seconds when to come again.',
  431: 'The headers, the address included, are larger than 16 KiB.',
  500: 'The server failed.',
  503: 'The server cannot answer now.',
}

/** The OpenAPI 3.1 document of some areas. Throws if two different schemas have one name. */
export function openapi(
  areas: readonly Area[],
  { servers = [], isLimited = false, callersHave = 'permission', examples = {}, ...info }: DocumentInfo,
): Json {
  const components = new Map<string, Json>()
  const describe: Describe = (schema) => describeSchema(schema, components)
  const paths = describePaths(areas, { describe, isLimited, callersHave, examples })
  return {
    openapi: '3.1.0',
    info,
    ...(servers.length > 0 && { servers: servers.map((url) => ({ url })) }),
    tags: areas.map(({ tag, description }) => ({ name: tag, ...(description !== undefined && { description }) })),
    paths,
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  }
}

function describePaths(areas: readonly Area[], describing: DocumentContext): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const { tag, operations } of areas) {
    for (const [name, operation] of Object.entries(operations)) {
      const path = operation.path.replace(/:(\w+)/g, '{$1}')
      paths[path] = {
        ...paths[path],
        [operation.method.toLowerCase()]: describeOperation(name, tag, operation, describing),
      }
    }
  }
  return paths
}

function describeOperation(name: string, tag: string, operation: Operation, describing: DocumentContext): Json {
  const { describe, examples } = describing
  const { params: shownParams = {}, query: shownQuery = {}, bodies = {} } = examples[name] ?? {}
  const { summary, permission, entitlement, params, query, body } = operation
  const description = describeNeeds(operation, describing.callersHave)
  const parameters = [
    ...describeParameters(params, 'path', describe, shownParams),
    ...describeParameters(query, 'query', describe, shownQuery),
  ]
  return {
    operationId: name,
    tags: [tag],
    summary,
    ...(description && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: bodyContent(operation, body, describe, bodies) } }),
    responses: describeResponses(name, operation, describing),
    security: [{ bearer: [] }],
    ...(permission && { 'x-permissions': [permission].flat() }),
    ...(entitlement && { 'x-entitlement': entitlement }),
  }
}

// A rendered document shows no extensions, so the text also states what a caller needs.
function describeNeeds(
  { description, permission = [], entitlement }: Operation,
  callersHave: DocumentContext['callersHave'],
): string {
  const permissions = [permission].flat().map((name) => `\`${name}\``)
  return [
    description,
    permissions.length > 0 && `Needs the ${callersHave} ${permissions.join(' or ')}.`,
    entitlement && `Needs the feature \`${entitlement}\` in the plan of the account.`,
  ]
    .filter(Boolean)
    .join('\n\n')
}

function describeParameters(
  schema: z.ZodObject | undefined,
  location: 'path' | 'query',
  describe: Describe,
  shown: NonNullable<Example['params' | 'query']>,
): Json[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = describe(schema)
  return Object.entries(properties).map(([name, { description, ...field }]) => ({
    name,
    in: location,
    required: required.includes(name),
    ...(description !== undefined && { description }),
    ...(field.type === 'array' && { style: 'form', explode: true }),
    schema: field,
    ...(shown[name] !== undefined && !isFirstOf(shown[name]) && { example: shown[name] }),
  }))
}

function bodyContent(
  operation: Operation,
  body: z.ZodType,
  describe: Describe,
  bodies: NonNullable<Example['bodies']>,
): Json {
  if (operation.takesBytes) return { [bytesType]: { schema: { type: 'string', format: 'binary' } } }
  const schema = describeBody(operation, body, describe)
  return { ...jsonContent(schema, bodies), ...(operation.takesForms && { 'multipart/form-data': { schema } }) }
}

function describeBody({ item }: Operation, body: z.ZodType, describe: Describe): Json {
  return item ? { ...describe(body), items: describe(item) } : describe(body)
}

function describeResponses(
  name: string,
  operation: Operation,
  { describe, isLimited, examples }: DocumentContext,
): Json {
  const links = linksFrom(name, examples)
  const { streams } = operation
  const successes = Object.entries(operation.success).map(([status, schema]) => [
    status,
    streams
      ? {
          description: 'Events, until the reader leaves.',
          content: { 'text/event-stream': { schema: describe(streams) } },
        }
      : { ...response(Number(status), schema && describe(schema)), ...(status === '200' && links && { links }) },
  ])
  const statuses = new Set([...operation.errors, ...serverStatuses(operation), ...(isLimited ? [429] : [])])
  const refusals = [...statuses].map((status) => [
    status,
    response(status, describe(isNamedStatus(status) ? NamedExceptionResponse : ExceptionResponse)),
  ])
  return Object.fromEntries([...successes, ...refusals])
}

/** Links from a list to the operations whose example uses the ID of its first entry. */
function linksFrom(list: string, examples: Examples): Json | null {
  const links = Object.entries(examples).flatMap(([operationId, { params = {} }]) => {
    const [taken] = Object.entries(params).filter(([, value]) => isFirstOf(value) && value.firstOf === list)
    return taken
      ? [[operationId, { operationId, parameters: { [taken[0]]: '$response.body#/data/0/id' } }] as const]
      : []
  })
  return links.length > 0 ? Object.fromEntries(links) : null
}

function isFirstOf(value: unknown): value is FirstOf {
  return typeof value === 'object' && value !== null && 'firstOf' in value
}

/** The responses of the server itself, before an operation runs. Only a body can be too large or of another type. */
function serverStatuses({ method }: Operation): number[] {
  return method === 'GET' ? [408, 431] : [408, 413, 415, 431]
}

function response(status: number, schema: Json | null): Json {
  return { description: statusTexts[status] ?? `Status ${status}.`, ...(schema && { content: jsonContent(schema) }) }
}

function jsonContent(schema: Json, bodies: NonNullable<Example['bodies']> = {}): Json {
  const examples = Object.entries(bodies).map(([summary, value]) => [
    summary.toLowerCase().replaceAll(' ', '-'),
    { summary, value },
  ])
  return {
    'application/json': { schema, ...(examples.length > 0 && { examples: Object.fromEntries(examples) }) },
  }
}

function describeSchema(schema: z.ZodType, components: Map<string, Json>): JsonSchema {
  // `input` describes a field with a default as optional. No schema of a table changes values otherwise.
  const document = z.toJSONSchema(schema, { io: 'input', override: dropRedundantLimits })
  const { $schema: _, $defs = {}, ...root } = pointToComponents(document)
  for (const [id, definition] of Object.entries($defs)) addComponent(components, id, definition)
  return root
}

// Integers are safe integers and formats have patterns. The document would only repeat both.
function dropRedundantLimits({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
}

function addComponent(components: Map<string, Json>, id: string, schema: Json): void {
  const known = components.get(id)
  if (known !== undefined && !isDeepStrictEqual(known, schema)) throw new Error(`two different schemas are named ${id}`)
  components.set(id, schema)
}

function pointToComponents(document: z.core.JSONSchema.BaseSchema): JsonSchema {
  return JSON.parse(JSON.stringify(document), (key, value) =>
    key === '$ref' && typeof value === 'string' ? value.replace('#/$defs/', componentPath) : value,
  )
}
