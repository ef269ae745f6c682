import type { leftOutOperations } from '../../contract/control/left-out.ts'
import type { Person } from '../../contract/control/shapes.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { listLeftOut } from '../../store/roster/left-out-people.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { nextCursor, ProblemCursor, problemCursor, readCursor } from './cursors.ts'
import { withNames } from './names.ts'
import { requireConnection } from './require-connection.ts'
import { secondsSince } from './views.ts'

/** Handlers of the operations about people who were left out when a part of a plan was approved. */
export const leftOutHandlers: Handlers<typeof leftOutOperations, { readonly sync: SyncContext }> = {
  async listLeftOut({ sync }, { query: { connection, after, limit, values } }) {
    if (connection !== undefined) requireConnection({ sync }, connection)
    const now = sync.now()
    const scope = { list: 'leftOut', connection }
    const cursor = readCursor(scope, after, ProblemCursor)
    const rows = await listLeftOut(sync.store.db, {
      ...(connection !== undefined && { connection }),
      ...(cursor !== undefined && { after: cursor }),
      limit,
      now,
    })
    const data = rows.map((person) => ({ ...person, ageSeconds: secondsSince(person.since, now) }))
    const next = nextCursor(scope, { rows, limit }, problemCursor)
    return { status: 200, body: { data: await withNames({ sync }, data, { values }), next } }
  },
}

/** What waits of one person, as the control API shows it beside the person. */
export function leftOutView({
  connection: _,
  identityId: __,
  ...leftOut
}: Awaited<ReturnType<typeof listLeftOut>>[number]): Person['leftOut'] {
  return leftOut
}
