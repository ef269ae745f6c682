import type { runNameOperations } from '../../contract/control/run-names.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { heldIds, idBefore, idsWithPrefix } from '../../store/runs/run-ids.ts'
import { getRun } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import type { SyncContext } from '../../sync/context/context.ts'

/** Maximum number of runs to choose from. */
const candidates = 20

/** Handlers of the operations about the names of runs. */
export const runNameHandlers: Handlers<typeof runNameOperations, { readonly sync: SyncContext }> = {
  async findRuns({ sync }, { params: { name }, query: { connection } }) {
    const { db } = sync.store
    const ids = await idsNamed(db, name, connection)
    const runs = await Promise.all(ids.slice(0, candidates).map((id) => getRun(db, id)))
    return { status: 200, body: { data: runs.flatMap((run) => run ?? []), more: ids.length > candidates } }
  },
}

async function idsNamed(db: Db, name: string, connection: string | undefined): Promise<string[]> {
  const query = { connection, limit: candidates + 1 }
  if (name === '@held') return await heldIds(db, query)
  const last = /^last(?:-(\d+))?$/.exec(name)
  if (last) return await idBefore(db, { before: Number(last[1] ?? 0), connection })
  return await idsWithPrefix(db, { prefix: name, ...query })
}
