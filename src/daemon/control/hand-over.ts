import type { handOverOperations } from '../../contract/control/hand-over.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { handOverFile } from '../hand-over/files.ts'
import { type AddNames, type Leaders, readHandOver } from '../hand-over/read.ts'
import type { ControlContext } from './control-context.ts'
import { withNames } from './names.ts'
import { requireConnection } from './require-connection.ts'
import type { WithActor } from './with-permissions.ts'

type ListQuery = { readonly connection?: string | undefined; readonly values: boolean; readonly perGroup?: number }

/** Handlers of the operations about what HR has to correct. */
export const handOverHandlers: Handlers<typeof handOverOperations, ControlContext & WithActor> = {
  async getHandOver(ctx, { query }) {
    return { status: 200, body: await listOf(ctx, query) }
  },

  async getHandOverFile(ctx, { query }) {
    const list = await listOf(ctx, query)
    const { name, type, content } = await handOverFile(list, query.format)
    return { status: 200, body: { name, type, content: content.toString('base64'), count: list.count } }
  },
}

async function listOf(ctx: ControlContext, { connection, values, perGroup }: ListQuery) {
  if (connection !== undefined) requireConnection(ctx, connection)
  const { list } = await readHandOver(ctx.sync.store.db, {
    connections: connection === undefined ? [...ctx.sync.connections.keys()] : [connection],
    leaders: leadersOf(ctx.sync),
    now: ctx.sync.now(),
    addNames: values ? namesFor(ctx.sync) : null,
    ...(perGroup !== undefined && { perGroup }),
  })
  return list
}

/** Adds the names of people to lists that have their keys. */
export function namesFor(sync: Pick<SyncContext, 'store' | 'connections'>): AddNames {
  return (people) => withNames({ sync }, people, { values: true })
}

/** The connections that read along with another one, each with that one. */
export function leadersOf({ connections }: Pick<SyncContext, 'connections'>): Leaders {
  return new Map([...connections].flatMap(([name, { linkedTo }]) => (linkedTo ? [[name, linkedTo] as const] : [])))
}
