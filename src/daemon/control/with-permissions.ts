import { type Caller, machinePrincipal, mayDo, type Role } from '../../contract/control/access.ts'
import type { Operation } from '../../contract/operation.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { recordAccess } from '../access/record-access.ts'

/** Who is recorded for an action: the name, and the principal for the rule of two people. */
type Actor = { readonly by: string; readonly principal: string }
/** What a handler receives after the permission check: who acts. */
export type WithActor = { readonly actor: Actor }

/** What the permission check needs. */
export type WithCaller = { readonly caller: Caller; readonly sync: Pick<SyncContext, 'store' | 'now'> }
/** Operations, each with the lowest role that may call it. */
export type OperationsByRole = Readonly<Record<string, Operation & { readonly permission: Role }>>
type Input = {
  readonly params?: { readonly connection?: string; readonly runId?: string }
  readonly query?: {
    readonly values?: boolean
    readonly connection?: string
    readonly group?: string
    readonly withoutGroup?: boolean
  }
  readonly body?: { readonly by?: string }
}
type Reply = { readonly body?: unknown }

/** The lowest role that may see personal values. */
export const roleForValues: Role = 'operator'

/**
 * Makes handlers refuse callers whose role is too low, and passes on who is recorded. Every call passes here: over HTTP, from the console
 * and from a command without a daemon. Refusals and shown personal values are recorded in the audit trail.
 */
export function withPermissions<T extends OperationsByRole, Ctx extends WithCaller>(
  table: T,
  handlers: Handlers<T, Ctx & WithActor>,
): Handlers<T, Ctx> {
  type Handler = (context: Ctx & WithActor, input: Input) => Promise<Reply>
  const wrapped = Object.entries(table).map(([operation, { permission }]) => {
    // The type of the table relates each handler to its operation; a loop over all of them loses that.
    const handler = handlers[operation as keyof T] as unknown as Handler
    const asCaller = async (context: Ctx, input: Input): Promise<Reply> => {
      const { caller, sync } = context
      const about = { operation, connection: input.params?.connection ?? input.query?.connection }
      const concerned = { ...about, runId: input.params?.runId }
      const refusal = refusalOf(caller, permission, input)
      if (refusal !== null) {
        await recordAccess(sync.store.db, caller, { act: 'access.refused', ...about }, sync.now())
        throw refusal
      }
      const reply = await handler({ ...context, actor: actorOf(caller, input.body?.by) }, input)
      if (input.query?.values) {
        const entry = { act: 'values.seen', ...concerned, identityId: keyIn(reply) } as const
        await recordAccess(sync.store.db, caller, entry, sync.now())
      }
      return reply
    }
    return [operation, asCaller] as const
  })
  return Object.fromEntries(wrapped) as unknown as Handlers<T, Ctx>
}

function refusalOf({ name, role }: Caller, permission: Role, { query }: Input): Failure | null {
  if (!mayDo(role, permission))
    return new Failure('forbidden', `this needs the role ${permission}, and ${name} has the role ${role}`)
  if (mayDo(role, roleForValues)) return null
  const roles = `the role ${roleForValues}, and ${name} has the role ${role}`
  if (query?.values) return new Failure('forbidden', `personal values need ${roles}: ask without values`)
  // Who is of which group is personal too, and a list of one group would tell it.
  if (query?.group !== undefined || query?.withoutGroup)
    return new Failure('forbidden', `filtering by group needs ${roles}: ask for people of all groups`)
  return null
}

/** The key of the one person whom a reply is about. The request may have named an address. */
function keyIn({ body }: Reply): string | undefined {
  const { identityId, person } = Object(body)
  const key: unknown = identityId ?? Object(person).identityId
  return typeof key === 'string' ? key : undefined
}

/** The account of this machine may state a name. Other callers are known, so another name is a mistake or a lie. */
function actorOf({ name, via, principal }: Caller, stated: string | undefined): Actor {
  if (via === 'machine') return { by: stated ?? name, principal: machinePrincipal }
  if (stated === undefined || stated === name) return { by: name, principal }
  throw new Failure('usage', `body.by: says "${stated}", and the caller is ${name}: leave it out`)
}
