import type { CustomConnectionCreate } from '../../contract/platform/custom-connections.ts'
import { Refusal } from '../../http/refusal.ts'
import type { PlatformContext } from '../core/context.ts'
import { inferSchema } from '../core/json-schema/infer.ts'
import type { ProviderType } from '../core/schema.ts'
import { isStorableJson } from '../core/storable-json.ts'

type JsonObject = Readonly<Record<string, unknown>>

/** A connection that follows the rules of its type; only CUSTOM has a resource and workspaces. */
export type AllowedConnection =
  | { readonly providerType: Exclude<ProviderType, 'CUSTOM'> }
  | {
      readonly providerType: 'CUSTOM'
      readonly schema: JsonObject
      readonly displayNameKey: string
      readonly workspaceIds: readonly number[]
    }

const maxSchemaBytes = 64 * 1024

const onlyForCustom = ['workspaceIds', 'schema', 'sampleData', 'displayNameKey'] as const

/** Checks a new connection by the rules of its type; refuses with 400 and names the field. */
export function checkConnectionRules(input: CustomConnectionCreate): AllowedConnection {
  const [providerType] = input.providerTypes
  if (!providerType) throw new Error('a connection without a type has passed its schema')
  if (providerType === 'CUSTOM') return customConnection(input)
  const surplus = onlyForCustom.find((field) => input[field] !== undefined)
  if (surplus)
    throw new Refusal(400, `${surplus} belongs to connections of type CUSTOM and must be left out for ${providerType}`)
  return { providerType }
}

/** Refuses a schema that cannot validate records: no JSON Schema, a reference to another document, endless recursion, or too large. */
export async function requireUsableSchema(ctx: PlatformContext, allowed: AllowedConnection): Promise<void> {
  if (allowed.providerType !== 'CUSTOM') return
  const { schema } = allowed
  if (Buffer.byteLength(JSON.stringify(schema)) > maxSchemaBytes) {
    throw new Refusal(400, `the schema is larger than ${maxSchemaBytes / 1024} KiB`)
  }
  const verdict = await ctx.schemaValidator.validate(ctx.accountId, { schema, cacheKey: null, records: [{}] })
  if ('refusal' in verdict) throw new Refusal(400, `the schema cannot be used: ${verdict.refusal}`)
}

function customConnection(input: CustomConnectionCreate): AllowedConnection {
  const { workspaceIds = [], displayNameKey } = input
  if (workspaceIds.length === 0) throw new Refusal(400, 'workspaceIds must name at least one workspace for type CUSTOM')
  if (displayNameKey === undefined) throw new Refusal(400, 'displayNameKey is required for type CUSTOM')
  const schema = recordSchema(input)
  if (!allowsObjects(schema)) throw new Refusal(400, 'schema must describe an object, so its type must be "object"')
  if (!hasProperty(schema, displayNameKey)) {
    throw new Refusal(400, 'displayNameKey must name a property at the top level of the schema')
  }
  return { providerType: 'CUSTOM', schema, displayNameKey, workspaceIds: [...new Set(workspaceIds)] }
}

function recordSchema({ schema, sampleData }: CustomConnectionCreate): JsonObject {
  if (schema && sampleData) throw new Refusal(400, 'schema and sampleData exclude each other; give one of them')
  const source = schema ?? sampleData
  if (!source) throw new Refusal(400, 'schema or sampleData is required for type CUSTOM')
  if (!isStorableJson(source)) {
    throw new Refusal(
      400,
      `${schema ? 'schema' : 'sampleData'} holds text or numbers that cannot be stored, or is nested too deeply`,
    )
  }
  return schema ?? inferSchema(source)
}

function allowsObjects({ type = 'object' }: JsonObject): boolean {
  return [type].flat().includes('object')
}

function hasProperty({ properties }: JsonObject, key: string): boolean {
  return typeof properties === 'object' && properties !== null && Object.hasOwn(properties, key)
}
