import { isAtWork, type Lease } from './leases.ts'
import type { Db } from '../schema.ts'

/**
 * Releases what this process no longer works on: the store did not answer when it wanted to let go. No other process takes that
 * up, since the lease is live. What became of the last request of such a batch is not known.
 */
export async function releaseStranded(db: Db, lease: Lease): Promise<void> {
  const batches = await db
    .selectFrom('deliveries')
    .select(['run_id', 'batch'])
    .where('state', '=', 'due')
    .where('lease', '=', lease.id)
    .execute()
  for (const { run_id, batch } of batches) {
    if (isAtWork(lease, { kind: 'batch', runId: run_id, batch })) continue
    await db
      .updateTable('deliveries')
      .set({ lease: null, uncertain: true })
      .where('run_id', '=', run_id)
      .where('batch', '=', batch)
      .where('lease', '=', lease.id)
      .where('state', '=', 'due')
      .execute()
  }
  const runs = await db
    .selectFrom('runs')
    .select('id')
    .where('state', 'in', ['reading', 'planned'])
    .where('lease', '=', lease.id)
    .execute()
  for (const { id } of runs) {
    if (isAtWork(lease, { kind: 'run', runId: id })) continue
    await db.updateTable('runs').set({ lease: null }).where('id', '=', id).where('lease', '=', lease.id).execute()
  }
  const targets = await db.selectFrom('connections').select('name').where('target_lease', '=', lease.id).execute()
  for (const { name } of targets) {
    if (isAtWork(lease, { kind: 'target', connection: name })) continue
    await db
      .updateTable('connections')
      .set({ target_lease: null })
      .where('name', '=', name)
      .where('target_lease', '=', lease.id)
      .execute()
  }
}
