import { z } from 'zod'
import { operations } from '../operation.ts'
import {
  CustomFieldSubmit,
  CustomFieldValue,
  expandQuery,
  Id,
  listQuery,
  maxShortTextLength,
  page,
  SubmittedTimestamp,
  Timestamp,
  text,
} from './common.ts'
import { Device } from './devices.ts'
import { EmploymentStatus } from './personnel.ts'
import { User } from './users.ts'

const maxUserId = 1_000_000_000

/** The expansions of assets. */
export const AssetExpand = z
  .enum(['device', 'assetClassTypes', 'complianceChecks', 'customFields', 'identifiers', 'owner'])
  .meta({ id: 'AssetExpandEnum' })
export type AssetExpand = z.infer<typeof AssetExpand>

/** The classes that an asset can have. */
export const AssetClassType = z
  .enum([
    'HARDWARE',
    'POLICY',
    'DOCUMENT',
    'PERSONNEL',
    'SOFTWARE',
    'CODE',
    'CONTAINER',
    'COMPUTE',
    'NETWORKING',
    'DATABASE',
    'STORAGE',
  ])
  .meta({ id: 'AssetClassTypeEnum' })
export type AssetClassType = z.infer<typeof AssetClassType>

/** Whether an asset is physical. */
export const AssetType = z.enum(['PHYSICAL', 'VIRTUAL']).meta({ id: 'AssetTypeEnum' })
export type AssetType = z.infer<typeof AssetType>

/** What an asset refers to. */
export const AssetReferenceType = z
  .enum(['PERSONNEL', 'WORKSTATION', 'REPORT', 'POLICY', 'OTHER', 'VIRTUAL'])
  .meta({ id: 'AssetReferenceTypeEnum' })
export type AssetReferenceType = z.infer<typeof AssetReferenceType>

/** The systems that report assets. */
export const AssetProvider = z
  .enum([
    'DRATA_DEV',
    'AGENT',
    'DRATA',
    'GOOGLE',
    'MICROSOFT_365',
    'JAMF',
    'INTUNE',
    'OKTA_IDENTITY',
    'KANDJI',
    'JUMPCLOUD',
    'HEXNODE_UEM',
    'RIPPLING',
    'AWS',
    'MERGEDEV_ONELOGIN',
    'MERGEDEV_JUMPCLOUD',
    'WORKSPACE_ONE',
    'CSV_IDP',
    'AWS_GOV_CLOUD',
    'AZURE',
    'GCP',
    'MICROSOFT_365_GCC_HIGH',
    'MERGEDEV_CYBERARK',
    'KOLIDE',
    'MERGEDEV_PINGONE',
    'AWS_ORG_UNITS',
    'INTUNE_GCC_HIGH',
    'CUSTOM_XFA',
    'NINJAONE',
  ])
  .meta({ id: 'AssetProviderEnum' })
export type AssetProvider = z.infer<typeof AssetProvider>

const name = text(maxShortTextLength)
  .min(1)
  .refine((value) => value.trim() !== '', { error: 'must not be blank' })
const classTypes = z.array(AssetClassType).min(1)
const shortText = text(maxShortTextLength)

/** A new asset. */
export const AssetCreate = z
  .object({
    name,
    description: shortText,
    notes: shortText.optional(),
    assetClassTypes: classTypes,
    assetType: AssetType,
    ownerId: Id.describe('The responsible user.'),
    associatedId: shortText.optional().describe('A key that goes with it, for example a serial number.'),
    removedAt: SubmittedTimestamp.optional().describe('When it stopped being tracked.'),
    externalId: shortText.optional().describe('The key of a virtual asset in the system that it lives in.'),
    externalOwnerId: shortText.optional().describe('Where a virtual asset comes from, typically the id of an account.'),
    customFields: z.array(CustomFieldSubmit).optional(),
  })
  .meta({ id: 'AssetCreateRequestPublicV2Dto' })
export type AssetCreate = z.infer<typeof AssetCreate>

/** Changes of an asset. */
export const AssetUpdate = z
  .object({
    name: name.optional(),
    description: shortText.optional(),
    notes: shortText.optional(),
    ownerId: Id.optional(),
    assetClassTypes: classTypes.optional().describe('All classes; they replace the previous ones.'),
    assetType: AssetType.optional(),
    customFields: z.array(CustomFieldSubmit).optional(),
  })
  .meta({ id: 'AssetModifyRequestPublicV2Dto', description: 'Fields that are left out keep their values.' })
export type AssetUpdate = z.infer<typeof AssetUpdate>

/** A class of an asset. */
export const AssetClass = z
  .object({ id: Id, assetClassType: z.string(), createdAt: Timestamp, updatedAt: Timestamp })
  .meta({ id: 'AssetClassTypeResponsePublicV2Dto', description: 'A class that an asset belongs to.' })
export type AssetClass = z.infer<typeof AssetClass>

/** An asset of the account. */
export const Asset = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    assetType: AssetType,
    assetProvider: AssetProvider,
    removedAt: Timestamp.nullable().describe('When it stopped being tracked.'),
    assetClassTypes: z.array(AssetClass).optional().describe('On request (`expand[]`).'),
    owner: User.optional().describe('On request (`expand[]`).'),
    notes: z.string().nullable(),
    assetReferenceType: AssetReferenceType.nullable(),
    associatedId: z.string().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    device: Device.nullable().describe(
      'Null unless it is requested (`expand[]` of `device`, or of `complianceChecks` or `identifiers`, which it then carries), and for an asset that is no device.',
    ),
    externalId: z.string().nullable(),
    externalOwnerId: z.string().nullish(),
    customFields: z.array(CustomFieldValue).optional().describe('On request (`expand[]`).'),
  })
  .meta({ id: 'AssetResponsePublicV2Dto', description: 'An asset of the account.' })
export type Asset = z.infer<typeof Asset>

const AssetPage = page(Asset).meta({ id: 'AssetsResponsePublicV2Dto' })

const params = z.object({ assetId: Id })
const expand = expandQuery(AssetExpand)

/** The operations on assets: workstations that connections report, and assets that were added by hand. */
export const assets = operations({
  listAssets: {
    method: 'GET',
    path: '/assets',
    summary: 'List Assets',
    description: 'The assets of the account.',
    permission: 'assets-get',
    query: z.object({
      ...listQuery,
      ...expand,
      assetClassType: AssetClassType.optional().describe(
        'Only assets of this class. Without `expand[]=assetClassTypes` it has no effect.',
      ),
      assetType: AssetType.optional(),
      assetProvider: AssetProvider.optional(),
      userId: Id.max(maxUserId).optional().describe('Only assets of this owner.'),
      employmentStatus: EmploymentStatus.optional().describe('Only assets whose owner has this status.'),
    }),
    success: { 200: AssetPage },
    errors: [400, 401, 403, 412, 500],
  },
  createAsset: {
    method: 'POST',
    path: '/assets',
    summary: 'Create Asset',
    description: 'Add an asset by hand.',
    permission: 'assets-post',
    body: AssetCreate,
    success: { 201: Asset },
    errors: [400, 401, 403, 404, 412, 422, 500],
  },
  getAsset: {
    method: 'GET',
    path: '/assets/:assetId',
    summary: 'Get Asset',
    description: 'One asset.',
    permission: 'assets-get',
    params,
    query: z.object(expand),
    success: { 200: Asset },
    errors: [400, 401, 403, 404, 412, 500],
  },
  updateAsset: {
    method: 'PUT',
    path: '/assets/:assetId',
    summary: 'Update Asset',
    description: 'Change an asset. The response is 204 if nothing changes.',
    permission: 'assets-put',
    params,
    body: AssetUpdate,
    success: { 200: Asset, 204: null },
    errors: [400, 401, 403, 404, 412, 500],
  },
  deleteAsset: {
    method: 'DELETE',
    path: '/assets/:assetId',
    summary: 'Remove Asset',
    description: 'Delete an asset. The asset of a device is only deleted with its device.',
    permission: 'assets-delete',
    params,
    success: { 204: null },
    errors: [400, 401, 403, 404, 412, 500],
  },
})
