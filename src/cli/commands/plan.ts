import { failures } from '../../errors.ts'
import { renderPersonPlan } from '../render/person-account.ts'
import { renderPlan } from '../render/plan.ts'
import { type CommonOptions, connectionNamed, withSession } from '../session.ts'

export type PlanOptions = CommonOptions & { readonly showValues?: boolean; readonly person?: string }

/** Shows what a run would do now; the exit code tells whether it would be held. */
export async function plan(options: PlanOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const params = { connection: connectionNamed(options, config) }
    const query = { values: output.mayShowValues(options) }
    const { person } = options
    if (person !== undefined) {
      const document = await control.planPerson({ params, query, body: { person } })
      output.result(document, renderPersonPlan)
      return exitOf(document)
    }
    const document = await control.planConnection({ params, query })
    output.result(document, renderPlan)
    return exitOf(document)
  })
}

function exitOf({ guards }: { readonly guards: readonly { readonly ok: boolean }[] }): number {
  return guards.every(({ ok }) => ok) ? 0 : failures.run_held.exit
}
