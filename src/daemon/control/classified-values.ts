import type { classifiedValueOperations } from '../../contract/control/classified-values.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { listClassifiedValues } from '../../store/classified-values.ts'
import { classifyValue } from '../../sync/sync.ts'
import type { ControlContext } from './control-context.ts'
import { requireConnection } from './require-connection.ts'
import { classifiedValueView } from './views.ts'
import type { WithActor } from './with-permissions.ts'

/** Handlers of the operations about values that an operator classified. */
export const classifiedValueHandlers: Handlers<typeof classifiedValueOperations, ControlContext & WithActor> = {
  async listValues(ctx, { params: { connection } }) {
    requireConnection(ctx, connection)
    const values = await listClassifiedValues(ctx.sync.store.db, connection)
    return { status: 200, body: { data: values.map(classifiedValueView) } }
  },

  async classifyValue(ctx, { params: { connection }, body: { value, as } }) {
    requireConnection(ctx, connection)
    const { by } = ctx.actor
    return {
      status: 200,
      body: classifiedValueView(await classifyValue(ctx.sync, { connection, value, meaning: as, by })),
    }
  },
}
