import type { FastifyInstance } from 'fastify'
import { customConnections } from '../contract/custom-connections.ts'
import { customDataRecords } from '../contract/custom-data-records.ts'
import { customDataSessions } from '../contract/custom-data-sessions.ts'
import { hrisUserIdentities } from '../contract/hris-user-identities.ts'
import { personnel } from '../contract/personnel.ts'
import { workspaces } from '../contract/workspaces.ts'
import { type MountOptions, mount } from '../http/mount.ts'
import type { PlatformContext } from './context.ts'
import { customConnectionHandlers } from './custom-connections.ts'
import { customDataRecordHandlers } from './custom-data-records.ts'
import { customDataSessionHandlers } from './custom-data-sessions.ts'
import { hrisUserIdentityHandlers } from './hris-user-identities.ts'
import { personnelHandlers } from './personnel.ts'
import { workspaceHandlers } from './workspaces.ts'

/** Serves every area of the public interface. */
export function mountAreas(app: FastifyInstance, options: MountOptions<PlatformContext>): void {
  mount(app, customConnections, customConnectionHandlers, options)
  mount(app, customDataRecords, customDataRecordHandlers, options)
  mount(app, customDataSessions, customDataSessionHandlers, options)
  mount(app, hrisUserIdentities, hrisUserIdentityHandlers, options)
  mount(app, personnel, personnelHandlers, options)
  mount(app, workspaces, workspaceHandlers, options)
}
