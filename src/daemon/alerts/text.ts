import { pluralize } from '../../identity/pluralize.ts'
import type { Alert } from '../../store/alerts/alerts.ts'
import { escapeText } from '../../text/escape.ts'
import { formatTime, utc } from '../../text/time.ts'
import type { AlertChange, Message } from '../config/channel.ts'
import { alertKinds, textsOf } from './kinds.ts'
import type { AlertLink } from './links.ts'

/** The text of a notice in chat and mail. */
export type NoticeText = {
  /** The same for all messages about one alert, so that mail programs put them together. */
  readonly subject: string
  readonly lines: readonly string[]
  readonly link: string | null
}

/** A reason may quote the name of a file or of a column at any length. */
const reasonLength = 600
const groupReasonLength = 200
/** A chat takes 3,000 characters in one message. */
const maxGroupLength = 2500

/** The text of a notice for people: counts and reasons without keys and values of people. Quoted texts cannot add lines. */
export function noticeText(notice: Message, linkOf: AlertLink): NoticeText {
  const { subject, lines, link } = wordsOf(notice, linkOf)
  return { subject: escapeText(subject), lines: lines.map(escapeText), link }
}

function wordsOf(notice: Message, linkOf: AlertLink): NoticeText {
  switch (notice.type) {
    case 'raised':
    case 'cleared': {
      const { alert } = notice
      const { connection } = alert
      return {
        subject: `[Rollcall] ${connection}: ${textsOf(alert).headline}`,
        lines: detailLines(notice, reasonLength),
        link: linkOf(alert),
      }
    }
    case 'group': {
      const { changes } = notice
      const connections = new Set(changes.map(({ alert }) => alert.connection))
      const [connection = ''] = connections
      const where = connections.size === 1 ? connection : pluralize(connections.size, 'connection')
      return {
        subject: `[Rollcall] ${where}: ${pluralize(changes.length, 'alert')}`,
        lines: [...groupLines(changes, linkOf), 'See: rollcall alerts'],
        link: linkOf(null),
      }
    }
    case 'test':
      return {
        subject: '[Rollcall] test',
        lines: ['This is a test of the channel. Nothing is wrong.', 'See: rollcall alerts'],
        link: linkOf(null),
      }
    default:
      return notice satisfies never
  }
}

/** The changes one below the other, by connection, as far as a message has room for them. */
function groupLines(changes: readonly AlertChange[], linkOf: AlertLink): string[] {
  const lines: string[] = []
  let more = changes.length
  for (const change of changes.toSorted(byConnection)) {
    const block = blockOf(change, linkOf).map(escapeText)
    if (lines.length > 0 && [...lines, ...block].join('\n').length > maxGroupLength) break
    lines.push(...block, '')
    more--
  }
  return more > 0 ? [...lines, `And ${pluralize(more, 'more alert')}.`] : lines
}

function byConnection({ alert: a }: AlertChange, { alert: b }: AlertChange): number {
  return a.connection.localeCompare(b.connection) || a.kind.localeCompare(b.kind)
}

function blockOf(change: AlertChange, linkOf: AlertLink): string[] {
  const { alert } = change
  const link = linkOf(alert)
  return [
    `${alert.connection}: ${textsOf(alert).headline}`,
    ...detailLines(change, groupReasonLength),
    ...(link === null ? [] : [link]),
  ]
}

function detailLines(change: AlertChange, maxReasonLength: number): string[] {
  const { alert } = change
  const { command } = alertKinds[alert.kind]
  return [
    stateLine(change),
    shorten(alert.reason, maxReasonLength + 1),
    ...countLine(alert),
    ...(isOver(change) ? [] : [`If nobody acts: ${textsOf(alert).consequence}`]),
    `See: ${command(alert)}`,
  ]
}

/** Also of an alert that ended before its beginning could be sent. */
function isOver({ type, alert }: AlertChange): boolean {
  return type === 'cleared' || alert.clearedAt !== null
}

function stateLine(change: AlertChange): string {
  const { alert, sentBefore } = change
  const since = formatTime(alert.since, utc)
  if (isOver(change))
    return `Over since ${formatTime(alert.clearedAt ?? alert.since, utc)}. It had been so since ${since}.`
  return sentBefore > 0 ? `Reminder: this is so since ${since}.` : `Since ${since}.`
}

function countLine({ people, leavers }: Alert): string[] {
  if (!people) return []
  return [`Concerns ${pluralize(people, 'person', 'people')}, ${pluralize(leavers ?? 0, 'leaver')} among them.`]
}

/** The text, or its beginning with an ellipsis, in at most this many characters. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  // Half of a sign is no text.
  return `${text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
