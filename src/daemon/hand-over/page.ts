import type { HandOver, HandOverGroup, HandOverRow } from '../../contract/control/hand-over.ts'
import {
  blocksText,
  groupProblem,
  groupTitle,
  handOverSummary,
  placeText,
} from '../../contract/control/hand-over-texts.ts'
import { formatTime, utc } from '../../text/time.ts'
import { type Html, html } from '../../web/html.ts'
import { reportPage } from '../reports/report-page.ts'
import { hasValues } from './columns.ts'

/** The list as one page that needs no other file, no script and no network. */
export function handOverPage(list: HandOver): string {
  const { madeAt, groups, departures } = list
  const withValues = hasValues(list)
  const body = html`<header>
<h1>Corrections for HR</h1>
<p class="faint">What could not be read in the lists of HR. Made by Rollcall on ${formatTime(madeAt, utc)}.</p>
</header>
<p class="verdict ${departures > 0 && 'bad'}"><strong>${handOverSummary(list)}.</strong></p>
${groups.map((group) => groupSection(group, withValues))}`
  return reportPage('Corrections for HR', body)
}

function groupSection(group: HandOverGroup, withValues: boolean): Html {
  const { kind, remedy, problem, rows } = group
  const title = groupTitle(group)
  return html`<section>
<h2>${title}</h2>
<p><b>${remedy}</b></p>
<p class="faint">${groupProblem(group)}.</p>
<div class="wide" role="region" tabindex="0" aria-label="${title}"><table class="corrections">
<thead><tr>${withValues && html`<th scope="col">Person</th>`}<th scope="col">Key</th><th scope="col">${kind === 'event' ? 'Event' : 'File and line'}</th>${withValues && html`<th scope="col">Cell</th>`}<th scope="col">Since (UTC)</th><th scope="col">Blocks</th></tr></thead>
<tbody>${rows.map((row) => rowOf(row, { withValues, kind, problem }))}</tbody>
</table></div>
</section>`
}

type RowOptions = Pick<HandOverGroup, 'kind' | 'problem'> & { readonly withValues: boolean }

function rowOf(row: HandOverRow, { withValues, kind, problem }: RowOptions): Html {
  const { identityId, name, rows, cell, blocks, firstAt } = row
  const more = rows > 1 && html`<span>${rows} such rows</span>`
  const detail = row.problem !== problem && html`<span>${row.problem}</span>`
  return html`<tr>${withValues && html`<td>${name ?? '–'}</td>`}<th scope="row">${identityId ?? 'not readable'}</th><td>${placeText(row, kind)}${more}</td>${withValues && html`<td class="cell">${cell ?? '–'}</td>`}<td class="day">${firstAt.slice(0, 10)}</td><td class="${blocks === 'departure' && 'bad'}">${blocksText(row, kind)}${detail}</td></tr>
`
}
