import type { Example } from '../operation.ts'
import type { platformOperations } from './platform.ts'

const ofHris = { connectionId: 1 }
const ofMdm = { connectionId: 2 }
const ofResource = { connectionId: 3, resourceId: 1 }
const session = { ...ofResource, sessionId: 'nightly-2026-01-31' }
const workspace = { workspaceId: 1 }
const control = { ...workspace, controlId: 4 }
const note = { ...control, noteId: { firstOf: 'listControlNotes' } }
const audit = { ...workspace, auditId: { firstOf: 'listAudits' } }
/** The smallest picture that is a PNG. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const picture = JSON.stringify({ filename: 'settings.png', base64String: `data:image/png;base64,${png}` })
const nora = 'email:nora.lindqvist@acme.example'

type Examples = { readonly [name in keyof typeof platformOperations]: Example }

const weekMs = 7 * 24 * 60 * 60 * 1000

/**
 * An example request for every operation, as of `now`. They succeed on a platform with only the seed `config/platform-seed.yaml`, if creating requests
 * come first and deleting ones last: the ids are those that the objects get there.
 */
export function platformExamples(now: Date): Examples {
  const acceptedAt = new Date(now.getTime() - weekMs).toISOString()
  const acknowledgePolicy = {
    params: { userId: nora, policyId: 1 },
    bodies: { 'Read elsewhere': { acceptedAt, details: 'Signed on paper on the first day.' } },
  }
  return { ...lastingExamples, acknowledgePolicy }
}

const lastingExamples: Omit<Examples, 'acknowledgePolicy'> = {
  listAssets: { query: { size: 10, 'expand[]': ['owner', 'assetClassTypes'] } },
  createAsset: {
    bodies: {
      'A database': {
        name: 'Billing database',
        description: 'Holds invoices and payments.',
        assetClassTypes: ['DATABASE'],
        assetType: 'VIRTUAL',
        ownerId: 1,
        externalId: 'billing-eu-1',
        customFields: [{ name: 'Cost centre', value: '4100' }],
      },
    },
  },
  getAsset: { params: { assetId: 1 }, query: { 'expand[]': ['owner', 'customFields'] } },
  updateAsset: {
    params: { assetId: 1 },
    bodies: { 'Another owner': { ownerId: 2, notes: 'Handed over with the payments team.' } },
  },
  deleteAsset: { params: { assetId: 1 } },

  listCustomConnections: { query: { size: 10, includeTotalCount: true } },
  createCustomConnection: {
    bodies: {
      'HR records': { name: 'Acme HRIS', description: 'Filled from HR every night.', providerTypes: ['HRIS'] },
      'Devices of people': { name: 'Acme MDM', providerTypes: ['MDM'] },
      'Records of your own': {
        name: 'Servers',
        providerTypes: ['CUSTOM'],
        workspaceIds: [1],
        displayNameKey: 'hostname',
        schema: {
          type: 'object',
          properties: { id: { type: 'string' }, hostname: { type: 'string' }, encrypted: { type: 'boolean' } },
          required: ['hostname'],
        },
      },
    },
  },
  getCustomConnection: { params: ofHris, query: { 'expand[]': ['createdByUser'] } },
  updateCustomConnection: { params: ofHris, bodies: { 'Another name': { clientAlias: 'Acme People' } } },
  deleteCustomConnection: { params: ofHris },

  listDevices: { query: { size: 10, 'expand[]': ['complianceChecks'] } },
  listDevicesForPersonnel: { params: { personnelId: 1 } },
  getDevice: { params: { deviceId: 1 }, query: { 'expand[]': ['asset', 'deviceApps'] } },
  listDevicesForConnection: { params: ofMdm },
  listDeviceApps: { params: { deviceId: 1 } },
  upsertDevice: {
    params: ofMdm,
    bodies: {
      'A laptop': {
        personnelId: nora,
        platformName: 'MACOS',
        platformVersion: '15.3',
        alias: 'Laptop of Nora',
        serialNumber: 'C02XL0ACJGH5',
        encryptionEnabled: true,
        antivirusEnabled: true,
        autoUpdateEnabled: true,
        screenLockEnabled: true,
        screenLockTime: 300,
        passwordManagerEnabled: false,
        appList: [{ name: 'Firefox', version: '140.0' }],
      },
    },
  },
  deleteDevice: { params: { ...ofMdm, deviceId: 1 } },

  createBackgroundCheck: {
    bodies: {
      'A report': { userId: 1, filedAt: '2026-01-31', url: 'https://checks.example/reports/lindqvist.pdf' },
    },
  },

  getCompany: {},

  listEvents: { query: { size: 10, source: 'PUBLIC_API', 'expand[]': ['user'] } },
  getEvent: { params: { eventId: { firstOf: 'listEvents' } }, query: { 'expand[]': ['metadata'] } },

  listCustomDataRecords: { params: ofResource, query: { size: 10 } },
  upsertCustomDataRecords: {
    params: ofResource,
    bodies: {
      'One record': { data: { id: 'web-1', hostname: 'web-1.acme.example', encrypted: true } },
      'Several records': {
        data: [
          { id: 'web-1', hostname: 'web-1.acme.example', encrypted: true },
          { id: 'web-2', hostname: 'web-2.acme.example', encrypted: false },
        ],
      },
    },
  },
  updateCustomDataRecord: {
    params: { ...ofResource, recordId: 'web-1' },
    bodies: { 'One property': { data: { encrypted: false } } },
  },
  deleteCustomDataRecord: { params: { ...ofResource, recordId: 'web-1' } },

  listCustomDataSessions: { params: ofResource, query: { size: 10 } },
  uploadSessionRecords: {
    params: session,
    bodies: {
      'All records': {
        data: [
          { id: 'web-1', hostname: 'web-1.acme.example', encrypted: true },
          { id: 'web-3', hostname: 'web-3.acme.example', encrypted: true },
        ],
      },
    },
  },
  performSessionAction: { params: session, bodies: { 'Complete it': { action: 'complete' } } },

  listHrisUserIdentities: { params: ofHris, query: { size: 10, sort: 'updatedAt', sortDir: 'DESC' } },
  upsertHrisUserIdentities: {
    params: ofHris,
    bodies: {
      'A joiner and a leaver': [
        {
          identityId: '1001',
          email: 'nora.lindqvist@acme.example',
          firstName: 'Nora',
          lastName: 'Lindqvist',
          jobTitle: 'Head of Security',
          startedAt: '2026-01-05T00:00:00.000Z',
          isContractor: false,
        },
        {
          identityId: '1002',
          email: 'tomas.rey@acme.example',
          firstName: 'Tomás',
          lastName: 'Rey',
          startedAt: '2021-09-01T00:00:00.000Z',
          separatedAt: '2026-01-31T00:00:00.000Z',
          isContractor: false,
        },
      ],
    },
  },
  getHrisUserIdentity: { params: { ...ofHris, userIdentityId: 'identity-id:1001' } },
  updateHrisUserIdentity: {
    params: { ...ofHris, userIdentityId: 'identity-id:1001' },
    bodies: { 'A last day': { separatedAt: '2026-02-28T00:00:00.000Z' } },
  },
  deleteHrisUserIdentity: { params: { ...ofHris, userIdentityId: 'identity-id:1001' } },

  listPersonnel: { query: { size: 10, 'expand[]': ['user'] } },
  getPersonnel: { params: { personnelId: nora }, query: { 'expand[]': ['user', 'complianceChecks'] } },
  updatePersonnel: {
    params: { personnelId: nora },
    bodies: {
      'A first day': { startedAt: '2021-05-03' },
      'Out of scope': { employmentStatus: 'OUT_OF_SCOPE', notHumanReason: 'A mailbox that several people read.' },
    },
  },
  searchPersonnel: { query: { q: 'engineer', 'expand[]': ['user', 'groups'], 'facets[]': ['employmentStatus'] } },
  searchWorkspacePersonnel: { params: workspace, query: { sort: 'name', size: 10 } },
  listGroups: { query: { q: 'engineering' } },
  listScopedGroups: { params: workspace },
  addScopedGroup: { params: workspace, bodies: { 'A group': { groupId: 2 } } },
  replaceScopedGroups: { params: workspace, bodies: { 'The whole scope': { groupIds: [1] } } },
  removeScopedGroup: { params: { ...workspace, groupId: 1 } },
  getScopedCounts: { params: workspace },
  resetPersonnelSync: {
    bodies: { 'Some people': { action: 'reset-sync', personnelIds: [1, 2] }, Everybody: { action: 'reset-sync-all' } },
  },

  listUsers: { query: { size: 10, lastName: 'Lind' } },
  getUser: { params: { userId: 1 }, query: { 'expand[]': ['roles', 'identities'] } },

  listRoles: { query: { size: 10 } },
  getRole: { params: { roleId: 'role:ADMIN' }, query: { 'expand[]': ['permissions'] } },
  listUsersWithRole: { params: { roleId: 'role:EMPLOYEE' }, query: { size: 10 } },

  listUserDocuments: { params: { userId: 1 }, query: { size: 10, 'expand[]': ['downloadUrl'] } },
  createUserDocument: {
    params: { userId: 1 },
    bodies: { 'A finished training': { type: 'SEC_TRAINING', base64File: picture } },
  },
  getUserDocument: { params: { userId: 1, documentId: 1 }, query: { 'expand[]': ['downloadUrl'] } },
  deleteUserDocument: { params: { userId: 1, documentId: 1 } },

  listDeviceDocuments: { params: { deviceId: 1 }, query: { type: 'ANTIVIRUS_EVIDENCE' } },
  createDeviceDocument: {
    params: { deviceId: 1 },
    bodies: { 'A picture of the settings': { type: 'ANTIVIRUS_EVIDENCE', base64File: picture } },
  },
  getDeviceDocument: { params: { deviceId: 1, documentId: 2 }, query: { 'expand[]': ['downloadUrl'] } },
  deleteDeviceDocument: { params: { deviceId: 1, documentId: 2 } },

  listAssignedPolicies: { params: { userId: nora }, query: { size: 10, 'expand[]': ['policy'] } },

  listCustomFieldDefinitions: { query: { size: 10, entityType: 'PERSONNEL' } },
  getCustomFieldDefinition: { params: { customFieldId: 'name:Cost centre' } },

  listWorkspaces: { query: { 'expand[]': ['frameworks'] } },

  listControls: { params: workspace, query: { size: 10, isReady: false, 'expand[]': ['flags', 'owners'] } },
  createControl: {
    params: workspace,
    bodies: {
      'A control of your own': {
        name: 'Laptops are returned on the last day',
        description: 'Every leaver hands in laptop and keys, and signs for it.',
        code: 'ACME-2',
        question: 'Who checks that a laptop came back?',
        activity: 'Compare leavers with the inventory every month.',
        ownersIds: [1],
        policyIds: [1],
        customFields: [{ name: 'Review month', value: 'March' }],
      },
    },
  },
  getControl: { params: { ...workspace, controlId: 'code:CTL-8' }, query: { 'expand[]': ['owners', 'flags'] } },

  listControlNotes: { params: control, query: { 'expand[]': ['owner'] } },
  createControlNote: { params: control, bodies: { 'A note': { comment: 'Everybody has finished the training.' } } },
  getControlNote: { params: note },
  updateControlNote: { params: note, bodies: { 'Another text': { comment: 'Three people are late.' } } },
  deleteControlNote: { params: note },

  listControlOwners: { params: control, query: { size: 10, includeTotalCount: true } },
  addControlOwner: { params: control, bodies: { 'One more owner': { ownerId: 3 } } },
  modifyControlOwners: { params: control, bodies: { 'All owners': { ownerUserIds: [1, 3, 6] } } },
  deleteControlOwner: { params: { ...control, ownerId: 6 } },

  listControlLibrary: { query: { size: 10, search: 'access', hasTests: true } },
  getControlLibraryItem: { params: { templateId: 1 }, query: { 'expand[]': ['testTemplates'] } },

  listAudits: { params: workspace, query: { size: 10, 'expand[]': ['auditors'] } },
  getAudit: { params: audit, query: { 'expand[]': ['controls'] } },

  listAuditRequests: { params: audit, query: { size: 10, 'expand[]': ['messages'] } },
  getAuditRequest: { params: { ...audit, requestId: { firstOf: 'listAuditRequests' } } },
}
