import { scimPath } from '../../connectors/scim/errors.ts'
import type { Config } from '../config/config.ts'
import { type ConnectionText, refuseReferences } from './configuration.ts'

type ScimSettings = {
  /** The name of the connection in the configuration, and on the platform. */
  readonly name: string
  readonly target: string
  readonly timeZone: string
}

/** The connection of people whom an identity system pushes. */
export function scimConnection({ name, target, timeZone }: ScimSettings): ConnectionText {
  refuseReferences([target])
  const at = `connections.${name}`
  return {
    connections: {
      [name]: { target: { name: target }, source: { type: 'scim', timeZone }, schedule: { cron: '0 3 * * *' } },
    },
    comments: {
      [`${at}.target`]: 'The custom connection on the platform; it is created if it is missing.',
      [`${at}.source.type`]: `> users are pushed to ${scimPath}/${name}, and their externalId is the key (docs/sources-scim.md)`,
      [`${at}.source.timeZone`]: '> decides on which day a person leaves',
      [`${at}.schedule`]: 'When the daemon repeats what the platform refused: every night at three.',
    },
  }
}

/** The address that people are pushed to. Without server.publicUrl it is the one on this machine. */
export function scimAddress({ server }: Pick<Config, 'server'>, name: string): string {
  const origin = server.publicUrl?.origin ?? `http://${server.host}:${server.port}`
  return `${origin}${scimPath}/${name}`
}

/** Advice for an address that identity systems cannot push to, since it is not HTTPS; null if it is. */
export function addressHelp(address: string): string | null {
  if (address.startsWith('https://')) return null
  return 'identity systems push over https only: put a proxy with TLS in front, and set server.publicUrl to its address'
}

/** The name of the first token of a connection. */
export function firstTokenName(connection: string): string {
  return `SCIM of ${connection}`
}
