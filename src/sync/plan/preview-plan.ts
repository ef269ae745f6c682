import type { Reading } from '../../connectors/connector.ts'
import { Failure } from '../../errors.ts'
import type { StagedChange } from '../../store/plans/plans.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import type { PlanDocument } from './dry-run.ts'
import { planExport } from './plan-export.ts'
import { type KeptChanges, previewStage } from './stage.ts'
import { heldAlone } from './waiting-people.ts'

/** A short preview of a plan. */
export type Preview = Pick<
  PlanDocument,
  'rows' | 'records' | 'counts' | 'guards' | 'leftOut' | 'warnings' | 'rejects'
> & {
  /** The first changes. */
  readonly changes: readonly StagedChange[]
}

type PlanReadingInput = KeptChanges & { readonly reading: Reading; readonly signal: AbortSignal }

/**
 * What a run over this reading would do, also for a connection that is in no configuration yet. Stores and sends nothing, and keeps
 * only so many changes in memory.
 */
export async function planReading(
  ctx: Pick<SyncContext, 'store' | 'now'>,
  connection: SyncConnection,
  { reading, signal, ...kept }: PlanReadingInput,
): Promise<Preview> {
  const { source } = connection.feeds
  if (!source) throw new Failure('config_invalid', `connection "${connection.name}" has no source in the configuration`)
  const stage = previewStage(kept)
  const feed = { name: 'source', reading, rules: source } as const
  const plan = await planExport(ctx, connection, { feed, stage, signal })
  const { rows, records, counts, guards, warnings, rejects } = plan
  const leftOut = await heldAlone(ctx.store.db, { connection: connection.name, feed: feed.name, plan })
  const shown = { rows, records, counts, guards, ...(leftOut && { leftOut }), warnings, rejects }
  return { ...shown, changes: stage.firstChanges() }
}
