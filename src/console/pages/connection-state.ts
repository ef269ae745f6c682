import type { Alert } from '../../contract/control/alerts.ts'
import type { ConnectionStatus, Run } from '../../contract/control/shapes.ts'
import { type Html, html } from '../../web/html.ts'
import { joined, type Tone } from '../../web/parts.ts'
import { formatInstant, formatRelativeTime, number, pluralize } from '../../web/words.ts'
import { capital, changesIn, runHref, runStates, sentence } from '../site/words.ts'

type ConnectionState = { readonly state: string; readonly tone: Tone; readonly text: Html }

/** Alerts that do not affect whether the connection is in sync. */
const unrelatedAlerts: ReadonlySet<Alert['kind']> = new Set(['hr_mail', 'settings_differ'])

/** The state of a connection: a word, a tone and a sentence. It is in sync only if nothing waits, nobody differs and no alert is open. */
export function connectionState(
  connection: ConnectionStatus,
  now: Date,
  alerts: readonly Alert[],
  delay?: string,
): ConnectionState {
  const { blocked, active, paused, last } = connection
  if (blocked) {
    const again = blocked.probeAt && html` Next attempt: ${formatRelativeTime(blocked.probeAt, now)}.`
    const text = html`The platform has refused this connection since ${formatInstant(blocked.since)}: ${blocked.reason}.${again}`
    return { state: 'Blocked', tone: 'bad', text }
  }
  if (active) return stateOfActiveRun(active, alerts, delay)
  if (paused) {
    const until = paused.until === null ? 'until somebody ends the pause' : html`until ${formatInstant(paused.until)}`
    const text = html`${paused.by} paused it ${formatRelativeTime(paused.since, now)}, ${until}: ${paused.reason}.`
    return { state: 'Paused', tone: 'wait', text }
  }
  return (
    stateOfLastRun(last) ??
    stateOfPeople(connection) ??
    stateOfAlerts(connection, alerts) ?? {
      state: 'In sync',
      tone: 'good',
      text: html`The platform matches the last accepted data from HR.`,
    }
  )
}

/** Null if the last run was accepted. */
function stateOfLastRun(last: Run | null): ConnectionState | null {
  if (last === null) return { state: 'New', tone: 'plain', text: html`Nothing has been read yet.` }
  const reason = html`${last.reason ?? 'no reason was recorded'}. Nothing was changed on the platform.`
  switch (last.state) {
    case 'failed':
      return { state: 'Failed', tone: 'bad', text: html`The last run failed: ${reason}` }
    case 'rejected':
      return { state: 'Rejected', tone: 'wait', text: html`The last plan was rejected: ${reason}` }
    case 'cancelled':
      return {
        state: 'Cancelled',
        tone: 'wait',
        text: html`The last run was cancelled before it delivered its plan.`,
      }
    default:
      return null
  }
}

/** Null if there are no problems, nobody needs attention, and nothing waits. */
function stateOfPeople({
  people,
  problems,
  blockedPeople,
  foreign,
  inDoubt,
  inbox,
}: ConnectionStatus): ConnectionState | null {
  const refused = problems.refused.people + problems.undelivered.people
  if (refused > 0) {
    const text = html`${pluralize(refused, 'person', 'people')} could not be delivered; the others were.`
    return { state: 'With problems', tone: 'wait', text }
  }
  const blockedCount = blockedPeople.people + blockedPeople.rows
  if (blockedCount > 0) {
    const subjects = [
      blockedPeople.people > 0 && pluralize(blockedPeople.people, 'person', 'people'),
      blockedPeople.rows > 0 &&
        pluralize(blockedPeople.rows, 'row without a readable key', 'rows without a readable key'),
    ]
    const verb = blockedCount === 1 ? 'needs' : 'need'
    const text = html`${joined(subjects, ' and ')} ${verb} attention; the others are delivered.`
    return { state: 'With problems', tone: 'wait', text }
  }
  if (foreign.people > 0) {
    const text = html`${pluralize(foreign.people, 'person is', 'people are')} on the platform but unknown to HR, and may have left; HR’s data is delivered.`
    return { state: 'With problems', tone: 'wait', text }
  }
  if (inbox !== null && inbox.rejected > 0) {
    const text = html`${pluralize(inbox.rejected, 'event')} could not be read; the others are delivered.`
    return { state: 'With problems', tone: 'wait', text }
  }
  if (people.due > 0) {
    const text = html`${pluralize(people.due, 'person waits', 'people wait')} to be delivered.`
    return { state: 'Pending', tone: 'wait', text }
  }
  if (inbox !== null && inbox.pending > 0) {
    const text = html`${pluralize(inbox.pending, 'event waits', 'events wait')} to be read.`
    return { state: 'Pending', tone: 'wait', text }
  }
  if (inDoubt === null) return null
  const text = html`Rollcall is checking ${pluralize(inDoubt.people, 'person', 'people')}: the outcome of a request about them is unknown.`
  return { state: 'In doubt', tone: 'wait', text }
}

/** Null if no alert of the connection is open. A source may have failed though a run of events that came later ended well. */
function stateOfAlerts({ name }: ConnectionStatus, alerts: readonly Alert[]): ConnectionState | null {
  const open = alerts.find(({ connection, kind }) => connection === name && !unrelatedAlerts.has(kind))
  return open === undefined ? null : { state: 'With problems', tone: 'wait', text: html`${sentence(open.reason)}` }
}

function stateOfActiveRun(run: Run, alerts: readonly Alert[], delay: string | undefined): ConnectionState {
  const { name, tone } = runStates[run.state]
  const all = changesIn(run.counts)
  switch (run.state) {
    case 'held': {
      // The top of the page shows why it is held.
      const since = alerts.find(({ runId }) => runId === run.id)?.since ?? run.createdAt
      const text = html`<a href="${runHref(run.id)}/decision">A plan waits for a decision</a> since ${formatInstant(since)}.`
      return { state: name, tone, text }
    }
    case 'delivering':
      return {
        state: name,
        tone,
        text: html`${number(run.confirmed)} of ${pluralize(all, 'change')} acknowledged by the platform.${delay && html` ${capital(delay)}.`}`,
      }
    case 'reading':
      return { state: name, tone, text: html`Rollcall is reading HR’s source.` }
    default:
      return { state: name, tone, text: html`A run is about to start.` }
  }
}
