import { renderStatus } from '../render/status.ts'
import { type CommonOptions, withSession } from '../session.ts'

export async function status(options: CommonOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    output.result(await control.status({}), renderStatus)
    return 0
  })
}
