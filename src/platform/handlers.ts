import type { FastifyInstance } from 'fastify'
import { backgroundChecks } from '../contract/background-checks.ts'
import { company } from '../contract/company.ts'
import { customConnections } from '../contract/custom-connections.ts'
import { events } from '../contract/events.ts'
import { hrisUserIdentities } from '../contract/hris-user-identities.ts'
import { personnel } from '../contract/personnel.ts'
import { users } from '../contract/users.ts'
import { workspaces } from '../contract/workspaces.ts'
import { type MountOptions, mount } from '../http/mount.ts'
import { backgroundCheckHandlers } from './background-checks.ts'
import { companyHandlers } from './company.ts'
import type { PlatformContext } from './context.ts'
import { customConnectionHandlers } from './custom-connections.ts'
import { eventHandlers } from './event-trail.ts'
import { hrisUserIdentityHandlers } from './hris-user-identities.ts'
import { personnelHandlers } from './personnel.ts'
import { userHandlers } from './users.ts'
import { workspaceHandlers } from './workspaces.ts'

/** Serves every area of the public interface. */
export function mountAreas(app: FastifyInstance, options: MountOptions<PlatformContext>): void {
  mount(app, backgroundChecks, backgroundCheckHandlers, options)
  mount(app, company, companyHandlers, options)
  mount(app, customConnections, customConnectionHandlers, options)
  mount(app, events, eventHandlers, options)
  mount(app, hrisUserIdentities, hrisUserIdentityHandlers, options)
  mount(app, personnel, personnelHandlers, options)
  mount(app, users, userHandlers, options)
  mount(app, workspaces, workspaceHandlers, options)
}
