import type { Alert } from '../../contract/control/alerts.ts'
import { moment, type Paint, shown } from './text.ts'

/** What needs attention, one line each. */
export function alertLines(alerts: readonly Alert[], paint: Paint): string[] {
  return alerts.map((alert) => {
    const { connection, kind, since, reason } = alert
    const what = `${connection}: ${kind} since ${moment(since)}: ${shown(reason)}`
    return `${paint('red', 'alert')}     ${what} (${sentText(alert)})`
  })
}

function sentText({ notifiedAt, lastFailure }: Alert): string {
  if (lastFailure !== null) return `not sent: ${shown(lastFailure)}`
  return notifiedAt === null ? 'not sent yet' : `sent ${moment(notifiedAt)}`
}
