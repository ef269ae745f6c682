import { operations } from '../operation.ts'
import { alertOperations } from './alerts.ts'
import { auditOperations } from './audit.ts'
import { classifiedValueOperations } from './classified-values.ts'
import { diagnosisOperations } from './diagnosis.ts'
import { effectiveOperations } from './effective.ts'
import { eventOperations } from './events.ts'
import { firstVisitOperations } from './first-visit.ts'
import { foreignOperations } from './foreign.ts'
import { handOverOperations } from './hand-over.ts'
import { historyOperations } from './history.ts'
import { holdBackOperations } from './hold-backs.ts'
import { keyOperations } from './keys.ts'
import { leaverOperations } from './leavers.ts'
import { leftOutOperations } from './left-out.ts'
import { pauseOperations } from './pauses.ts'
import { peopleOperations } from './people.ts'
import { planOperations } from './plans.ts'
import { problemOperations } from './problems.ts'
import { runNameOperations } from './run-names.ts'
import { runOperations } from './runs.ts'
import { scheduleOperations } from './schedules.ts'
import { settingsOperations } from './settings.ts'
import { settingsChangeOperations } from './settings-changes.ts'
import { sourceOperations } from './sources.ts'
import { statedDepartureOperations } from './stated-departures.ts'
import { statementOperations } from './statements.ts'
import { statusOperations } from './status.ts'
import { storeOperations } from './store.ts'
import { tokenOperations } from './tokens.ts'
import { trailOperations } from './trail.ts'

/** Where the control API is mounted. */
export const controlPrefix = '/api/v1'

/** The operations of the daemon. The console uses nothing else, and neither do commands while a daemon runs. */
export const control = operations({
  // Changed keys of people, and operators' answers about them.
  ...keyOperations,
  // People whom only the platform knows.
  ...foreignOperations,
  // People who were left out when a part of a plan was approved.
  ...leftOutOperations,
  ...holdBackOperations,
  // Departures that an operator states before HR.
  ...statedDepartureOperations,
  ...pauseOperations,
  ...storeOperations,
  ...peopleOperations,
  ...scheduleOperations,
  ...sourceOperations,
  // Reading the audit trail; its verification and export are `auditOperations`.
  ...trailOperations,
  ...tokenOperations,
  ...historyOperations,
  ...runNameOperations,
  ...diagnosisOperations,
  ...settingsOperations,
  ...settingsChangeOperations,
  // The wizard that makes the first connection from an uploaded export.
  ...firstVisitOperations,
  ...statusOperations,
  ...alertOperations,
  ...runOperations,
  ...planOperations,
  ...problemOperations,
  ...leaverOperations,
  // The rows that HR has to correct.
  ...handOverOperations,
  // The population statement: everybody at an instant, for auditors.
  ...statementOperations,
  // The comparison of the platform's personnel with HR.
  ...effectiveOperations,
  ...classifiedValueOperations,
  ...eventOperations,
  ...auditOperations,
})
