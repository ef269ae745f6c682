import type { AlertChannel, AlertMessage, AlertTestMessage, Alert as AlertView } from '../../contract/control/alerts.ts'
import { type OpenAlert, openAlerts } from '../../store/alerts/alerts.ts'
import type { Condition, ConditionSettings } from '../../store/alerts/condition.ts'
import { conditions } from '../../store/alerts/conditions.ts'
import type { Db } from '../../store/schema.ts'
import { type AlertSettings, logChannel, type Message } from '../config/channel.ts'
import { textsOf } from './kinds.ts'
import type { AlertLink } from './links.ts'

/** The JSON document that a webhook channel gets for one alert. */
export function alertMessage(
  notice: Exclude<Message, { type: 'group' }>,
  linkOf: AlertLink,
): AlertMessage | AlertTestMessage {
  const timestamp = notice.now.toISOString()
  if (notice.type === 'test') return { type: 'alert.test', timestamp, data: { link: linkOf(null) } }
  const { alert, type, sentBefore } = notice
  return {
    type: `alert.${type}`,
    timestamp,
    data: {
      id: alert.id,
      ...about(alert),
      raisedAt: alert.raisedAt.toISOString(),
      clearedAt: type === 'cleared' ? (alert.clearedAt?.toISOString() ?? null) : null,
      reminder: type === 'raised' && sentBefore > 0,
      link: linkOf(alert),
    },
  }
}

/** The current alert conditions, each with its alert and the channels that were notified. */
export async function alertViews(
  db: Db,
  { linkOf, ...settings }: ConditionSettings & { readonly linkOf: AlertLink },
): Promise<AlertView[]> {
  const current = await conditions(db, settings)
  const open = new Map(current.length === 0 ? [] : (await openAlerts(db)).map((alert) => [nameOf(alert), alert]))
  return current.map((condition) => alertView(condition, open.get(nameOf(condition)), linkOf))
}

/** The channels of alerts: the log and the configured ones. */
export function channelViews({ channels }: AlertSettings): AlertChannel[] {
  const configured = channels.map(({ name, type, connections, kinds, perHour }) => ({
    name,
    type,
    connections,
    kinds,
    perHour,
  }))
  return [{ ...logChannel, type: 'log' as const }, ...configured].map(({ connections, kinds, ...channel }) => ({
    ...channel,
    connections: connections && [...connections],
    kinds: kinds && [...kinds],
  }))
}

function alertView(condition: Condition, alert: OpenAlert | undefined, linkOf: AlertLink): AlertView {
  return {
    ...about(condition),
    id: alert?.id ?? null,
    raisedAt: alert?.raisedAt.toISOString() ?? null,
    link: linkOf({ id: alert?.id ?? '', ...condition }),
    notified: (alert?.notified ?? []).map(({ notifiedAt, nextAt, ...notified }) => ({
      ...notified,
      notifiedAt: notifiedAt?.toISOString() ?? null,
      nextAt: nextAt?.toISOString() ?? null,
    })),
  }
}

function about({ connection, kind, code, reason, since, people, leavers, runId }: Condition) {
  const { consequence } = textsOf({ kind, code })
  return { connection, kind, code, reason, consequence, since: since.toISOString(), people, leavers, runId }
}

function nameOf({ connection, kind }: Condition): string {
  return `${connection} ${kind}`
}
