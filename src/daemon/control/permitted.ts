import { type Caller, machinePrincipal, mayDo, type Role } from '../../contract/control/access.ts'
import type { Operation } from '../../contract/operation.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { recordAccess } from '../access/record-access.ts'

/** Who is recorded for an action: the name, and the principal for the rule of two people. */
type Actor = { readonly by: string; readonly principal: string }
/** The actor that a permitted handler receives. */
export type Acting = { readonly actor: Actor }

/** What the permission check uses. */
export type Asking = { readonly caller: Caller; readonly sync: Pick<SyncContext, 'store' | 'now'> }
/** Operations that each name the lowest role. */
export type Permitted = Readonly<Record<string, Operation & { readonly permission: Role }>>
type Input = {
  readonly params?: { readonly connection?: string; readonly runId?: string }
  readonly query?: { readonly values?: boolean; readonly connection?: string }
  readonly body?: { readonly by?: string }
}
type Reply = { readonly body?: unknown }

/** The lowest role that may see personal values. */
const seesValues: Role = 'operator'

/**
 * Handlers that do only what the caller's role allows, and that know who is recorded. Every call passes here: over HTTP, from the console
 * and from a command that does the work itself. Refusals and shown personal values are recorded in the audit trail.
 */
export function permitted<T extends Permitted, Ctx extends Asking>(
  table: T,
  handlers: Handlers<T, Ctx & Acting>,
): Handlers<T, Ctx> {
  type Handler = (context: Ctx & Acting, input: Input) => Promise<Reply>
  const wrapped = Object.entries(table).map(([operation, { permission }]) => {
    // The table's type ties each handler to its operation; this loop over all of them loses it.
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
    return new Failure('forbidden', `this takes the role ${permission}, and ${name} has the role ${role}`)
  if (!query?.values || mayDo(role, seesValues)) return null
  const help = 'ask without values'
  return new Failure(
    'forbidden',
    `personal values take the role ${seesValues}, and ${name} has the role ${role}: ${help}`,
  )
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
