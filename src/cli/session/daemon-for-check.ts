import type { DaemonQueries } from '../../daemon/check-source.ts'
import type { Config } from '../../daemon/config/config.ts'
import { controlOverSocket } from './control-client.ts'
import { findDaemon } from './find-daemon.ts'

/** What a check asks the daemon of this configuration; null if no daemon responds. */
export async function daemonForCheck(config: Config): Promise<DaemonQueries | null> {
  const daemon = await findDaemon(config)
  if (daemon === null) return null
  const control = controlOverSocket(daemon)
  return {
    classifiedValues: async (connection) => (await control.listValues({ params: { connection } })).data,
    knowsAnybody: async (connection) => {
      const { connections } = await control.about({})
      // The configuration may have a connection that the daemon has not learned of yet.
      if (!connections.includes(connection)) return false
      const { connections: shown } = await control.status({ query: { connection } })
      return shown.some(({ people }) => people.desired > 0)
    },
    async heldPlan(connection) {
      const { guards, leftOut } = await control.planConnection({ params: { connection }, query: { values: false } })
      return { verdicts: guards.filter(({ ok }) => !ok), ...(leftOut && { leftOut }) }
    },
  }
}
