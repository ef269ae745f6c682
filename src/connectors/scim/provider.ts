import { coreSchemas, enterpriseSchema, type ScimKind, schemaDocuments } from './schemas.ts'

/** Maximum number of resources in one answer. */
const maxResults = 1000

const schemaOfSchemas = 'urn:ietf:params:scim:schemas:core:2.0'
const listSchema = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'

/** What this service provider can do (RFC 7643, section 5). */
export function serviceProviderConfig(base: string): object {
  return {
    schemas: [`${schemaOfSchemas}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A token that "rollcall token create --role scim" made for this connection.',
        specUri: 'https://www.rfc-editor.org/rfc/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  }
}

/** The kinds of resources (RFC 7643, section 6). */
export function resourceTypes(base: string): readonly (object & { readonly id: string })[] {
  const kinds: readonly ScimKind[] = ['User', 'Group']
  return kinds.map((kind) => ({
    schemas: [`${schemaOfSchemas}:ResourceType`],
    id: kind,
    name: kind,
    endpoint: `/${kind}s`,
    schema: coreSchemas[kind],
    ...(kind === 'User' && { schemaExtensions: [{ schema: enterpriseSchema, required: false }] }),
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${kind}` },
  }))
}

/** The schemas (RFC 7643, section 7). */
export function schemas(base: string): readonly (object & { readonly id: string })[] {
  return schemaDocuments.map((document) => ({
    ...document,
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${document.id}` },
  }))
}

type ResourcePage = { readonly resources: readonly object[]; readonly total: number; readonly startIndex: number }

/** A list of resources (RFC 7644, section 3.4.2). */
export function listResponse({ resources, total, startIndex }: ResourcePage): object {
  return {
    schemas: [listSchema],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  }
}

/** A part of a list. */
type Page = { readonly startIndex: number; readonly count: number }

const defaultCount = 100

/** Reads `startIndex` and `count` (RFC 7644, section 3.4.2.4). Null: one of them is no whole number. */
export function readPage({
  startIndex = '1',
  count = String(defaultCount),
}: Readonly<Record<string, string | undefined>>): Page | null {
  const isWhole = (text: string) => /^-?\d{1,9}$/.test(text)
  if (!isWhole(startIndex) || !isWhole(count)) return null
  return { startIndex: Math.max(1, Number(startIndex)), count: Math.min(maxResults, Math.max(0, Number(count))) }
}
