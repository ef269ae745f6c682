import { connectionsWithUndelivered } from '../../store/deliveries/undelivered.ts'
import type { SyncContext } from '../context/context.ts'
import { forEachIsolated } from '../context/for-each-isolated.ts'
import { requestRepair } from '../context/repair-runs.ts'

/** Requests repair runs, every hour, for people whom a run has closed because the platform failed on them. */
export async function retryUndelivered(ctx: SyncContext): Promise<void> {
  const connections = await connectionsWithUndelivered(ctx.store.db, ctx.now())
  const all = new Set(connections).intersection(ctx.connections)
  await forEachIsolated(ctx, { during: 'sweep', all }, (connection) => requestRepair(ctx, connection))
}
