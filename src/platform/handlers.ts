import type { FastifyInstance } from 'fastify'
import { assets } from '../contract/assets.ts'
import { auditRequests } from '../contract/audit-requests.ts'
import { audits } from '../contract/audits.ts'
import { backgroundChecks } from '../contract/background-checks.ts'
import { company } from '../contract/company.ts'
import { controlLibrary } from '../contract/control-library.ts'
import { controlNotes } from '../contract/control-notes.ts'
import { controlOwners } from '../contract/control-owners.ts'
import { controls } from '../contract/controls.ts'
import { customConnections } from '../contract/custom-connections.ts'
import { customDataRecords } from '../contract/custom-data-records.ts'
import { customDataSessions } from '../contract/custom-data-sessions.ts'
import { devices } from '../contract/devices.ts'
import { events } from '../contract/events.ts'
import { hrisUserIdentities } from '../contract/hris-user-identities.ts'
import { personnel } from '../contract/personnel.ts'
import { users } from '../contract/users.ts'
import { workspaces } from '../contract/workspaces.ts'
import { type MountOptions, mount } from '../http/mount.ts'
import { assetHandlers } from './assets.ts'
import { auditRequestHandlers } from './audit-requests.ts'
import { auditHandlers } from './audits.ts'
import { backgroundCheckHandlers } from './background-checks.ts'
import { companyHandlers } from './company.ts'
import type { PlatformContext } from './context.ts'
import { controlLibraryHandlers } from './control-library.ts'
import { controlNoteHandlers } from './control-notes.ts'
import { controlOwnerHandlers } from './control-owners.ts'
import { controlHandlers } from './controls.ts'
import { customConnectionHandlers } from './custom-connections.ts'
import { customDataRecordHandlers } from './custom-data-records.ts'
import { customDataSessionHandlers } from './custom-data-sessions.ts'
import { deviceHandlers } from './devices.ts'
import { eventHandlers } from './event-trail.ts'
import { hrisUserIdentityHandlers } from './hris-user-identities.ts'
import { personnelHandlers } from './personnel.ts'
import { userHandlers } from './users.ts'
import { workspaceHandlers } from './workspaces.ts'

/** Serves every area of the public interface. */
export function mountAreas(app: FastifyInstance, options: MountOptions<PlatformContext>): void {
  mount(app, assets, assetHandlers, options)
  mount(app, customConnections, customConnectionHandlers, options)
  mount(app, devices, deviceHandlers, options)
  mount(app, backgroundChecks, backgroundCheckHandlers, options)
  mount(app, company, companyHandlers, options)
  mount(app, events, eventHandlers, options)
  mount(app, customDataRecords, customDataRecordHandlers, options)
  mount(app, customDataSessions, customDataSessionHandlers, options)
  mount(app, hrisUserIdentities, hrisUserIdentityHandlers, options)
  mount(app, personnel, personnelHandlers, options)
  mount(app, users, userHandlers, options)
  mount(app, workspaces, workspaceHandlers, options)
  mount(app, controls, controlHandlers, options)
  mount(app, controlNotes, controlNoteHandlers, options)
  mount(app, controlOwners, controlOwnerHandlers, options)
  mount(app, controlLibrary, controlLibraryHandlers, options)
  mount(app, audits, auditHandlers, options)
  mount(app, auditRequests, auditRequestHandlers, options)
}
