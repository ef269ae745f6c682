import { backgroundChecks } from './background-checks.ts'
import { company } from './company.ts'
import { customConnections } from './custom-connections.ts'
import { events } from './events.ts'
import { hrisUserIdentities } from './hris-user-identities.ts'
import type { OperationTable } from './operation.ts'
import { personnel } from './personnel.ts'
import { users } from './users.ts'
import { workspaces } from './workspaces.ts'

/** Where a platform serves its operations. */
export const platformPrefix = '/public/v2'

/** Every area of the platform, by the tag under which its document shows it. */
export const platformAreas = [
  { tag: 'Background Checks', operations: backgroundChecks },
  { tag: 'Company', operations: company },
  { tag: 'Custom Connections', operations: customConnections },
  { tag: 'Events', operations: events },
  { tag: 'HRIS User Identities', operations: hrisUserIdentities },
  { tag: 'Personnel', operations: personnel },
  { tag: 'Users', operations: users },
  { tag: 'Workspaces', operations: workspaces },
] as const satisfies readonly { readonly tag: string; readonly operations: OperationTable }[]

/** The operations of all areas in one table, for a client. */
export const platformOperations = {
  ...backgroundChecks,
  ...company,
  ...customConnections,
  ...events,
  ...hrisUserIdentities,
  ...personnel,
  ...users,
  ...workspaces,
}
