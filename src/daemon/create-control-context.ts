import { requireConnectorKind } from '../connectors/registry/registry.ts'
import { machineCaller } from '../contract/control/access.ts'
import { version } from '../version.ts'
import type { MonitoredConnections } from './alerts/freshness.ts'
import type { Assembly } from './assembly.ts'
import type { Config } from './config/config.ts'
import type { Reloads } from './config/reload.ts'
import type { ControlContext } from './control/control-context.ts'
import type { Restorations } from './control/store.ts'
import type { ConnectionSchedule } from './schedules/schedules.ts'
import { userName } from './user-name.ts'

type ControlOptions = {
  /** Null in a command that does the work itself. */
  readonly daemon: ControlContext['about']['daemon']
  /** Restores of the store, on request; left out in a command. */
  readonly restorations?: Restorations
  /** Reloads of the configuration; left out in a command, which reads it once. */
  readonly reloads?: Reloads
  readonly signal: AbortSignal
}

/** What the handlers of the control API need, in the daemon or in a command that does the work itself. */
export function createControlContext(assembly: Assembly, options: ControlOptions): ControlContext {
  const { config, sync, queue, audit } = assembly
  const { daemon, restorations, reloads, signal } = options
  const about = {
    version,
    daemon,
    configuration: config.file,
    database: sync.store.location,
    queue: queue.location,
    platform: config.platform.baseUrl,
  }
  return {
    sync,
    caller: machineCaller(userName()),
    restorations,
    reloads,
    audit,
    schedules: connectionSchedules(config),
    alerts: config.alerts,
    monitored: monitoredConnections(config),
    about,
    signal,
  }
}

/** When the daemon reads the source of each connection, verifies everybody on the platform, and verifies leavers and a random sample. */
export function connectionSchedules({ connections }: Config): ConnectionSchedule[] {
  return [...connections].flatMap(([connection, { schedule, verify, sample }]): ConnectionSchedule[] => [
    ...(schedule ? [{ connection, purpose: 'read', schedule } as const] : []),
    ...(verify ? [{ connection, purpose: 'verify', schedule: verify } as const] : []),
    ...(sample ? [{ connection, purpose: 'sample', schedule: sample } as const] : []),
  ])
}

/** What alerts are about: connections, directories, mails to HR, weekly mails, SCIM, the rule of two people and the deadlines of leavers. */
export function monitoredConnections({
  connections,
  directories,
  handOver,
  weekly,
  approvals,
}: Config): MonitoredConnections {
  const sources = [...connections].flatMap(([connection, { source, schedule }]) => {
    if (source === null) return []
    const { type, mode } = source.settings
    return [{ connection, mode, isFile: requireConnectorKind(type).isFile, schedule }]
  })
  const maxLeaverHours = new Map([...connections].map(([name, { leavers }]) => [name, leavers.boundHours]))
  const names = [...connections.keys()]
  const connectionsWithHrMails = handOver === null ? [] : (handOver.connections ?? names)
  const connectionsWithWeeklyMails = weekly === null ? [] : (weekly.connections ?? names)
  const scimConnections = names.filter((name) => connections.get(name)?.pushed)
  const connectionsWithoutTwoPeople = approvals.twoPeople ? [] : names
  return {
    connections: names,
    connectionsWithoutTwoPeople,
    directories: [...directories.keys()],
    connectionsWithHrMails,
    connectionsWithWeeklyMails,
    sources,
    scimConnections,
    maxLeaverHours,
  }
}
