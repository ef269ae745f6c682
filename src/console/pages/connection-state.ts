import type { Alert } from '../../contract/control/alerts.ts'
import { type ConnectionStateName, concernsSync } from '../../contract/control/connection-states.ts'
import type { ConnectionStatus, Run } from '../../contract/control/shapes.ts'
import { type Html, html } from '../../web/html.ts'
import { joined, type Tone } from '../../web/parts.ts'
import { formatInstant, formatRelativeTime, number, pluralize } from '../../web/words.ts'
import { capital, countChanges, runHref, runStates, sentence } from '../site/words.ts'

/** The states of a connection as the console names them. */
export const stateNames: Readonly<Record<ConnectionStateName, { readonly name: string; readonly tone: Tone }>> = {
  blocked: { name: 'Blocked', tone: 'bad' },
  waiting: runStates.waiting,
  reading: runStates.reading,
  planned: runStates.planned,
  held: runStates.held,
  delivering: runStates.delivering,
  paused: { name: 'Paused', tone: 'wait' },
  new: { name: 'New', tone: 'plain' },
  failed: { name: 'Failed', tone: 'bad' },
  rejected: { name: 'Rejected', tone: 'wait' },
  cancelled: { name: 'Cancelled', tone: 'wait' },
  problems: { name: 'With problems', tone: 'wait' },
  pending: { name: 'Pending', tone: 'wait' },
  inDoubt: { name: 'In doubt', tone: 'wait' },
  inSync: { name: 'In sync', tone: 'good' },
}

type StateContext = {
  readonly now: Date
  readonly alerts: readonly Alert[]
  /** Why no request gets through to the platform. */
  readonly delay?: string | undefined
}

/** The state of a connection: a word, a tone and a sentence. */
export function connectionState(
  connection: ConnectionStatus,
  context: StateContext,
): { readonly state: string; readonly tone: Tone; readonly text: Html } {
  const { name, tone } = stateNames[connection.state]
  return { state: name, tone, text: textOf(connection, context) }
}

function textOf(connection: ConnectionStatus, { now, alerts, delay }: StateContext): Html {
  const { state, blocked, active, paused, last, inDoubt } = connection
  switch (state) {
    case 'blocked':
      return blocked ? blockedText(blocked, now) : html``
    case 'held':
    case 'delivering':
    case 'reading':
    case 'planned':
    case 'waiting':
      return active ? activeText(active, alerts, delay) : html``
    case 'paused':
      return paused ? pausedText(paused, now) : html``
    case 'new':
      return html`Nothing has been read yet.`
    case 'failed':
      return html`The last run failed: ${withoutEffect(last)}`
    case 'rejected':
      return html`The last plan was rejected: ${withoutEffect(last)}`
    case 'cancelled':
      return html`The last run was cancelled before it delivered its plan.`
    case 'problems':
      return problemsText(connection, alerts)
    case 'pending':
      return pendingText(connection)
    case 'inDoubt':
      return html`Rollcall is checking ${pluralize(inDoubt?.people ?? 0, 'person', 'people')}: the outcome of a request about them is unknown.`
    case 'inSync':
      return html`The platform matches the last accepted data from HR.`
    default:
      return state satisfies never
  }
}

function blockedText({ since, reason, probeAt }: NonNullable<ConnectionStatus['blocked']>, now: Date): Html {
  const again = probeAt && html` Next attempt: ${formatRelativeTime(probeAt, now)}.`
  return html`The platform has refused this connection since ${formatInstant(since)}: ${reason}.${again}`
}

function pausedText({ by, since, until, reason }: NonNullable<ConnectionStatus['paused']>, now: Date): Html {
  const end = until === null ? 'until somebody ends the pause' : html`until ${formatInstant(until)}`
  return html`${by} paused it ${formatRelativeTime(since, now)}, ${end}: ${reason}.`
}

function withoutEffect(last: Run | null): Html {
  return html`${last?.reason ?? 'no reason was recorded'}. Nothing was changed on the platform.`
}

function problemsText(connection: ConnectionStatus, alerts: readonly Alert[]): Html {
  const { name, problems, blockedPeople, foreign, leftOut, inbox } = connection
  const refused = problems.refused.people + problems.undelivered.people
  if (refused > 0) return html`${pluralize(refused, 'person', 'people')} could not be delivered; the others were.`
  const blockedCount = blockedPeople.people + blockedPeople.rows
  if (blockedCount > 0) {
    const subjects = [
      blockedPeople.people > 0 && pluralize(blockedPeople.people, 'person', 'people'),
      blockedPeople.rows > 0 &&
        pluralize(blockedPeople.rows, 'row without a readable key', 'rows without a readable key'),
    ]
    return html`${joined(subjects, ' and ')} ${blockedCount === 1 ? 'needs' : 'need'} attention; the others are delivered.`
  }
  if (foreign.people > 0)
    return html`${pluralize(foreign.people, 'person is', 'people are')} on the platform but unknown to HR, and may have left; HR’s data is delivered.`
  if (leftOut !== undefined)
    return html`${pluralize(leftOut.people, 'person waits', 'people wait')} for a decision since a part of a plan was approved without them; HR’s other data is delivered.`
  if (inbox !== null && inbox.rejected > 0)
    return html`${pluralize(inbox.rejected, 'event')} could not be read; the others are delivered.`
  const open = alerts.find((alert) => alert.connection === name && concernsSync(alert.kind))
  return open === undefined ? html`` : html`${sentence(open.reason)}`
}

function pendingText({ people, inbox }: ConnectionStatus): Html {
  if (people.due > 0) return html`${pluralize(people.due, 'person waits', 'people wait')} to be delivered.`
  return html`${pluralize(inbox?.pending ?? 0, 'event waits', 'events wait')} to be read.`
}

function activeText(run: Run, alerts: readonly Alert[], delay: string | undefined): Html {
  const all = countChanges(run.counts)
  switch (run.state) {
    case 'held': {
      // The top of the page shows why it is held.
      const since = alerts.find(({ runId }) => runId === run.id)?.since ?? run.createdAt
      return html`<a href="${runHref(run.id)}/decision">A plan waits for a decision</a> since ${formatInstant(since)}.`
    }
    case 'delivering':
      return html`${number(run.confirmed)} of ${pluralize(all, 'change')} acknowledged by the platform.${delay && html` ${capital(delay)}.`}`
    case 'reading':
      return html`Rollcall is reading HR’s source.`
    default:
      return html`A run is about to start.`
  }
}
