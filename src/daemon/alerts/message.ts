import type { AlertMessage, Alert as AlertView } from '../../contract/control/alerts.ts'
import { type Alert, type ClaimedNotification, openAlerts } from '../../store/alerts/alerts.ts'
import { type Condition, type ConditionSettings, conditions } from '../../store/alerts/conditions.ts'
import type { Db } from '../../store/schema.ts'

/** What is sent to the receiver of alerts. */
export function alertMessage({ alert, type, sentBefore }: ClaimedNotification, now: Date): AlertMessage {
  return {
    type: `alert.${type}`,
    timestamp: now.toISOString(),
    data: {
      id: alert.id,
      ...about(alert),
      raisedAt: alert.raisedAt.toISOString(),
      clearedAt: type === 'cleared' ? (alert.clearedAt?.toISOString() ?? null) : null,
      reminder: type === 'raised' && sentBefore > 0,
    },
  }
}

/** What is wrong now, with what became of the alerts about it. */
export async function alertViews(db: Db, settings: ConditionSettings): Promise<AlertView[]> {
  const found = await conditions(db, settings)
  const open = new Map(found.length === 0 ? [] : (await openAlerts(db)).map((alert) => [nameOf(alert), alert]))
  return found.map((condition) => alertView(condition, open.get(nameOf(condition))))
}

function alertView(condition: Condition, alert: Alert | undefined): AlertView {
  return {
    ...about(condition),
    id: alert?.id ?? null,
    raisedAt: alert?.raisedAt.toISOString() ?? null,
    notifiedAt: alert?.notifiedAt?.toISOString() ?? null,
    lastFailure: alert?.lastFailure ?? null,
  }
}

function about({ connection, kind, code, reason, since, people, leavers, runId }: Condition) {
  return { connection, kind, code, reason, since: since.toISOString(), people, leavers, runId }
}

function nameOf({ connection, kind }: Condition): string {
  return `${connection} ${kind}`
}
