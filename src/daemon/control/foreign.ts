import type { foreignOperations } from '../../contract/control/foreign.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { listForeign } from '../../store/foreign/people.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { requestSeparation } from '../../sync/sync.ts'
import { nextCursor, ProblemCursor, problemCursor, readCursor } from './cursors.ts'
import { requireConnection } from './require-connection.ts'
import { secondsSince } from './views.ts'
import type { WithActor } from './with-permissions.ts'

/** Handlers of the operations about people whom only the platform knows. */
export const foreignHandlers: Handlers<typeof foreignOperations, { readonly sync: SyncContext } & WithActor> = {
  async listForeign({ sync }, { query: { connection, after, limit } }) {
    if (connection !== undefined) requireConnection({ sync }, connection)
    const now = sync.now()
    const scope = { list: 'foreign', connection }
    const cursor = readCursor(scope, after, ProblemCursor)
    const rows = await listForeign(sync.store.db, {
      ...(connection !== undefined && { connection }),
      ...(cursor !== undefined && { after: cursor }),
      limit,
    })
    const data = rows.map((person) => ({ ...person, ageSeconds: secondsSince(person.firstAt, now) }))
    return { status: 200, body: { data, next: nextCursor(scope, { rows, limit }, problemCursor) } }
  },

  async separateForeign({ sync, actor }, { params, body }) {
    requireConnection({ sync }, params.connection)
    return { status: 201, body: await requestSeparation(sync, { ...params, ...body, ...actor }) }
  },
}
