import type { EmploymentStatus } from '../../contract/platform/personnel.ts'
import { type Html, html } from '../../web/html.ts'
import type { Attempt, AttemptState } from '../identity-sync/attempts.ts'
import { tokenField } from './layout.ts'
import { type PeopleQuery, pagePrefix, peopleHref, writeQuery } from './query.ts'
import { counted, duration, moment, number, statuses, statusNames } from './text.ts'

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

/** How the identity sync stands, and the button that starts one. */
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

/** The syncs before, the latest first. */
export function syncHistory(attempts: readonly Attempt[]): Html {
  return html`<section class="card" aria-labelledby="syncs">
<h2 id="syncs">Last syncs</h2>
${
  attempts.length === 0
    ? html`<p class="empty">There has been no sync yet.</p>`
    : html`<table role="table" class="people">
<caption class="unseen">The last ${attempts.length} identity syncs, the latest first</caption>
<thead role="rowgroup"><tr role="row">
<th role="columnheader" scope="col">Started</th><th role="columnheader" scope="col">By</th>
<th role="columnheader" scope="col">Result</th><th role="columnheader" scope="col" class="figure">Took</th>
<th role="columnheader" scope="col" class="figure">HR records</th><th role="columnheader" scope="col" class="figure">Created</th>
<th role="columnheader" scope="col" class="figure">Changed</th><th role="columnheader" scope="col">People after it</th>
</tr></thead>
<tbody role="rowgroup">${attempts.map(historyRow)}</tbody>
</table>`
}
</section>`
}

export function runningAttempt(attempts: readonly Attempt[]): Attempt | null {
  return attempts.find(({ state }) => state === 'running') ?? null
}

function progress(attempt: Attempt, query: PeopleQuery, now: Date): Html {
  const elapsedMs = now.getTime() - attempt.startedAt.getTime()
  const watching = query.watch
    ? html`This page reloads every ${watchSeconds} seconds. <a href="${peopleHref({ ...query, watch: false })}">Stop reloading</a>`
    : html`<a href="${peopleHref({ ...query, watch: true })}">Follow it</a>`
  return html`<p class="state"><span class="pulse" aria-hidden="true"></span><strong>Sync running</strong> since ${moment(attempt.startedAt)}, ${duration(elapsedMs)} so far, started by ${starter(attempt)}.</p>
<p class="hint">${watching}</p>`
}

function lastResult(attempt: Attempt | undefined): Html {
  if (attempt === undefined) return html`<p class="state">There has been no sync yet.</p>`
  const { result } = attempt
  if (result === null) {
    return html`<p class="state"><strong class="bad">The last sync ${attempt.state === 'failed' ? 'failed' : 'was interrupted'}</strong>, started ${moment(attempt.startedAt)} by ${starter(attempt)}.</p>
<p class="hint">${reason(attempt.state)}</p>`
  }
  return html`<p class="state"><strong>Last sync</strong> ${moment(attempt.startedAt)}, started by ${starter(attempt)}.</p>
<p class="hint">${counted(result.identities, 'HR record', 'HR records')} in ${duration(result.duration_ms)}: ${counted(result.created, 'person', 'people')} created, ${number(result.changed)} changed.</p>`
}

function reason(state: AttemptState): string {
  return state === 'failed'
    ? 'No one was changed. The log of the service says why it failed.'
    : 'No one was changed. The process that ran it ended before it was done.'
}

function historyRow(attempt: Attempt): Html {
  const { result, state } = attempt
  return html`<tr role="row">
<th role="rowheader" scope="row" data-label="Started">${moment(attempt.startedAt)}</th>
<td role="cell" data-label="By" class="long">${starter(attempt)}</td>
<td role="cell" data-label="Result"><span class="badge ${state}">${stateNames[state]}</span></td>
${
  result
    ? html`<td role="cell" data-label="Took" class="figure">${duration(result.duration_ms)}</td>
<td role="cell" data-label="HR records" class="figure">${number(result.identities)}</td>
<td role="cell" data-label="Created" class="figure">${number(result.created)}</td>
<td role="cell" data-label="Changed" class="figure">${number(result.changed)}</td>
<td role="cell" data-label="People after it">${statusCounts(result.counts)}</td>`
    : html`<td role="cell" colspan="5">${state === 'running' ? 'It has not ended yet.' : reason(state)}</td>`
}
</tr>`
}

function statusCounts(counts: Readonly<Record<EmploymentStatus, number>>): Html {
  const present = statuses.filter((status) => (counts[status] ?? 0) > 0)
  if (present.length === 0) return html`no one`
  return html`<ul class="counts">${present.map((status) => html`<li>${statusNames[status]} <b>${number(counts[status])}</b></li>`)}</ul>`
}

function starter({ trigger, startedBy }: Attempt): string {
  if (trigger === 'schedule') return 'the nightly schedule'
  return startedBy ?? 'a command'
}
