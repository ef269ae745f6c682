import type { Alert } from '../../contract/control/alerts.ts'
import { address } from '../../web/address.ts'
import { actionLink } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card } from '../../web/layout.ts'
import { formatRelativeTime, number, pluralize } from '../../web/words.ts'
import type { SharedContext } from '../site/site.ts'
import { alertTitles, guardsInWords, runHref, sentence, withCode } from '../site/words.ts'

const maxAlerts = 50

/** Alerts of the kinds above come first. */
const urgency: readonly Alert['kind'][] = [
  'emergency',
  'leaver_late',
  'unaccounted',
  'blocked',
  'expiring',
  'held',
  'run_failed',
  'stale',
  'overdue',
  'repeated',
  'stated_departures',
  'blockedPeople',
  'foreign',
  'not_effective',
  'directory',
  'problems',
  'paused',
  'hr_mail',
  'settings_differ',
]

type AlertListOptions = {
  /** The reason why audit entries cannot be signed; undefined if they can. */
  readonly unsigned: string | undefined
  /** Whether all alerts are shown, or the first ones with a link to the rest. */
  readonly isWhole: boolean
}

/** The open alerts, most urgent first, each with what helps. */
export function alertList(
  alerts: readonly Alert[],
  context: SharedContext,
  { unsigned, isWhole }: AlertListOptions,
): Html {
  if (alerts.length === 0 && unsigned === undefined) {
    return html`<p class="notice good calm">There are no alerts.</p>`
  }
  const sorted = alerts.toSorted((a, b) => urgency.indexOf(a.kind) - urgency.indexOf(b.kind))
  const shown = isWhole ? sorted : sorted.slice(0, maxAlerts)
  const items = shown.map(
    (
      alert,
    ) => html`<li><div><b>${alertTitles[alert.kind]}</b> <span class="faint">${alert.connection} · ${formatRelativeTime(alert.since, context.now)}</span>
<p class="reason">${withCode(reasonOf(alert))}</p>${peopleText(alert)}
<p class="hint">If nobody acts: ${alert.consequence}</p></div>
<div class="row">${answerTo(alert, context)}</div></li>`,
  )
  return card({
    title: html`Alerts <span class="count">${number(alerts.length + (unsigned === undefined ? 0 : 1))}</span>`,
    id: 'needs',
    tone: 'wait',
    content: html`<ul class="needs">${items}${unsigned !== undefined && html`<li><div><b>Audit entries cannot be signed</b><p class="reason">${unsigned}</p></div></li>`}</ul>${shown.length < alerts.length && html`<p class="hint"><a href="${address('/', { alerts: 'all' })}">Show all ${number(alerts.length)} alerts</a></p>`}`,
  })
}

function reasonOf({ kind, reason }: Alert): string {
  return sentence(kind === 'held' || kind === 'expiring' ? guardsInWords(reason) : reason)
}

function peopleText({ people, leavers }: Alert): Html | null {
  if (people === null || people === 0) return null
  if (leavers === people) return html`<p class="hint">${pluralize(leavers, 'leaver')}</p>`
  const among = leavers !== null && leavers > 0 ? `, ${pluralize(leavers, 'leaver')} among them` : ''
  return html`<p class="hint">${pluralize(people, 'person', 'people')}${among}</p>`
}

/** The link or button that helps with an alert. */
function answerTo(alert: Alert, context: SharedContext): Renderable {
  const { connection, kind, code, runId } = alert
  // Only the identity system sends what is missing.
  if (code === 'not_pushed' || code === 'no_token') return null
  switch (kind) {
    case 'held':
    case 'expiring':
      return runId && actionLink({ href: `${runHref(runId)}/decision`, name: 'View the plan', kind: 'main' })
    case 'paused':
      return actionLink({
        href: `/schedules/${encodeURIComponent(connection)}/pause/end`,
        name: 'End the pause',
        label: `End the pause of ${connection}`,
        notAllowed: context.notAllowed('resumeConnection'),
      })
    case 'hr_mail':
      return actionLink({ href: '/problems/hr', name: 'View the list for HR' })
    case 'settings_differ':
      return null
    case 'blocked':
      return actionLink({
        href: `/connections/${encodeURIComponent(connection)}/unblock`,
        name: 'Try it now',
        notAllowed: context.notAllowed('unblockConnection'),
      })
    case 'run_failed':
    case 'repeated':
      return runId && actionLink({ href: runHref(runId), name: 'View the run' })
    case 'stale':
    case 'overdue':
      return actionLink({
        href: `/connections/${encodeURIComponent(connection)}/sync`,
        name: 'Read now',
        notAllowed: context.notAllowed('startRun'),
      })
    case 'problems':
    case 'blockedPeople':
    case 'foreign':
    case 'leaver_late':
      return actionLink({ href: address('/problems', { connection }), name: 'View the people' })
    case 'emergency':
    case 'stated_departures':
      return actionLink({ href: `${address('/problems', { connection })}#stated`, name: 'View the people' })
    case 'unaccounted':
      return actionLink({
        href: `/connections/${encodeURIComponent(connection)}/statement`,
        name: 'View the statement',
      })
    case 'directory':
      return actionLink({ href: address('/effective', { connection }), name: 'View the accounts' })
    case 'not_effective':
      return actionLink({ href: address('/effective', { connection }), name: 'View the people' })
    default:
      return kind satisfies never
  }
}
