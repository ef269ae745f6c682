import type { PlanDocument } from '../../contract/control/shapes.ts'
import { Failure, failures } from '../../errors.ts'
import { renderPlan } from '../render/plan.ts'
import { type CommonOptions, requireConnection, withSession } from '../session/session.ts'

/** The options of `rollcall plan`. */
export type PlanOptions = CommonOptions & {
  readonly showValues?: boolean
  readonly person?: string
  readonly out?: string
}

/** Shows what a run would do now; the exit code tells whether it would be held. */
export async function plan(options: PlanOptions): Promise<number> {
  return await withSession(options, { isReadOnly: true }, async (session) => {
    const { config, control, output } = session
    const { person, out } = options
    // The caller's own file is neither a log nor a pipe.
    const query = { values: output.mayShowValues(options) || (out !== undefined && (options.showValues ?? false)) }
    if (person !== undefined && out !== undefined)
      throw new Failure('usage', '--out writes the plan of all people: remove --person')
    if (person !== undefined) {
      const [{ resolvePersonInSource: personInSource }, { renderPersonPlan }] = await Promise.all([
        import('../session/person-name.ts'),
        import('../render/person-account.ts'),
      ])
      const { connection, identityId } = await personInSource(session, person, options)
      const request = { params: { connection }, query, body: { person: identityId } }
      const document = await control.planPerson(request)
      output.printResult(document, renderPersonPlan)
      return exitOf(document)
    }
    const params = { connection: requireConnection(options, config) }
    const document = await control.planConnection({ params, query })
    if (out === undefined) output.printResult(document, renderPlan)
    else {
      const { writePlanFile } = await import('../session/plan-file.ts')
      await writePlanFile(out, document)
      output.printResult(
        { file: out, digest: document.digest },
        () => `The plan was written to ${out}: rollcall sync --plan ${out}${heldWhole(document)}`,
      )
    }
    return exitOf(document)
  })
}

/** A kept plan is delivered exactly as it is, so those who wait hold all others too. */
function heldWhole({ leftOut }: PlanDocument): string {
  return leftOut === undefined
    ? ''
    : '\nThat run would hold everybody, as a kept plan is not sent in part; rollcall sync holds only those who wait.'
}

type PlanVerdicts = { readonly guards: readonly { readonly ok: boolean }[]; readonly also?: readonly PlanVerdicts[] }

function exitOf({ guards, also = [] }: PlanVerdicts): number {
  return guards.every(({ ok }) => ok) && also.every((other) => exitOf(other) === 0) ? 0 : failures.run_held.exit
}
