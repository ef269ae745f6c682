import { z } from 'zod'

/** What a caller may do. Each role may do what those before it may. */
export const roles = ['viewer', 'operator', 'approver', 'admin'] as const
/** A caller's role. */
export type Role = (typeof roles)[number]

/** What a token may do: what its role says or, with the role scim, push people to one connection and nothing else. */
export const tokenRoles = [...roles, 'scim'] as const
/** The role of a token. */
export type TokenRole = (typeof tokenRoles)[number]

/** Who asks for an operation. */
export type Caller = {
  /** What the audit trail has as `by`. */
  readonly name: string
  readonly role: Role
  /** `machine`: the account of this machine, over the Unix socket or in the same process. */
  readonly via: 'machine' | 'token' | 'sign-in'
  /** Who it is for the rule of two people: `machine`, `token:<name>` or `oidc:<issuer>#<sub>`. */
  readonly principal: string
}

/** The account of this machine. Every name that it states is one person for the rule of two people. */
export const machinePrincipal = 'machine'

/** The caller over the Unix socket and in the same process. */
export function machineCaller(name: string): Caller {
  return { name, role: 'admin', via: 'machine', principal: machinePrincipal }
}

/** Whether a role includes the least role that an operation asks for. */
export function mayDo(role: Role, least: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(least)
}

/** Names that the audit trail uses for parts of Rollcall itself. */
const reserved: ReadonlySet<string> = new Set(['rollcall', 'operator', 'server.token'])

/** Whether a name, in any case, belongs to Rollcall itself and cannot be given to a token. */
export function isReservedName(name: string): boolean {
  return reserved.has(name.toLowerCase())
}

/** The name of the deciding person, as a request states it. */
export const By = z
  .string()
  .min(1)
  .max(191)
  .optional()
  .describe(
    'The person who decides, for the audit trail. The account of this machine can give any name; by default its own is recorded. Other callers are recorded by the name of their token or sign-in, and a different name is refused.',
  )
