import { z } from 'zod'
import { operations } from '../operation.ts'
import { expandQuery, Id, listQuery, maxLongTextLength, maxShortTextLength, page, Timestamp, text } from './common.ts'
import { CheckFrequency, ComplianceCheckStatus, ComplianceCheckType, PersonRef } from './personnel.ts'
import { SignedUrl } from './users.ts'

/** The expansions of devices. */
export const DeviceExpand = z
  .enum(['asset', 'complianceChecks', 'documents', 'identifiers'])
  .meta({ id: 'DeviceExpandEnum' })
export type DeviceExpand = z.infer<typeof DeviceExpand>

const DeviceDetailExpand = z.enum([...DeviceExpand.options, 'deviceApps'])

/** The systems that report devices. */
export const DeviceSource = z
  .enum([
    'AGENT',
    'JAMF',
    'INTUNE',
    'KANDJI',
    'JUMPCLOUD',
    'HEXNODE_UEM',
    'UNKNOWN',
    'RIPPLING',
    'WORKSPACE_ONE',
    'KOLIDE',
    'CUSTOM',
    'INTUNE_GCC_HIGH',
    'CUSTOM_XFA',
    'NINJAONE',
  ])
  .meta({ id: 'MobileDeviceManagementSourceTypeEnum' })
export type DeviceSource = z.infer<typeof DeviceSource>

/** The operating systems of devices. */
export const DevicePlatform = z.enum(['MACOS', 'WINDOWS', 'LINUX', 'UNIX', 'ANDROID']).meta({ id: 'AgentPlatformEnum' })
export type DevicePlatform = z.infer<typeof DevicePlatform>

const key = text(maxShortTextLength).min(1)

/** The reason for a setting: a text, or an object of the source. */
export const Explanation = z.union([text(maxLongTextLength), z.record(z.string(), z.unknown())])
const ResponseExplanation = z.record(z.string(), z.unknown()).describe('A submitted text is in `text`.')
export type Explanation = z.infer<typeof Explanation>

/** An app or browser extension on a device. */
export const InstalledApp = z
  .object({
    name: text(maxShortTextLength),
    version: text(maxShortTextLength),
    description: text(maxLongTextLength).nullish(),
  })
  .meta({ id: 'AppTypeRequestPublicV2Dto' })
export type InstalledApp = z.infer<typeof InstalledApp>

/** A Windows service on a device. */
export const WindowsService = z
  .object({
    name: text(maxShortTextLength),
    description: text(maxShortTextLength),
    startType: text(maxShortTextLength),
    status: text(maxShortTextLength),
  })
  .meta({ id: 'WindowsServiceRequestPublicV2Dto' })
export type WindowsService = z.infer<typeof WindowsService>

/** A report about a device. */
export const DeviceUpload = z
  .object({
    personnelId: PersonRef.describe('The owner: an id, or an e-mail address after `email:`.'),
    platformName: DevicePlatform,
    platformVersion: text(maxShortTextLength),
    alias: text(maxShortTextLength).optional().describe('The display name.'),
    model: text(maxShortTextLength).optional(),
    serialNumber: key.optional(),
    macAddress: key.nullish(),
    externalId: key.optional().describe('The key of the device in the reporting system.'),
    antivirusEnabled: z.boolean().nullish(),
    antivirusExplanation: Explanation.optional(),
    autoUpdateEnabled: z.boolean().nullish(),
    autoUpdateExplanation: Explanation.optional(),
    firewallEnabled: z.boolean().nullish(),
    firewallExplanation: Explanation.optional(),
    passwordManagerEnabled: z.boolean().nullish(),
    passwordManagerExplanation: Explanation.optional(),
    encryptionEnabled: z.boolean().nullish(),
    encryptionExplanation: Explanation.optional(),
    screenLockEnabled: z.boolean().nullish(),
    screenLockExplanation: Explanation.optional(),
    screenLockTime: z.number().optional(),
    appList: z.array(InstalledApp).optional().describe('All apps of the device; they replace the previous ones.'),
    browserExtensions: z.array(InstalledApp).optional(),
    windowsServices: z.array(WindowsService).optional(),
  })
  .meta({
    id: 'DeviceCreateRequestPublicV2Dto',
    description: 'Fields that are left out keep their values if the device is known.',
  })
export type DeviceUpload = z.infer<typeof DeviceUpload>

/** A compliance check of a device. */
export const DeviceComplianceCheck = z
  .object({
    id: Id,
    type: ComplianceCheckType,
    status: ComplianceCheckStatus,
    checkFrequency: CheckFrequency,
    expiresAt: Timestamp.nullable(),
    lastCheckedAt: Timestamp.nullable(),
    completionDate: Timestamp.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'DeviceComplianceCheckResponsePublicV2Dto', description: 'A compliance check of a device.' })
export type DeviceComplianceCheck = z.infer<typeof DeviceComplianceCheck>

/** An identifier of a device. */
export const DeviceIdentifier = z
  .object({ id: Id, type: z.string(), identifier: z.string(), createdAt: Timestamp, updatedAt: Timestamp })
  .meta({ id: 'DeviceIdentifierResponsePublicV2Dto', description: 'An identifier of a device.' })
export type DeviceIdentifier = z.infer<typeof DeviceIdentifier>

/** A document about a device. */
export const DeviceDocument = z
  .object({
    id: Id,
    type: z.string(),
    name: z.string(),
    fileUrl: z.string().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    downloadUrl: SignedUrl.optional(),
  })
  .meta({ id: 'DeviceDocumentResponsePublicV2Dto', description: 'A document about a device.' })
export type DeviceDocument = z.infer<typeof DeviceDocument>

/** An asset in the short form. */
export const AssetCompact = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    assetType: z.string(),
    assetProvider: z.string(),
    approvedAt: Timestamp,
    removedAt: Timestamp.nullish(),
    company: z.string(),
    notes: z.string().nullish(),
    assetReferenceType: z.string().nullable(),
    uniqueId: z.string(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    externalId: z.string().optional(),
    externalOwnerId: z.string().optional(),
  })
  .meta({ id: 'AssetCompactResponsePublicV2Dto', description: 'The asset of a device in the short form.' })
export type AssetCompact = z.infer<typeof AssetCompact>

const setting = z.boolean().nullable()
const explanation = ResponseExplanation.nullable()

/** A device of a person. */
export const Device = z
  .object({
    id: Id,
    assetId: Id.nullable(),
    osVersion: z.string().nullable(),
    serialNumber: z.string().nullable(),
    model: z.string().nullable(),
    macAddress: z.string().nullable(),
    lastCheckedAt: Timestamp.nullable().describe('The time of the last report.'),
    sourceType: DeviceSource,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    deletedAt: Timestamp.nullable(),
    appsCount: z.int().min(0).nullable().describe('Null until apps were reported.'),
    isDeviceCompliant: z.boolean().optional().describe('Together with the checks.'),
    complianceChecks: z.array(DeviceComplianceCheck).optional().describe('On request (`expand[]`).'),
    identifiers: z.array(DeviceIdentifier).optional().describe('On request (`expand[]`).'),
    documents: z.array(DeviceDocument).optional().describe('On request (`expand[]`).'),
    screenLockTime: z.number().nullable(),
    screenLockExplanation: explanation,
    antivirusEnabled: setting,
    antivirusExplanation: explanation,
    autoUpdateEnabled: setting,
    autoUpdateExplanation: explanation,
    passwordManagerEnabled: setting,
    passwordManagerExplanation: explanation,
    encryptionEnabled: setting,
    encryptionExplanation: explanation,
    firewallEnabled: setting,
    firewallExplanation: explanation,
    asset: AssetCompact.nullish().describe('On request (`expand[]`).'),
    userId: Id.nullish(),
    personnelId: Id,
    externalId: z.string().max(maxShortTextLength).nullable(),
  })
  .meta({ id: 'DeviceResponsePublicV2Dto', description: 'A workstation of a person.' })
export type Device = z.infer<typeof Device>

const DevicePage = page(Device).meta({ id: 'DevicesResponsePublicV2Dto' })

/** An app on a device. */
export const DeviceApp = z
  .object({ id: Id, installedApp: z.string().describe('Name and version.') })
  .meta({ id: 'DeviceAppResponsePublicV2Dto' })
export type DeviceApp = z.infer<typeof DeviceApp>

const DeviceAppPage = page(DeviceApp).meta({ id: 'DeviceAppsResponsePublicV2Dto' })

const DeviceWithApps = Device.extend({
  apps: z.array(DeviceApp).optional().describe('On request (`expand[]=deviceApps`).'),
}).meta({ id: 'DeviceResponseIdPublicV2Dto', description: 'A workstation of a person, with its apps on request.' })

const connectionPath = z.object({ connectionId: Id })
const devicePath = z.object({ deviceId: Id })
const commonQuery = {
  ...listQuery,
  ...expandQuery(DeviceExpand),
  externalId: text(maxShortTextLength).optional(),
  macAddress: text(maxShortTextLength).optional(),
  serialNumber: text(maxShortTextLength).optional(),
}
const sourceType = DeviceSource.optional().describe('Only devices that this kind of system reports.')
const personnelId = Id.optional().describe('Only devices of this person.')

/** The operations on devices, which custom connections of type MDM report. */
export const devices = operations({
  listDevices: {
    method: 'GET',
    path: '/devices',
    summary: 'List Devices',
    description: 'The devices of the account.',
    permission: 'devices-get',
    query: z.object({ ...commonQuery, sourceType, personnelId }),
    success: { 200: DevicePage },
    errors: [400, 401, 403, 412, 500],
  },
  listDevicesForPersonnel: {
    method: 'GET',
    path: '/personnel/:personnelId/devices',
    summary: 'List Devices for Personnel',
    description: 'The devices of a person.',
    permission: 'devices-get',
    params: z.object({ personnelId: Id }),
    query: z.object({ ...commonQuery, sourceType }),
    success: { 200: DevicePage },
    errors: [400, 401, 403, 404, 412, 500],
  },
  getDevice: {
    method: 'GET',
    path: '/devices/:deviceId',
    summary: 'Get Device',
    description: 'One device.',
    permission: 'devices-get',
    params: devicePath,
    query: z.object(expandQuery(DeviceDetailExpand)),
    success: { 200: DeviceWithApps },
    errors: [400, 401, 403, 404, 412, 500],
  },
  listDevicesForConnection: {
    method: 'GET',
    path: '/connections/:connectionId/devices',
    summary: 'List Devices for Connection',
    description: 'The devices that a connection reports.',
    permission: 'devices-get',
    params: connectionPath,
    query: z.object({ ...commonQuery, personnelId }),
    success: { 200: DevicePage },
    errors: [400, 401, 403, 404, 412, 500],
  },
  listDeviceApps: {
    method: 'GET',
    path: '/devices/:deviceId/apps',
    summary: 'List Apps for Device',
    description: 'The apps on a device.',
    permission: 'devices-get',
    params: devicePath,
    query: z.object(listQuery),
    success: { 200: DeviceAppPage },
    errors: [400, 401, 403, 404, 412, 500],
  },
  upsertDevice: {
    method: 'POST',
    path: '/custom-connections/:connectionId/devices',
    summary: 'Create or update Device for Custom Connection',
    description:
      'Report a device of a custom connection. A device of the connection with the same serial number, MAC address or external id is updated; otherwise a new one is created.',
    permission: 'devices-post',
    params: connectionPath,
    body: DeviceUpload,
    success: { 201: Device },
    errors: [400, 401, 403, 404, 412, 413, 500, 503],
  },
  deleteDevice: {
    method: 'DELETE',
    path: '/custom-connections/:connectionId/devices/:deviceId',
    summary: 'Delete Device',
    description: 'Delete a device of a custom connection, together with its asset.',
    permission: 'devices-delete-from-custom-connection',
    params: z.object({ connectionId: Id, deviceId: Id }),
    success: { 204: null },
    errors: [400, 401, 403, 404, 412, 500],
  },
})
