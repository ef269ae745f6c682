import { customConnections } from './custom-connections.ts'
import { customDataRecords } from './custom-data-records.ts'
import { customDataSessions } from './custom-data-sessions.ts'
import { hrisUserIdentities } from './hris-user-identities.ts'
import type { OperationTable } from './operation.ts'
import { personnel } from './personnel.ts'
import { workspaces } from './workspaces.ts'

/** Where a platform serves its operations. */
export const platformPrefix = '/public/v2'

/** Every area of the platform, by the tag under which its document shows it. */
export const platformAreas = [
  { tag: 'Custom Connections', operations: customConnections },
  { tag: 'Custom Data Records', operations: customDataRecords },
  { tag: 'Custom Data Sessions', operations: customDataSessions },
  { tag: 'HRIS User Identities', operations: hrisUserIdentities },
  { tag: 'Personnel', operations: personnel },
  { tag: 'Workspaces', operations: workspaces },
] as const satisfies readonly { readonly tag: string; readonly operations: OperationTable }[]

/** The operations of all areas in one table, for a client. */
export const platformOperations = {
  ...customConnections,
  ...customDataRecords,
  ...customDataSessions,
  ...hrisUserIdentities,
  ...personnel,
  ...workspaces,
}
