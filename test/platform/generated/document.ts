import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { Operation } from '../../../src/contract/operation.ts'

type Json = Readonly<Record<string, unknown>>
type Response = { readonly content?: { readonly 'application/json': { readonly schema: Json } } }

/** The parts of an OpenAPI document that tests read. */
export type Document = {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Response>> }>>>
  >
  readonly components: { readonly schemas: Readonly<Record<string, Json>> }
}

/** The document that a platform serves. */
export async function documentOf(baseUrl: string): Promise<Document> {
  return (await (await fetch(`${baseUrl}/openapi.json`)).json()) as Document
}

/** The statuses with which an operation may answer, as the document has them. */
export function declaredStatuses(document: Document, { method, path }: Operation): number[] {
  const entry = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
  return Object.keys(entry?.responses ?? {}).map(Number)
}

/** Checks answers against the document: formats are checked, and members that it does not name are reported. */
export function strictReader(document: Document) {
  const ajv = formats.default(new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true }))
  const { schemas } = document.components
  return {
    complaints({ method, path }: Operation, status: number, body: unknown): string[] {
      const entry = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
      const response = entry?.responses[String(status)]
      if (!response) return [`the document has no answer with ${status}`]
      const schema = response.content?.['application/json'].schema
      if (!schema) return body === undefined || body === '' ? [] : ['the document has no body for this answer']
      const validate = ajv.compile(closed({ ...schema, $defs: schemas }) as Json)
      if (validate(body)) return []
      return (validate.errors ?? []).map(
        ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
      )
    },
  }
}

/** A schema whose objects allow only the properties that it names. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([key, value]) => {
    if (key === '$ref' && typeof value === 'string') return [key, value.replace('#/components/schemas/', '#/$defs/')]
    return [key, closed(value)]
  })
  const isOpen = 'properties' in schema && 'type' in schema && !('additionalProperties' in schema)
  return { ...Object.fromEntries(entries), ...(isOpen && { additionalProperties: false }) }
}
