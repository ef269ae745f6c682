import type { EmploymentStatus } from '../../contract/platform/personnel.ts'
import { tokenField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { badge, type Tone } from '../../web/parts.ts'
import { type Column, table } from '../../web/tables.ts'
import { duration, formatInstant, number, pluralize } from '../../web/words.ts'
import type { Attempt, AttemptState } from '../identity-sync/attempts.ts'
import { type PeopleQuery, pagePrefix, peopleHref, writeQuery } from './query.ts'
import { statuses, statusNames } from './status-names.ts'

/** The interval at which the page reloads while a sync runs. */
export const watchSeconds = 3

type Panel = {
  readonly attempts: readonly Attempt[]
  readonly query: PeopleQuery
  readonly formToken: string
  readonly now: Date
}

const stateNames: Readonly<Record<AttemptState, string>> = {
  running: 'Running',
  finished: 'Finished',
  failed: 'Failed',
  interrupted: 'Interrupted',
}

const stateTones: Readonly<Record<AttemptState, Tone>> = {
  running: 'busy',
  finished: 'good',
  failed: 'bad',
  interrupted: 'bad',
}

/** The state of the identity sync with the button that starts one. */
export function syncPanel({ attempts, query, formToken, now }: Panel): Html {
  const running = runningAttempt(attempts)
  return html`<section class="card sync" aria-labelledby="sync">
<div>
<h2 id="sync">Identity sync</h2>
<div role="status">${running ? progress(running, query, now) : lastResult(attempts[0])}</div>
</div>
${
  running === null &&
  html`<form method="post" action="${pagePrefix}/sync">
${tokenField(formToken)}
<input type="hidden" name="account" value="${query.account}">
<input type="hidden" name="back" value="${writeQuery(query)}">
<button class="main">Sync now</button>
</form>`
}
</section>`
}

/** The table of the last syncs, the latest first. */
export function syncHistory(attempts: readonly Attempt[]): Html {
  return html`<section class="card" aria-labelledby="syncs">
<h2 id="syncs">Last syncs</h2>
${
  attempts.length === 0
    ? html`<p class="empty">There has been no sync yet.</p>`
    : table({
        caption: `The last ${attempts.length} identity syncs, the latest first`,
        columns,
        rows: attempts,
        empty: null,
      })
}
</section>`
}

/** The sync that runs now, or null. */
export function runningAttempt(attempts: readonly Attempt[]): Attempt | null {
  return attempts.find(({ state }) => state === 'running') ?? null
}

function progress(attempt: Attempt, query: PeopleQuery, now: Date): Html {
  const elapsedMs = now.getTime() - attempt.startedAt.getTime()
  const watching = query.watch
    ? html`This page reloads every ${watchSeconds} seconds. <a href="${peopleHref({ ...query, watch: false })}">Stop reloading</a>`
    : html`<a href="${peopleHref({ ...query, watch: true })}">Follow the sync</a>`
  return html`<p class="state"><span class="pulse" aria-hidden="true"></span><strong>Sync running</strong> since ${formatInstant(attempt.startedAt)}, ${duration(elapsedMs)} so far, started by ${starter(attempt)}.</p>
<p class="hint">${watching}</p>`
}

function lastResult(attempt: Attempt | undefined): Html {
  if (attempt === undefined) return html`<p class="state">There has been no sync yet.</p>`
  const { result } = attempt
  if (result === null) {
    return html`<p class="state"><strong class="bad">The last sync ${attempt.state === 'failed' ? 'failed' : 'was interrupted'}</strong>, started ${formatInstant(attempt.startedAt)} by ${starter(attempt)}.</p>
<p class="hint">${reason(attempt.state)}</p>`
  }
  return html`<p class="state"><strong>Last sync</strong> ${formatInstant(attempt.startedAt)}, started by ${starter(attempt)}.</p>
<p class="hint">${pluralize(result.identities, 'HR record', 'HR records')} in ${duration(result.duration_ms)}: ${pluralize(result.created, 'person', 'people')} created, ${number(result.changed)} changed.</p>`
}

function reason(state: AttemptState): string {
  return state === 'failed'
    ? 'It changed nothing. The log of the platform has the reason.'
    : 'It changed nothing. Its process ended before the sync did.'
}

const columns: readonly Column<Attempt>[] = [
  { name: 'Started', kind: 'row', cell: ({ startedAt }) => formatInstant(startedAt) },
  { name: 'By', kind: 'long', cell: starter },
  { name: 'Result', cell: outcome },
  { name: 'Took', kind: 'figure', cell: ({ result }) => result && duration(result.duration_ms) },
  { name: 'HR records', kind: 'figure', cell: ({ result }) => result && number(result.identities) },
  { name: 'Created', kind: 'figure', cell: ({ result }) => result && number(result.created) },
  { name: 'Changed', kind: 'figure', cell: ({ result }) => result && number(result.changed) },
  { name: 'People after the sync', cell: ({ result }) => result && statusCounts(result.counts) },
]

function outcome({ state, result }: Attempt): Html {
  const hint = state === 'running' ? 'It has not ended yet.' : reason(state)
  return html`${badge(stateNames[state], stateTones[state])}${result === null && html`<span class="hint">${hint}</span>`}`
}

function statusCounts(counts: Readonly<Record<EmploymentStatus, number>>): Html {
  const present = statuses.filter((status) => (counts[status] ?? 0) > 0)
  if (present.length === 0) return html`no people`
  return html`<ul class="counts">${present.map((status) => html`<li>${statusNames[status]} <b>${number(counts[status])}</b></li>`)}</ul>`
}

function starter({ trigger, startedBy }: Attempt): string {
  if (trigger === 'schedule') return 'the nightly schedule'
  return startedBy ?? 'a command'
}
