import type { Caller } from '../../contract/control/access.ts'
import type { Status } from '../../contract/control/shapes.ts'
import type { MonitoredConnections } from '../alerts/freshness.ts'
import type { AuditService } from '../audit/service.ts'
import type { AlertSettings } from '../config/channel.ts'
import type { Reloads } from '../config/reload.ts'
import type { Live } from '../live/live.ts'
import type { ConnectionSchedule } from '../schedules/schedules.ts'
import type { FirstVisitContext } from './first-visit.ts'
import type { SettingsContext } from './settings.ts'
import type { SettingsChangeContext } from './settings-changes.ts'
import type { StoreContext } from './store.ts'

/** What the control API is served from. */
export type ControlContext = StoreContext &
  SettingsContext &
  SettingsChangeContext &
  FirstVisitContext & {
    readonly caller: Caller
    readonly audit: Pick<AuditService, 'seal' | 'trouble' | 'verify' | 'replaceKey'>
    readonly schedules: readonly ConnectionSchedule[]
    readonly alerts: AlertSettings
    readonly monitored: MonitoredConnections
    /** Live changes for listeners; left out if no daemon runs. */
    readonly live?: Live
    readonly reloads?: Reloads
    readonly about: Pick<Status, 'version' | 'daemon' | 'configuration' | 'database' | 'queue' | 'platform'>
    /** Aborted when this process stops. */
    readonly signal: AbortSignal
  }
