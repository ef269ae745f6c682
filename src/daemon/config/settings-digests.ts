import { fingerprint } from '../../identity/digest.ts'
import type { SettingsDigests } from '../../store/schema/process-info.ts'
import type { Config } from './config.ts'
import { inOrder } from './configuration-digest.ts'

/**
 * Digests of the settings about which all processes of a store have to agree. What may differ from machine to machine counts for
 * nothing: folders, addresses that it listens on, files, and secrets.
 */
export function settingsDigests(config: Config): SettingsDigests {
  const { connections, directories, platform, alerts, handOver, weekly, retention, approvals } = config
  const { baseUrl, requestsPerMinute } = platform
  const channels = alerts.channels.map((channel) => ({ ...channel, ca: null }))
  return {
    connections: Object.fromEntries(
      [...connections].map(([name, { digest, schedule, verify, sample, delivery, leavers, records, linkedTo }]) => {
        const deliver = records?.deliver
        return [name, digestOf({ digest, schedule, verify, sample, delivery, leavers, deliver, linkedTo })]
      }),
    ),
    general: digestOf({
      ...{ baseUrl, requestsPerMinute, alerts: { ...alerts, channels }, handOver, weekly, retention, approvals },
      directories: [...directories.values()].map(({ name, schedule, guards }) => ({ name, schedule, guards })),
    }),
  }
}

function digestOf(settings: object): string {
  // Secrets have no form of their own in JSON.
  return fingerprint(inOrder(JSON.parse(JSON.stringify(settings))))
}
