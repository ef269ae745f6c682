import type { Run } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { getRun } from '../../store/runs/runs.ts'
import type { SyncContext } from '../../sync/context/context.ts'

type ConnectionLookup = { readonly sync: Pick<SyncContext, 'connections' | 'store'> }

/** Refuses the name of a connection that is not in the configuration. */
export function requireConnection({ sync }: { readonly sync: Pick<SyncContext, 'connections'> }, name: string): void {
  if (sync.connections.has(name)) return
  if (sync.connections.size === 0)
    throw new Failure('not_found', `there is no connection "${name}": the configuration has none yet`)
  const names = [...sync.connections.keys()].join(', ')
  throw new Failure('not_found', `there is no connection "${name}" in the configuration; it has ${names}`)
}

/** The named connection, or all of the configuration. */
export function selectedConnections(ctx: { readonly sync: Pick<SyncContext, 'connections'> }, name?: string): string[] {
  if (name === undefined) return [...ctx.sync.connections.keys()].sort()
  requireConnection(ctx, name)
  return [name]
}

/** The run with this id; throws `not_found` if there is none. */
export async function existingRun({ sync }: ConnectionLookup, runId: string): Promise<Run> {
  const run = await getRun(sync.store.db, runId)
  if (!run) throw new Failure('not_found', `there is no run ${runId}; "rollcall runs" lists them`)
  return run
}
