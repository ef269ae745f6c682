import type { Alert, AlertChannel, AlertTest } from '../../contract/control/alerts.ts'
import { escapeText, formatInstant, type Paint, pluralize } from './text.ts'

/** What needs attention, one line each. */
export function alertLines(alerts: readonly Alert[], paint: Paint): string[] {
  return alerts.map((alert) => `${headline(alert, paint)} (${sentText(alert)})`)
}

/** What needs attention, the messages sent about it, and where alerts go. */
export function renderAlerts(
  { data, channels }: { readonly data: readonly Alert[]; readonly channels: readonly AlertChannel[] },
  paint: Paint,
): string {
  return [
    ...(data.length === 0
      ? ['No alerts.']
      : data.flatMap((alert) => [headline(alert, paint), ...details(alert, paint)])),
    '',
    paint('bold', 'Channels'),
    ...channels.map((channel) => `  ${escapeText(channel.name)} (${channel.type}): ${escapeText(scopeText(channel))}`),
  ].join('\n')
}

/** The result of each test message, one line each. */
export function renderAlertTests({ data }: { readonly data: readonly AlertTest[] }, paint: Paint): string {
  return data
    .map(({ channel, type, failure }) =>
      failure === null
        ? `${paint('green', '✔')} ${channel} (${type}): sent`
        : `${paint('red', '✖')} ${channel} (${type}): ${escapeText(failure)}`,
    )
    .join('\n')
}

function headline({ connection, kind, since, reason }: Alert, paint: Paint): string {
  return `${paint('red', 'alert')}     ${connection}: ${kind} since ${formatInstant(since)}: ${escapeText(reason)}`
}

function details({ consequence, notified, link }: Alert, paint: Paint): string[] {
  const lines = notified.map(({ channel, sent, notifiedAt, lastFailure, nextAt }) => {
    const delivered =
      notifiedAt === null ? 'nothing sent yet' : `${pluralize(sent, 'message')}, the last ${formatInstant(notifiedAt)}`
    const next = nextAt === null ? '' : `, next ${formatInstant(nextAt)}`
    return `  ${channel}: ${delivered}${next}${lastFailure === null ? '' : `; ${paint('yellow', escapeText(lastFailure))}`}`
  })
  return [`  If nobody acts: ${escapeText(consequence)}`, ...lines, ...(link === null ? [] : [`  ${escapeText(link)}`])]
}

function sentText({ notified }: Alert): string {
  const channels = notified.filter(({ channel }) => channel !== 'log')
  const failing = channels.filter(({ lastFailure }) => lastFailure !== null)
  if (failing.length > 0)
    return `not sent: ${failing.map(({ channel, lastFailure }) => `${channel}: ${escapeText(lastFailure ?? '')}`).join('; ')}`
  const times = (channels.length === 0 ? notified : channels).flatMap(({ notifiedAt }) => notifiedAt ?? [])
  const last = times.toSorted().at(-1)
  if (last === undefined) return 'not sent yet'
  return `${channels.length === 0 ? 'logged' : 'sent'} ${formatInstant(last)}`
}

function scopeText({ connections, kinds, perHour }: AlertChannel): string {
  const kindsText = kinds === null ? 'all alerts' : kinds.join(', ')
  const connectionsText = connections === null ? '' : ` of ${connections.join(', ')}`
  return `${kindsText}${connectionsText}${perHour === null ? '' : `, at most ${perHour} messages an hour`}`
}
