import { type Caller, mayDo, type Role } from '../../contract/control/access.ts'
import { control } from '../../contract/control/control.ts'
import type { Calls } from '../../http/client/calls.ts'

/** The control API, as pages call it. */
export type Control = Calls<typeof control>

const articles: Readonly<Record<Role, string>> = {
  viewer: 'a viewer',
  operator: 'an operator',
  approver: 'an approver',
  admin: 'an admin',
}

/** Why a caller may not call an operation; null if they may. */
export function notAllowed({ role }: Caller, operation: keyof typeof control): string | null {
  const least = control[operation].permission
  if (mayDo(role, least)) return null
  return `only ${articles[least]} can do this, and you are signed in as ${articles[role]}`
}

/** Whether a caller may see personal values. */
export function seesValues({ role }: Caller): boolean {
  return mayDo(role, 'operator')
}
