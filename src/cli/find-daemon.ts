import { control, controlPrefix } from '../contract/control/control.ts'
import type { Config } from '../daemon/config/config.ts'
import { readAddress } from '../daemon/control/address-file.ts'
import { readControlToken } from '../daemon/control/token.ts'
import { createClient } from '../http/client/client.ts'

const answerMs = 3000

/** The daemon that answers for this configuration: the one that left its address in the data folder, else one at the configured port. */
export async function findDaemon(config: Config): Promise<{ baseUrl: string; token: string } | null> {
  const token = await readControlToken({ dataDir: config.dataDir, configured: config.server.token })
  if (token === null) return null
  const announced = await readAddress(config.dataDir)
  for (const baseUrl of new Set([announced?.url, configuredUrl(config)])) {
    if (baseUrl !== undefined && (await answers(baseUrl, token))) return { baseUrl, token }
  }
  return null
}

/** True where a daemon that accepts the token listens. Whatever else listens there is none of ours. */
async function answers(baseUrl: string, token: string): Promise<boolean> {
  const options = { baseUrl: `${baseUrl}${controlPrefix}`, bearer: token, timeoutMs: answerMs }
  const answer = await createClient({ about: control.about }, options).about({})
  return answer.status === 200
}

function configuredUrl({ server: { host, port } }: Config): string | undefined {
  if (port === 0) return undefined
  const local = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}`
}
