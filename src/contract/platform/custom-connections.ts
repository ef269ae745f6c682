import { z } from 'zod'
import { operations } from '../operation.ts'
import { expandQuery, Id, listQuery, maxShortTextLength, page, Timestamp, text, UserCompact } from './common.ts'

const entitlement = 'CUSTOM_CONNECTIONS_AND_TESTS'
const maxDescriptionLength = 768

const CreatableProviderType = z.enum(['CUSTOM', 'MDM', 'HRIS'])

/** The types of connections. */
export const ProviderType = z.enum([
  'IDENTITY',
  'INFRASTRUCTURE',
  'VERSION_CONTROL',
  'TICKETING',
  'HRIS',
  'BACKGROUND_CHECK',
  'SINGLE_SIGN_ON',
  'ENTERPRISE_SSO',
  'MDM',
  'SECURITY_TRAINING',
  'OBSERVABILITY',
  'COMMUNICATION',
  'DIGITAL_SIGNATURE',
  'EXTERNAL_POLICY',
  'VULNERABILITY',
  'EDR',
  'USER_ACCESS_REVIEW',
  'CSPM',
  'CODEBASE',
  'CYBER_INSURANCE',
  'CRM',
  'CUSTOM',
  'AUTOMATION_TOOLS',
  'SECURITY_REVIEWS',
  'PROCUREMENT',
  'AUDITS',
  'MFA',
  'PRIVACY',
])
export type ProviderType = z.infer<typeof ProviderType>

const CustomConnectionExpand = z.enum(['createdByUser', 'customResources']).meta({ id: 'CustomConnectionExpandEnum' })

const JsonObject = z.record(z.string(), z.unknown())

/** A new custom connection. */
export const CustomConnectionCreate = z
  .object({
    name: text(maxShortTextLength).min(1).describe('The display name; responses have it as `clientAlias`.'),
    providerTypes: z
      .array(CreatableProviderType)
      .length(1, { error: 'must hold exactly one of CUSTOM, MDM and HRIS' })
      .describe('Exactly one type: `HRIS` for people, `MDM` for devices, `CUSTOM` for records of any shape.'),
    workspaceIds: z
      .array(Id)
      .optional()
      .describe('The workspaces of a `CUSTOM` connection, at least one. The other types belong to the whole account.'),
    schema: JsonObject.optional().describe(
      'JSON Schema of the records of a `CUSTOM` connection, which needs this or `sampleData`.',
    ),
    sampleData: JsonObject.optional().describe(
      'One typical record, in place of `schema`: the schema is inferred from it.',
    ),
    description: text(maxDescriptionLength).nullish().describe('What the connection is for.'),
    displayNameKey: text(maxShortTextLength)
      .min(1)
      .optional()
      .describe('The property of the schema whose value labels a record. Only for `CUSTOM`, and required there.'),
  })
  .meta({ id: 'CustomConnectionCreateRequestPublicV2Dto' })
export type CustomConnectionCreate = z.infer<typeof CustomConnectionCreate>

/** Changes of a custom connection. */
export const CustomConnectionUpdate = z
  .object({
    clientAlias: text(maxShortTextLength).nullish().describe('The display name. Null removes it.'),
    description: text(maxDescriptionLength).optional(),
  })
  .meta({ id: 'CustomConnectionUpdateRequestPublicV2Dto', description: 'Fields that are left out keep their values.' })
export type CustomConnectionUpdate = z.infer<typeof CustomConnectionUpdate>

/** The resource of a `CUSTOM` connection. */
export const CustomConnectionResource = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string().nullish(),
    schema: JsonObject.describe('JSON Schema that each record must satisfy.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    deletedAt: Timestamp.nullish(),
  })
  .meta({
    id: 'CustomConnectionResourceResponsePublicV2Dto',
    description: 'The resource of a `CUSTOM` connection with its records.',
  })
export type CustomConnectionResource = z.infer<typeof CustomConnectionResource>

/** A custom connection. */
export const CustomConnection = z
  .object({
    id: Id,
    clientAlias: z.string().nullable().describe('The display name.'),
    description: z.string().nullable(),
    providerTypes: z.array(ProviderType).optional().describe('The type of the connection.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    createdById: Id.nullish().describe('The user, or the API key, that made the connection.'),
    customResources: z.array(CustomConnectionResource).optional().describe('On request (`expand[]`).'),
    createdByUser: UserCompact.optional().describe('On request (`expand[]`).'),
  })
  .meta({ id: 'CustomConnectionResponsePublicV2Dto' })
export type CustomConnection = z.infer<typeof CustomConnection>

const CustomConnectionPage = page(CustomConnection).meta({ id: 'CustomConnectionsResponsePublicV2Dto' })

const params = z.object({ connectionId: Id })
const expand = expandQuery(CustomConnectionExpand)

/** The operations on custom connections. */
export const customConnections = operations({
  listCustomConnections: {
    method: 'GET',
    path: '/custom-connections',
    summary: 'List Custom Connections',
    description: 'The custom connections of the account.',
    permission: 'custom-connections-get',
    entitlement,
    query: z.object({ ...listQuery, ...expand }),
    success: { 200: CustomConnectionPage },
    errors: [400, 401, 402, 403, 412, 500],
  },
  createCustomConnection: {
    method: 'POST',
    path: '/custom-connections',
    summary: 'Create Custom Connection',
    description:
      'Create a custom connection. `CUSTOM` needs `workspaceIds`, `displayNameKey`, and either `schema` or `sampleData`; `MDM` and `HRIS` take none of these.',
    permission: ['custom-connections-post', 'custom-connections-data-post'],
    entitlement,
    body: CustomConnectionCreate,
    success: { 201: CustomConnection },
    errors: [400, 401, 402, 403, 412, 500],
  },
  getCustomConnection: {
    method: 'GET',
    path: '/custom-connections/:connectionId',
    summary: 'Get Custom Connection',
    description: 'One custom connection.',
    permission: 'custom-connections-get',
    entitlement,
    params,
    query: z.object(expand),
    success: { 200: CustomConnection },
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
  updateCustomConnection: {
    method: 'PUT',
    path: '/custom-connections/:connectionId',
    summary: 'Update Custom Connection',
    description: 'Rename or describe a custom connection. Type, workspaces and schema cannot change.',
    permission: ['custom-connections-put', 'custom-connections-data-put'],
    entitlement,
    params,
    body: CustomConnectionUpdate,
    success: { 200: CustomConnection },
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
  deleteCustomConnection: {
    method: 'DELETE',
    path: '/custom-connections/:connectionId',
    summary: 'Delete Custom Connection',
    description: 'Delete a custom connection with all its data. Deleting an unknown connection succeeds.',
    permission: 'custom-connections-delete',
    entitlement,
    params,
    success: { 204: null },
    errors: [400, 401, 402, 403, 412, 500],
  },
})
