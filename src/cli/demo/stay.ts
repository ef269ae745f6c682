import { once } from 'node:events'
import { join } from 'node:path'
import { startDaemon } from '../../daemon/start.ts'
import type { Config } from '../../daemon/config/config.ts'
import { createEvents } from '../../telemetry/events.ts'
import { createLogger } from '../../telemetry/log.ts'

/** Keeps the platform and a daemon running until somebody stops them, and says what can be looked at. */
export async function stayForALook(
  config: Config,
  { platform, folder, signal }: { platform: string; folder: string; signal: AbortSignal },
): Promise<void> {
  const events = createEvents(createLogger({ level: 'warn' }))
  await using daemon = await startDaemon(config, { events })
  const file = join(folder, 'rollcall.yaml')
  process.stdout.write(`
The platform and a daemon keep running for a look around; Ctrl-C ends both and removes ${folder}.
  platform     ${platform}   (key in ${join(folder, 'platform_api_key')})
  control API  ${daemon.url}/api/v1
  bin/rollcall status --config ${file}
  bin/rollcall runs   --config ${file}
  bin/rollcall person W00001 --config ${file} --show-values
`)
  if (!signal.aborted) await once(signal, 'abort')
}
