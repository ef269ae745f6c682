import type { FastifyInstance } from 'fastify'
import type { z } from 'zod'
import type { OperationTable } from '../contract/operation.ts'
import { ControlCreate } from '../contract/platform/controls.ts'
import { DeviceDocumentCreate } from '../contract/platform/device-documents.ts'
import { platformAreas } from '../contract/platform/platform.ts'
import { UserDocumentCreate } from '../contract/platform/user-documents.ts'
import { acceptForms } from '../http/server/forms.ts'
import { type Handlers, type MountOptions, mount } from '../http/server/mount.ts'
import { auditRequestHandlers } from './audits/audit-requests.ts'
import { auditHandlers } from './audits/audits.ts'
import { companyHandlers } from './company/company.ts'
import { customFieldDefinitionHandlers } from './company/custom-field-definitions.ts'
import { groupHandlers } from './company/group-scopes.ts'
import { workspaceHandlers } from './company/workspaces.ts'
import { customConnectionHandlers } from './connections/custom-connections.ts'
import { controlLibraryHandlers } from './controls/control-library.ts'
import { controlNoteHandlers } from './controls/control-notes.ts'
import { controlOwnerHandlers } from './controls/control-owners.ts'
import { controlHandlers } from './controls/controls.ts'
import type { PlatformContext } from './core/context.ts'
import { eventHandlers } from './events/events.ts'
import { hrisUserIdentityHandlers } from './identities/hris-user-identities.ts'
import { assetHandlers } from './inventory/assets.ts'
import { deviceDocumentHandlers } from './inventory/device-documents.ts'
import { deviceHandlers } from './inventory/devices.ts'
import { assignedPolicyHandlers } from './people/assigned-policies.ts'
import { backgroundCheckHandlers } from './people/background-checks.ts'
import { personnelHandlers } from './people/personnel.ts'
import { personnelSearchHandlers } from './people/personnel-search.ts'
import { roleHandlers } from './people/roles.ts'
import { userDocumentHandlers } from './people/user-documents.ts'
import { userHandlers } from './people/users.ts'
import { customDataRecordHandlers } from './records/custom-data-records.ts'
import { customDataSessionHandlers } from './records/custom-data-sessions.ts'

type Area = (typeof platformAreas)[number]

/** The handlers of each area of the contract, by tag. The compiler requires those of a new area. */
const areaHandlers: { readonly [One in Area as One['tag']]: Handlers<One['operations'], PlatformContext> } = {
  Assets: assetHandlers,
  'Custom Connections': customConnectionHandlers,
  Devices: deviceHandlers,
  'Background Checks': backgroundCheckHandlers,
  Company: companyHandlers,
  Events: eventHandlers,
  'Custom Data Records': customDataRecordHandlers,
  'Custom Data Sessions': customDataSessionHandlers,
  'HRIS User Identities': hrisUserIdentityHandlers,
  Personnel: personnelHandlers,
  'Personnel Search': personnelSearchHandlers,
  Groups: groupHandlers,
  Users: userHandlers,
  Roles: roleHandlers,
  'User Documents': userDocumentHandlers,
  'Device Documents': deviceDocumentHandlers,
  "User's Assigned Policies": assignedPolicyHandlers,
  'Custom Field Definitions': customFieldDefinitionHandlers,
  Workspaces: workspaceHandlers,
  Controls: controlHandlers,
  'Control Notes': controlNoteHandlers,
  'Control Owners': controlOwnerHandlers,
  'Control Library': controlLibraryHandlers,
  Audits: auditHandlers,
  'Audit Requests': auditRequestHandlers,
}

/** The areas whose operations also accept a form as body. */
const areaForms: Partial<Record<Area['tag'], z.ZodObject>> = {
  Controls: ControlCreate,
  'User Documents': UserDocumentCreate,
  'Device Documents': DeviceDocumentCreate,
}

/** Serves every area of the public API. */
export function mountAreas(app: FastifyInstance, options: MountOptions<PlatformContext>): void {
  for (const { tag, operations } of platformAreas) {
    const form = areaForms[tag]
    app.register(async (scope) => {
      if (form !== undefined) acceptForms(scope, form)
      // The table above types handlers by their operations; this loop over all areas loses the types.
      mount<OperationTable, PlatformContext>(scope, operations, areaHandlers[tag] as never, options)
    })
  }
}
