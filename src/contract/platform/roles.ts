import { z } from 'zod'
import { operations } from '../operation.ts'
import { expandQuery, Id, listQuery, page, Timestamp } from './common.ts'
import { nameQuery, UserExpand, UserPage } from './users.ts'

const names = [
  ...['EMPLOYEE', 'TECHGOV', 'AUDITOR', 'ADMIN', 'ACT_AS_READ_ONLY', 'APP', 'RISK_MANAGER'],
  ...['WORKSPACE_ADMINISTRATOR', 'SERVICE_USER', 'REVIEWER', 'CONTROL_MANAGER', 'PEOPLE_OPS', 'POLICY_MANAGER'],
  ...['DEVOPS_ENGINEER', 'KNOWLEDGE_BASE', 'TRUST_CENTER_MANAGER', 'TRUST_CENTER_REVIEWER', 'RISK_REGISTER_OWNER'],
  ...['INTERNAL_AUDITOR', 'RESTRICTED_CONTROL_MANAGER', 'RESTRICTED_RISK_MANAGER', 'READONLY_ADMIN'],
  ...['READONLY_TECHGOV', 'READONLY_RISK_MANAGER', 'READONLY_CONTROL_MANAGER', 'READONLY_POLICY_MANAGER'],
  ...['READONLY_PEOPLE_OPS', 'READONLY_WORKSPACE_ADMINISTRATOR', 'READONLY_RESTRICTED_CONTROL_MANAGER'],
  ...['READONLY_RESTRICTED_RISK_MANAGER', 'READONLY_RISK_REGISTER_OWNER', 'READONLY_REVIEWER'],
  ...['READONLY_DEVOPS_ENGINEER', 'READONLY_TRUST_CENTER_MANAGER', 'TRUST_USER'],
] as const

/** The roles of users. */
export const RoleName = z.enum(names).meta({ id: 'RoleEnum' })
export type RoleName = z.infer<typeof RoleName>

const RoleExpand = z.enum(['permissions']).meta({ id: 'RoleExpandEnum' })

const Permission = z
  .object({
    id: Id.nullish(),
    action: z.enum(['READ', 'MANAGE', 'CREATE', 'UPDATE', 'DELETE']),
    subject: z.string(),
    createdAt: Timestamp.nullish(),
  })
  .meta({ id: 'PermissionResponsePublicV2Dto', description: 'What a role permits.' })

/** A role that users can have. */
export const Role = z
  .object({
    id: Id,
    role: RoleName,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    permissions: z.array(Permission).optional().describe('On request (`expand[]`).'),
  })
  .meta({ id: 'RoleResponsePublicV2Dto', description: 'A role that users can have.' })
export type Role = z.infer<typeof Role>

/** A role in a path: the id, or the name after `role:`. */
export const RoleRef = z.union([Id, z.templateLiteral(['role:', z.string().min(1)])], {
  error: 'must be a number, or a name that begins with role:',
})
export type RoleRef = z.infer<typeof RoleRef>

const rolePath = z.object({ roleId: RoleRef })
const expand = expandQuery(RoleExpand)

/** The operations on the roles of users. */
export const roles = operations({
  listRoles: {
    method: 'GET',
    path: '/roles',
    summary: 'List Roles',
    description: 'All roles. They are the same for every account.',
    permission: 'roles-get',
    query: z.object({ ...listQuery, ...expand }),
    success: { 200: page(Role).meta({ id: 'RolesResponsePublicV2Dto' }) },
    errors: [400, 401, 403, 412, 500],
  },
  getRole: {
    method: 'GET',
    path: '/roles/:roleId',
    summary: 'Get Role',
    description: 'One role.',
    permission: 'role-get',
    params: rolePath,
    query: z.object(expand),
    success: { 200: Role },
    errors: [400, 401, 403, 404, 412, 500],
  },
  listUsersWithRole: {
    method: 'GET',
    path: '/roles/:roleId/users',
    summary: 'List Users with Role',
    description: 'The users of the account that have a role.',
    permission: 'users-get',
    params: rolePath,
    query: z.object({ ...listQuery, ...expandQuery(UserExpand), ...nameQuery }),
    success: { 200: UserPage },
    errors: [400, 401, 403, 404, 412, 500],
  },
})
