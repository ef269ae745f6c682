import type { Config } from '../../daemon/config/config.ts'
import { readAddress } from '../../daemon/control/address-file.ts'
import { distrust } from '../../daemon/control/socket-trust.ts'
import { errorCode, Failure } from '../../errors.ts'

const answerMs = 3000

/** Where a running daemon can be reached. */
export type DaemonEndpoint = {
  /** The Unix socket of its control API. */
  readonly socket: string
  /** Where it serves webhooks. */
  readonly url: string
}

/**
 * The daemon that announced its address in the data folder of this configuration, if it responds. Only a socket that its account alone can
 * have made is used, never a port.
 */
export async function findDaemon({ dataDir }: Pick<Config, 'dataDir'>): Promise<DaemonEndpoint | null> {
  const announced = await readAddress(dataDir)
  if (announced === null) return null
  const { socket, url } = announced
  const doubt = doubtAbout(socket, dataDir)
  if (doubt === 'gone') return null
  if (doubt !== null) {
    const help = 'run the command as the account of the daemon'
    throw new Failure('config_invalid', `${socket}, at which a daemon should listen, ${doubt}: ${help}`)
  }
  return (await answers(socket)) ? { socket, url } : null
}

function doubtAbout(socket: string, dataDir: string): string | null {
  try {
    return distrust(socket, dataDir)
  } catch (error) {
    const code = errorCode(error)
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'gone' : `cannot be looked at (${code})`
  }
}

async function answers(socket: string): Promise<boolean> {
  // Most often no daemon was ever announced; then none of this is loaded.
  const [{ control, controlPrefix }, { createClient }, { socketEndpoint: throughSocket }] = await Promise.all([
    import('../../contract/control/control.ts'),
    import('../../http/client/client.ts'),
    import('./control-client.ts'),
  ])
  const { dispatcher, origin } = throughSocket(socket)
  const options = { baseUrl: `${origin}${controlPrefix}`, dispatcher, timeoutMs: answerMs }
  const answer = await createClient({ about: control.about }, options).about({})
  return answer.status === 200
}
