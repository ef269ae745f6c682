import type { planOperations } from '../../contract/control/plans.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { planDryRun } from '../../sync/plan/dry-run.ts'
import type { SyncContext } from '../../sync/sync.ts'
import { requireConnection } from './require-connection.ts'
import { personAccountView, plansView, planView } from './views.ts'

/** What plans are made from. */
type PlanningContext = { readonly sync: SyncContext; readonly signal: AbortSignal }

/** Handlers of the operations about what a run would do. */
export const planHandlers: Handlers<typeof planOperations, PlanningContext> = {
  async planConnection(ctx, { params: { connection }, query }) {
    requireConnection(ctx, connection)
    return { status: 200, body: plansView(ctx.sync, await planDryRun(ctx.sync, connection, ctx.signal), query) }
  },

  async planPerson(ctx, { params: { connection }, query, body: { person } }) {
    requireConnection(ctx, connection)
    const { planPersonDryRun } = await import('../../sync/plan/dry-run-person.ts')
    const { also: _, ...plan } = await planPersonDryRun(ctx.sync, { connection, person, signal: ctx.signal })
    return { status: 200, body: { ...planView(plan, query), person: personAccountView(plan.person, null, query) } }
  },
}
