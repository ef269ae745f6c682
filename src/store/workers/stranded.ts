import { isAtWork, type Owner } from './leases.ts'
import type { Db } from '../schema.ts'

/**
 * Takes this process's mark off what it does not work on any more: the store did not answer when it wanted to let go. Nobody else
 * may take that up, as its owner lives. What became of the last request of such a batch is not known.
 */
export async function releaseLeft(db: Db, owner: Owner): Promise<void> {
  const batches = await db
    .selectFrom('deliveries')
    .select(['run_id', 'batch'])
    .where('state', '=', 'due')
    .where('owner', '=', owner.id)
    .execute()
  for (const { run_id, batch } of batches) {
    if (isAtWork(owner, { kind: 'batch', runId: run_id, batch })) continue
    await db
      .updateTable('deliveries')
      .set({ owner: null, unsettled: true })
      .where('run_id', '=', run_id)
      .where('batch', '=', batch)
      .where('owner', '=', owner.id)
      .where('state', '=', 'due')
      .execute()
  }
  const runs = await db
    .selectFrom('runs')
    .select('id')
    .where('state', 'in', ['reading', 'planned'])
    .where('owner', '=', owner.id)
    .execute()
  for (const { id } of runs) {
    if (isAtWork(owner, { kind: 'run', runId: id })) continue
    await db.updateTable('runs').set({ owner: null }).where('id', '=', id).where('owner', '=', owner.id).execute()
  }
  const targets = await db.selectFrom('connections').select('name').where('resolver', '=', owner.id).execute()
  for (const { name } of targets) {
    if (isAtWork(owner, { kind: 'target', connection: name })) continue
    await db
      .updateTable('connections')
      .set({ resolver: null })
      .where('name', '=', name)
      .where('resolver', '=', owner.id)
      .execute()
  }
}
