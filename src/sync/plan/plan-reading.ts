import type { Reading } from '../../connectors/connector.ts'
import { Failure } from '../../errors.ts'
import type { StagedChange } from '../../store/plans/plans.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import type { PlanDocument } from './dry-run.ts'
import { preparePlan } from './prepare.ts'
import { previewStage } from './stage.ts'

/** A plan at a glance. */
export type Preview = Pick<PlanDocument, 'rows' | 'records' | 'counts' | 'guards' | 'warnings' | 'rejects'> & {
  /** The first of them. */
  readonly changes: readonly StagedChange[]
}

/**
 * What a run over this reading would do, also of a connection that no configuration has yet. Nothing is stored or sent, and no more than
 * `most` changes are kept in memory.
 */
export async function planReading(
  ctx: Pick<SyncContext, 'store' | 'now'>,
  connection: SyncConnection,
  { reading, most, signal }: { readonly reading: Reading; readonly most: number; readonly signal: AbortSignal },
): Promise<Preview> {
  const { source } = connection.feeds
  if (!source) throw new Failure('config_invalid', `connection "${connection.name}" has no source in the configuration`)
  const stage = previewStage(most)
  const { rows, records, counts, guards, warnings, rejects } = await preparePlan(ctx, connection, {
    feed: { name: 'source', reading, rules: source },
    stage,
    everybody: false,
    splits: null,
    signal,
    onProgress: () => {},
  })
  return { rows, records, counts, guards, warnings, rejects, changes: stage.seen() }
}
