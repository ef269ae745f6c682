import type { control } from '../../contract/control/control.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { alertHandlers } from './alerts.ts'
import { auditHandlers } from './audit.ts'
import { classifiedValueHandlers } from './classified-values.ts'
import type { ControlContext } from './control-context.ts'
import { diagnosisHandlers } from './diagnosis.ts'
import { effectiveHandlers } from './effective.ts'
import { eventHandlers } from './events.ts'
import { firstVisitHandlers } from './first-visit.ts'
import { foreignHandlers } from './foreign.ts'
import { handOverHandlers } from './hand-over.ts'
import { historyHandlers } from './history.ts'
import { holdBackHandlers } from './hold-backs.ts'
import { keyHandlers } from './keys.ts'
import { leaverHandlers } from './leavers.ts'
import { leftOutHandlers } from './left-out.ts'
import { pauseHandlers } from './pauses.ts'
import { peopleHandlers } from './people.ts'
import { planHandlers } from './plans.ts'
import { problemHandlers } from './problems.ts'
import { runNameHandlers } from './run-names.ts'
import { runHandlers } from './runs.ts'
import { scheduleHandlers } from './schedules.ts'
import { settingsHandlers } from './settings.ts'
import { settingsChangeHandlers } from './settings-changes.ts'
import { sourceHandlers } from './sources.ts'
import { statedDepartureHandlers } from './stated-departures.ts'
import { statementHandlers } from './statements.ts'
import { statusHandlers } from './status.ts'
import { storeHandlers } from './store.ts'
import { tokenHandlers } from './tokens.ts'
import { trailHandlers } from './trail.ts'
import type { WithActor } from './with-permissions.ts'

/** The handlers of the whole control API. A request that cannot be done is thrown as a Failure. */
export const controlHandlers: Handlers<typeof control, ControlContext & WithActor> = {
  ...alertHandlers,
  ...auditHandlers,
  ...classifiedValueHandlers,
  ...diagnosisHandlers,
  ...effectiveHandlers,
  ...eventHandlers,
  ...firstVisitHandlers,
  ...foreignHandlers,
  ...handOverHandlers,
  ...historyHandlers,
  ...holdBackHandlers,
  ...statedDepartureHandlers,
  ...keyHandlers,
  ...leaverHandlers,
  ...leftOutHandlers,
  ...statementHandlers,
  ...pauseHandlers,
  ...peopleHandlers,
  ...planHandlers,
  ...problemHandlers,
  ...runNameHandlers,
  ...runHandlers,
  ...scheduleHandlers,
  ...settingsHandlers,
  ...settingsChangeHandlers,
  ...sourceHandlers,
  ...statusHandlers,
  ...storeHandlers,
  ...tokenHandlers,
  ...trailHandlers,
}
