import { renderRuns } from '../render/run.ts'
import { type CommonOptions, withSession } from '../session.ts'

export type RunsOptions = CommonOptions & { readonly limit?: number }

export async function runs(options: RunsOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    const { data } = await control.listRuns({ query: { connection: options.connection, limit: options.limit } })
    output.result({ runs: data }, ({ runs: listed }, paint) => renderRuns(listed, paint))
    return 0
  })
}
