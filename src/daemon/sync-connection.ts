import { join } from 'node:path'
import type { Connector } from '../connectors/connector.ts'
import { requireConnectorKind } from '../connectors/registry/registry.ts'
import { scimEventSettings } from '../connectors/scim/settings.ts'
import type { Directory, SyncConnection } from '../sync/context/context.ts'
import type { Config, ConnectionConfig, DirectoryConfig } from './config/config.ts'
import { nextSlotAt } from './schedules/schedules.ts'

/** A connection of the configuration as runs use it, with the connector of its source. */
export function toSyncConnection(config: Config, connection: ConnectionConfig): SyncConnection {
  const { name, target, source, pushed, webhook, guards, pinned, onHold, records, linkedTo, digest, delivery } =
    connection
  return {
    name,
    target,
    feeds: {
      source: source ? { ...source, connector: connectorOf(config, connection, source) } : undefined,
      webhook: pushed ? { ...pushed, settings: scimEventSettings(pushed.settings) } : (webhook ?? undefined),
    },
    ...(pushed && { isPushed: true }),
    guards,
    pinned: new Set(pinned),
    onHold,
    records,
    linkedTo,
    approvals: config.approvals,
    configuration: digest,
    delivery,
  }
}

/** A directory of the configuration, with the connector of its list. */
export function toDirectory(config: Config, { name, source, schedule, guards }: DirectoryConfig): Directory {
  return {
    name,
    feed: { ...source, connector: connectorOf(config, { name }, source) },
    guards,
    nextAt: (now) => (schedule ? nextSlotAt(schedule, now) : null),
  }
}

/** The folder of the copies of exports and lists while they are read, in a folder for each connection. */
export function incomingFolder({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'incoming')
}

/** A linked connection only reads the source: the connection it is linked to archives exports and watches for new ones. */
function connectorOf(
  { folder, dataDir }: Config,
  { name, linkedTo }: Pick<ConnectionConfig, 'name' | 'linkedTo'>,
  { settings, secrets, written }: NonNullable<ConnectionConfig['source']>,
): Connector {
  const connector = requireConnectorKind(settings.type).connect(settings, {
    baseDir: folder,
    spoolDir: join(incomingFolder({ dataDir }), name),
    tokensDir: join(dataDir, 'tokens'),
    secret: (path) => secrets.get(path) ?? null,
    written: (path) => written.get(path),
  })
  return linkedTo === undefined ? connector : { open: connector.open }
}
