import type { OperationTable } from '../operation.ts'
import { assets } from './assets.ts'
import { assignedPolicies } from './assigned-policies.ts'
import { auditRequests } from './audit-requests.ts'
import { audits } from './audits.ts'
import { backgroundChecks } from './background-checks.ts'
import { company } from './company.ts'
import { controlLibrary } from './control-library.ts'
import { controlNotes } from './control-notes.ts'
import { controlOwners } from './control-owners.ts'
import { controls } from './controls.ts'
import { customConnections } from './custom-connections.ts'
import { customDataRecords } from './custom-data-records.ts'
import { customDataSessions } from './custom-data-sessions.ts'
import { customFieldDefinitions } from './custom-field-definitions.ts'
import { deviceDocuments } from './device-documents.ts'
import { devices } from './devices.ts'
import { events } from './events.ts'
import { groups } from './groups.ts'
import { hrisUserIdentities } from './hris-user-identities.ts'
import { personnel } from './personnel.ts'
import { personnelSearch } from './personnel-search.ts'
import { roles } from './roles.ts'
import { userDocuments } from './user-documents.ts'
import { users } from './users.ts'
import { workspaces } from './workspaces.ts'

/** The path of the API. */
export const platformPrefix = '/public/v2'

/** Every area of the platform with its tag in the document. */
export const platformAreas = [
  { tag: 'Assets', description: 'Inventory of policies, people and computer infrastructure.', operations: assets },
  {
    tag: 'Custom Connections',
    description:
      'Connections to systems without a built-in integration: records of any shape (`CUSTOM`), devices (`MDM`) or people from HR (`HRIS`).',
    operations: customConnections,
  },
  {
    tag: 'Devices',
    description: 'The devices of people, and those that custom `MDM` connections report.',
    operations: devices,
  },
  {
    tag: 'Background Checks',
    description: 'Checks of the background of people, recorded by hand.',
    operations: backgroundChecks,
  },
  { tag: 'Company', description: 'The company that the account belongs to.', operations: company },
  { tag: 'Events', description: 'What users and automated processes did.', operations: events },
  {
    tag: 'Custom Data Records',
    description: 'Records of a `CUSTOM` connection, sent directly.',
    operations: customDataRecords,
  },
  {
    tag: 'Custom Data Sessions',
    description: 'Uploads whose records of a `CUSTOM` connection become live together.',
    operations: customDataSessions,
  },
  {
    tag: 'HRIS User Identities',
    description: 'HR records of an `HRIS` connection. The identity sync updates personnel from them.',
    operations: hrisUserIdentities,
  },
  {
    tag: 'Personnel',
    description: 'People who work for the organization; the target of the identity sync.',
    operations: personnel,
  },
  {
    tag: 'Personnel Search',
    description: 'People by text, status, connection, group and custom field. Answers may be a few seconds old.',
    operations: personnelSearch,
  },
  {
    tag: 'Groups',
    description: 'Groups that came with identity providers, and the groups in the scope of a workspace.',
    operations: groups,
  },
  {
    tag: 'Users',
    description: 'The users of the account, and the identities that are linked to them.',
    operations: users,
  },
  { tag: 'Roles', description: 'The roles of users.', operations: roles },
  {
    tag: 'User Documents',
    description: 'Documents that prove trainings, a second factor and the end of an employment.',
    operations: userDocuments,
  },
  { tag: 'Device Documents', description: 'Documents that prove settings of a device.', operations: deviceDocuments },
  {
    tag: "User's Assigned Policies",
    description: 'The policies that are assigned to users, and their acknowledgement.',
    operations: assignedPolicies,
  },
  {
    tag: 'Custom Field Definitions',
    description: 'The fields that the account has added to its objects.',
    operations: customFieldDefinitions,
  },
  {
    tag: 'Workspaces',
    description: 'Products or business lines with frameworks and controls of their own.',
    operations: workspaces,
  },
  {
    tag: 'Controls',
    description: 'What a workspace does to meet the requirements of its frameworks.',
    operations: controls,
  },
  { tag: 'Control Notes', description: 'Notes about a control.', operations: controlNotes },
  { tag: 'Control Owners', description: 'The responsible users of a control.', operations: controlOwners },
  { tag: 'Control Library', description: 'Templates of controls.', operations: controlLibrary },
  { tag: 'Audits', description: 'Audits of a workspace by a framework and a period.', operations: audits },
  { tag: 'Audit Requests', description: 'Requests of the auditors of an audit.', operations: auditRequests },
] as const satisfies readonly {
  readonly tag: string
  readonly description: string
  readonly operations: OperationTable
}[]

/** The operations of all areas, for a client. */
export const platformOperations = {
  ...backgroundChecks,
  ...company,
  ...customConnections,
  ...events,
  ...hrisUserIdentities,
  ...personnel,
  ...personnelSearch,
  ...groups,
  ...workspaces,
  ...controls,
  ...controlNotes,
  ...controlOwners,
  ...controlLibrary,
  ...audits,
  ...auditRequests,
  ...assets,
  ...devices,
  ...users,
  ...roles,
  ...userDocuments,
  ...deviceDocuments,
  ...assignedPolicies,
  ...customFieldDefinitions,
  ...customDataRecords,
  ...customDataSessions,
}
