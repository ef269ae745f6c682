import { pluralize } from '../../identity/pluralize.ts'
import { escapeText } from '../../text/escape.ts'
import { formatTime } from '../../text/time.ts'
import type { Mail } from '../alerts/smtp.ts'
import type { ConnectionWeek } from './read.ts'

type WeeklyMail = {
  readonly from: Date
  readonly to: Date
  readonly now: Date
  readonly timeZone: string
  /** The console, or null. */
  readonly link: string | null
  readonly messageId: string
}

/** How many connections, and lines of one kind, a mail names. */
const maxConnections = 100
const maxListed = 10
const lateMs = 60 * 60_000

/** The mail about a week: counts, times and the names of those who decided, and no value of a person. */
export function weeklyMail(
  week: readonly ConnectionWeek[],
  { from, to, now, timeZone, link, messageId }: WeeklyMail,
): Mail {
  const urgent = week.filter(needsAttention)
  const shown = [...urgent, ...week.filter((one) => !needsAttention(one))].slice(0, maxConnections)
  const attention = urgent.length === 0 ? 'nothing needs attention' : `${urgent.length} with something to do`
  const time = (at: Date) => formatTime(at, timeZone)
  const lines = [
    `From ${time(from)} to ${time(to)}. Times are of ${timeZone}.`,
    ...(now.getTime() - to.getTime() > lateMs ? ['This mail is late: no process could send it when it was due.'] : []),
    '',
    ...shown.flatMap((one) => [...connectionLines(one, time), '']),
    ...(week.length > shown.length ? [`and ${week.length - shown.length} more connections`, ''] : []),
    ...(link === null ? [] : [link]),
  ]
  return {
    subject: `[Rollcall] Week until ${time(to).slice(0, 10)}: ${pluralize(week.length, 'connection')}, ${attention}`,
    text: `${lines.map(escapeText).join('\n')}\n`,
    date: now,
    messageId,
  }
}

function needsAttention({
  alerts,
  problems,
  blocked,
  unacknowledged,
  stated,
  held,
  readings,
}: ConnectionWeek): boolean {
  const counts = [alerts.length, problems, blocked, unacknowledged, stated, readings?.missed.length ?? 0]
  return counts.some((count) => count > 0) || held.some(({ by }) => by === null)
}

type Time = (at: Date) => string

function connectionLines(week: ConnectionWeek, time: Time): string[] {
  const { connection, joiners, changed, leavers, problems, blocked, heldBack, stated, alerts } = week
  const open = [
    ...(problems === 0 ? [] : [`${people(problems)} whom the platform does not have as HR says`]),
    ...(blocked === 0 ? [] : [`${people(blocked)} who cannot be sent until HR corrects something`]),
    ...(heldBack === 0 ? [] : [`${people(heldBack)} held back from leaving`]),
    ...(stated === 0 ? [] : [`${pluralize(stated, 'stated departure')} that waits for a person`]),
  ]
  return [
    connection,
    `  Read: ${readText(week, time)}`,
    `  Changes: ${pluralize(joiners, 'joiner')}, ${changed} changed, ${pluralize(leavers, 'leaver')}`,
    `  Departures: ${departuresText(week)}`,
    ...heldLines(week, time),
    `  Open alerts: ${alerts.length === 0 ? 'none' : joinTexts(alerts)}`,
    ...(open.length === 0 ? [] : [`  Open: ${open.join('; ')}`]),
  ]
}

function readText({ readings, failed }: ConnectionWeek, time: Time): string {
  const failures = failed === 0 ? '' : `; ${pluralize(failed, 'run')} failed`
  if (readings === null) return `without a schedule of its own${failures}`
  const { due, missed } = readings
  const made = `${due - missed.length} of ${pluralize(due, 'time')}`
  return `${made}${missed.length === 0 ? '' : `; not at ${joinTexts(missed.map(time))}`}${failures}`
}

function departuresText({ acknowledged, unacknowledged }: ConnectionWeek): string {
  const waiting = unacknowledged === 0 ? '' : `; ${unacknowledged} not acknowledged yet`
  if (acknowledged === null) return `none acknowledged${waiting}`
  return `${acknowledged.people} acknowledged, the slowest after ${duration(acknowledged.slowestSeconds)}${waiting}`
}

function heldLines({ held }: ConnectionWeek, time: Time): string[] {
  const more = held.length - maxListed
  return [
    ...held.slice(0, maxListed).map(({ id, state, by, at }) => {
      const run = `  Held plan: run ${id.slice(0, 8)}`
      return by === null ? `${run} waits since ${time(at)}` : `${run} ${decision(state)} by ${by}, ${time(at)}`
    }),
    ...(more > 0 ? [`  and ${pluralize(more, 'more held plan')}`] : []),
  ]
}

function decision(state: string): string {
  return state === 'rejected' ? state : 'approved'
}

function joinTexts(texts: readonly string[]): string {
  const shown = texts.slice(0, maxListed).join(', ')
  return texts.length > maxListed ? `${shown} and ${texts.length - maxListed} more` : shown
}

function people(count: number): string {
  return pluralize(count, 'person', 'people')
}

/** `3 h 12 min`, and whole days from two days on. */
function duration(seconds: number): string {
  const minutes = Math.ceil(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`
}
