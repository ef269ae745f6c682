import type { FailureCode } from '../../errors.ts'

/** The HTTP status of each failure. */
export const failureStatuses: Readonly<Record<FailureCode, number>> = {
  usage: 400,
  run_held: 409,
  source_unreadable: 422,
  source_unreachable: 503,
  platform_unreachable: 503,
  finished_with_problems: 409,
  run_failed: 409,
  contract_differs: 502,
  already_active: 409,
  blocked: 409,
  forbidden: 403,
  config_invalid: 422,
  database_unreachable: 503,
  disk_full: 503,
  store_lost: 503,
  store_damaged: 503,
  queue_unreachable: 503,
  alert_unsent: 503,
  not_found: 404,
  conflict: 409,
  audit_broken: 409,
}
