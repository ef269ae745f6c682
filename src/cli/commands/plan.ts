import { failures } from '../../errors.ts'
import { renderPlan } from '../render/plan.ts'
import { type CommonOptions, connectionNamed, withSession } from '../session.ts'

export type PlanOptions = CommonOptions & { readonly showValues?: boolean }

/** Shows what a run would do now; the exit code tells whether it would be held. */
export async function plan(options: PlanOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const connection = connectionNamed(options, config)
    const values = output.mayShowValues(options)
    const document = await control.planConnection({ params: { connection }, query: { values } })
    output.result(document, renderPlan)
    return document.guards.every(({ ok }) => ok) ? 0 : failures.run_held.exit
  })
}
