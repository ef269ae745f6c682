import type { OperationTable } from '../operation.ts'
import { assets } from './assets.ts'
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
import { devices } from './devices.ts'
import { events } from './events.ts'
import { hrisUserIdentities } from './hris-user-identities.ts'
import { personnel } from './personnel.ts'
import { users } from './users.ts'
import { workspaces } from './workspaces.ts'

/** Where a platform serves its operations. */
export const platformPrefix = '/public/v2'

/** Every area of the platform, by the tag under which its document shows it. */
export const platformAreas = [
  { tag: 'Assets', operations: assets },
  { tag: 'Custom Connections', operations: customConnections },
  { tag: 'Devices', operations: devices },
  { tag: 'Background Checks', operations: backgroundChecks },
  { tag: 'Company', operations: company },
  { tag: 'Events', operations: events },
  { tag: 'Custom Data Records', operations: customDataRecords },
  { tag: 'Custom Data Sessions', operations: customDataSessions },
  { tag: 'HRIS User Identities', operations: hrisUserIdentities },
  { tag: 'Personnel', operations: personnel },
  { tag: 'Users', operations: users },
  { tag: 'Workspaces', operations: workspaces },
  { tag: 'Controls', operations: controls },
  { tag: 'Control Notes', operations: controlNotes },
  { tag: 'Control Owners', operations: controlOwners },
  { tag: 'Control Library', operations: controlLibrary },
  { tag: 'Audits', operations: audits },
  { tag: 'Audit Requests', operations: auditRequests },
] as const satisfies readonly { readonly tag: string; readonly operations: OperationTable }[]

/** The operations of all areas in one table, for a client. */
export const platformOperations = {
  ...backgroundChecks,
  ...company,
  ...customConnections,
  ...events,
  ...hrisUserIdentities,
  ...personnel,
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
  ...customDataRecords,
  ...customDataSessions,
}
