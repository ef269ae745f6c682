import type { AlertKind } from '../../contract/control/alerts.ts'
import type { Alert } from '../../store/alerts/alerts.ts'
import { visible } from '../../text/visible.ts'
import type { Notice } from '../config/channel.ts'
import type { AlertLink } from './links.ts'

/** A notice as people read it, in chat and mail. */
export type NoticeText = {
  /** The same for all messages about one alert, so that mail programs put them together. */
  readonly subject: string
  readonly lines: readonly string[]
  readonly link: string | null
}

/** A reason may quote the name of a file or of a column at any length. */
const reasonLength = 600

const headlines: Readonly<Record<AlertKind, string>> = {
  blocked: 'the platform refuses all requests',
  overdue: 'deliveries are late',
  repeated: 'a batch is attempted over and over',
  held: 'a plan waits for an approval',
  expiring: 'an approval runs out',
  run_failed: 'a run failed',
  problems: 'the platform refuses leaving dates',
  unserved: 'people may have left, and the platform was not told',
  foreign: 'only the platform knows people',
  leaver_late: 'departures are late',
  stale: 'HR was not read',
  paused: 'is still paused',
  settings_differ: 'processes have different settings',
}

/** The command that shows more about an alert, where no link does. */
const commands: Readonly<Record<AlertKind, (alert: Alert) => string>> = {
  blocked: () => 'rollcall status',
  overdue: ofConnection('problems'),
  repeated: ofRun,
  held: ofRun,
  expiring: ofRun,
  run_failed: ofRun,
  problems: ofConnection('problems'),
  unserved: ofConnection('problems'),
  foreign: ofConnection('problems'),
  leaver_late: () => 'rollcall report leavers',
  stale: ofConnection('runs'),
  settings_differ: () => 'rollcall status',
  paused: ({ connection }) => `rollcall resume ${connection}`,
}

/** What a notice says to people: counts and reasons, no key and no value of a person. Each line stays one, whatever it quotes. */
export function noticeText(notice: Notice, linkOf: AlertLink): NoticeText {
  const { subject, lines, link } = wordsOf(notice, linkOf)
  return { subject: visible(subject), lines: lines.map(visible), link }
}

function wordsOf(notice: Notice, linkOf: AlertLink): NoticeText {
  switch (notice.type) {
    case 'raised':
    case 'cleared': {
      const { alert } = notice
      const { connection, kind } = alert
      return {
        subject: `[Rollcall] ${connection}: ${headlines[kind]}`,
        lines: [stateLine(notice), short(alert.reason, reasonLength), ...countLine(alert), `See: ${commandFor(alert)}`],
        link: linkOf(alert),
      }
    }
    case 'summary':
      return {
        subject: '[Rollcall] more alerts',
        lines: [
          `${counted(notice.raised, 'more alert')}${notice.cleared > 0 ? `, and ${counted(notice.cleared, 'alert')} over` : ''}.`,
          `More than ${notice.perHour} messages in an hour are not sent one by one.`,
          'See: rollcall alerts',
        ],
        link: linkOf(null),
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

function short(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text
}

function stateLine({ type, alert, sentBefore }: Extract<Notice, { alert: Alert }>): string {
  const since = minute(alert.since)
  if (type === 'cleared') return `Over since ${minute(alert.clearedAt ?? alert.since)}. It had been so since ${since}.`
  return sentBefore > 0 ? `Reminder: this is so since ${since}.` : `Since ${since}.`
}

function countLine({ people, leavers }: Alert): string[] {
  if (!people) return []
  return [
    `${counted(people, 'person', 'people')} wait${people === 1 ? 's' : ''}, ${counted(leavers ?? 0, 'leaver')} among them.`,
  ]
}

function commandFor(alert: Alert): string {
  return commands[alert.kind](alert)
}

function ofRun(alert: Alert): string {
  return alert.runId === null ? ofConnection('runs')(alert) : `rollcall run ${alert.runId}`
}

function ofConnection(command: string): (alert: Alert) => string {
  return ({ connection }) => `rollcall ${command} --connection ${connection}`
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

function minute(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
