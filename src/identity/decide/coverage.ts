import type { PlanContext } from './decide.ts'

/** Whether a snapshot is older than the newest accepted one. It then no longer covers everybody. */
export function isStale({
  mode,
  asOf,
  acceptedAsOf = null,
}: Pick<PlanContext, 'mode' | 'asOf' | 'acceptedAsOf'>): boolean {
  return mode === 'snapshot' && acceptedAsOf !== null && Temporal.Instant.compare(asOf, acceptedAsOf) < 0
}

/** Whether a source states facts about every known person, and not only about those whom it names. */
export function coversEverybody(context: Pick<PlanContext, 'mode' | 'asOf' | 'acceptedAsOf' | 'absence'>): boolean {
  return context.mode === 'snapshot' && context.absence !== 'ignore' && !isStale(context)
}
