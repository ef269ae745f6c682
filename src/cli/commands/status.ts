import type { Status } from '../../contract/control/shapes.ts'
import { resolveConfigPath } from '../../daemon/config/config-path.ts'
import { version } from '../../version.ts'
import { askKnownDaemon } from '../known-daemon.ts'
import { createOutput } from '../output.ts'
import { renderStatus } from '../render/status.ts'
import type { CommonOptions } from '../session.ts'

/** Shows what runs. A watch asks often, so a daemon that is known is asked before anything of this command is loaded. */
export async function status(options: CommonOptions): Promise<number> {
  const told = await askKnownDaemon(resolveConfigPath(options.config, process.cwd()), '/status')
  if (isOurs(told)) {
    createOutput({ json: options.json ?? false }).result(told, renderStatus)
    return 0
  }
  const { withSession } = await import('../session.ts')
  return await withSession(options, {}, async ({ control, output }) => {
    output.result(await control.status({}), renderStatus)
    return 0
  })
}

/** A daemon of the same version answers in the shapes of this command; another one's answer is checked against them. */
function isOurs(told: unknown): told is Status {
  return typeof told === 'object' && told !== null && 'version' in told && told.version === version
}
