import { Failure } from '../../errors.ts'
import { newestAccepted } from '../../store/runs/configured.ts'
import type { Db, KeptPlan } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { planBasis } from './plan-basis.ts'

/**
 * The inputs that `plan --out` writes beside a plan, for `sync --plan`: a digest of configuration and platform (see `planBasis`), and the id of
 * the newest accepted run.
 */
export async function readPlanInputs(
  ctx: Pick<SyncContext, 'store' | 'platform'>,
  connection: SyncConnection,
): Promise<Pick<KeptPlan, 'basis' | 'accepted'>> {
  return {
    basis: await planBasis(ctx, connection),
    accepted: await newestAccepted(ctx.store.db, connection.name),
  }
}

/** Throws a `Failure` of kind conflict if a plan differs from the one that `plan --out` wrote. Its message names the difference. */
export async function refuseOtherPlan(
  db: Db,
  kept: KeptPlan,
  now: {
    readonly connection: string
    readonly basis: string
    readonly digest: string
    readonly version: string | null
  },
): Promise<void> {
  const difference = await differenceOf(db, kept, now)
  if (difference === null) return
  throw new Failure('conflict', `this is not the plan that was kept: ${difference}; plan again`)
}

async function differenceOf(
  db: Db,
  kept: KeptPlan,
  now: { connection: string; basis: string; digest: string; version: string | null },
): Promise<string | null> {
  if (now.basis !== kept.basis) return 'the configuration of the connection, or a classified value, has changed since'
  if (now.version !== kept.version) return 'the source was replaced since'
  if (now.digest === kept.digest) return null
  const accepted = await newestAccepted(db, now.connection)
  if (accepted !== kept.accepted) return `facts were accepted since, by run ${accepted}`
  return `its digest is ${now.digest} now, and was ${kept.digest}; a leaving date may have come, or the platform answered since`
}
