import type { FastifyInstance } from 'fastify'
import { assets } from '../contract/platform/assets.ts'
import { auditRequests } from '../contract/platform/audit-requests.ts'
import { audits } from '../contract/platform/audits.ts'
import { backgroundChecks } from '../contract/platform/background-checks.ts'
import { company } from '../contract/platform/company.ts'
import { controlLibrary } from '../contract/platform/control-library.ts'
import { controlNotes } from '../contract/platform/control-notes.ts'
import { controlOwners } from '../contract/platform/control-owners.ts'
import { ControlCreate, controls } from '../contract/platform/controls.ts'
import { customConnections } from '../contract/platform/custom-connections.ts'
import { customDataRecords } from '../contract/platform/custom-data-records.ts'
import { customDataSessions } from '../contract/platform/custom-data-sessions.ts'
import { devices } from '../contract/platform/devices.ts'
import { events } from '../contract/platform/events.ts'
import { hrisUserIdentities } from '../contract/platform/hris-user-identities.ts'
import { personnel } from '../contract/platform/personnel.ts'
import { users } from '../contract/platform/users.ts'
import { workspaces } from '../contract/platform/workspaces.ts'
import { acceptForms } from '../http/server/forms.ts'
import { type MountOptions, mount } from '../http/server/mount.ts'
import { auditRequestHandlers } from './audits/audit-requests.ts'
import { auditHandlers } from './audits/audits.ts'
import { companyHandlers } from './company/company.ts'
import { workspaceHandlers } from './company/workspaces.ts'
import { customConnectionHandlers } from './connections/custom-connections.ts'
import { controlLibraryHandlers } from './controls/control-library.ts'
import { controlNoteHandlers } from './controls/control-notes.ts'
import { controlOwnerHandlers } from './controls/control-owners.ts'
import { controlHandlers } from './controls/controls.ts'
import type { PlatformContext } from './core/context.ts'
import { eventHandlers } from './events/trail.ts'
import { hrisUserIdentityHandlers } from './identities/hris-user-identities.ts'
import { assetHandlers } from './inventory/assets.ts'
import { deviceHandlers } from './inventory/devices.ts'
import { backgroundCheckHandlers } from './people/background-checks.ts'
import { personnelHandlers } from './people/personnel.ts'
import { userHandlers } from './people/users.ts'
import { customDataRecordHandlers } from './records/custom-data-records.ts'
import { customDataSessionHandlers } from './records/custom-data-sessions.ts'

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
  app.register(async (scope) => {
    acceptForms(scope, ControlCreate)
    mount(scope, controls, controlHandlers, options)
  })
  mount(app, controlNotes, controlNoteHandlers, options)
  mount(app, controlOwners, controlOwnerHandlers, options)
  mount(app, controlLibrary, controlLibraryHandlers, options)
  mount(app, audits, auditHandlers, options)
  mount(app, auditRequests, auditRequestHandlers, options)
}
