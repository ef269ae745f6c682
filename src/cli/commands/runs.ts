import type { Run } from '../../contract/control/shapes.ts'
import { renderRunLine, renderRuns } from '../render/run.ts'
import type { Control } from '../session/control-client.ts'
import { watch } from '../session/live.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall runs`. */
export type RunsOptions = CommonOptions & { readonly limit?: number; readonly follow?: boolean }

/** Lists the newest runs, or refreshes the list with --follow. */
export async function runs(options: RunsOptions): Promise<number> {
  const list = async (control: Control) => {
    const { data } = await control.listRuns({ query: { connection: options.connection, limit: options.limit } })
    return { runs: data }
  }
  if (options.follow) {
    await watch(options, {
      look: list,
      render: ({ runs: listed }, paint) => renderRuns(listed, paint),
      changes: (now, before, paint) =>
        changedRuns(now.runs, before?.runs ?? []).map((run) => renderRunLine(run, paint)),
    })
    return 0
  }
  return await withSession(options, { isReadOnly: true }, async ({ control, output }) => {
    output.printResult(await list(control), ({ runs: listed }, paint) => renderRuns(listed, paint))
    return 0
  })
}

/** The runs that are new or in another state, the oldest first. */
export function changedRuns(now: readonly Run[], before: readonly Run[]): Run[] {
  const states = new Map(before.map(({ id, state }) => [id, state]))
  return now.filter(({ id, state }) => states.get(id) !== state).reverse()
}
