import { type Leaver, type LeaverReport, type LeaverSummary, leaverStates } from '../../contract/control/leavers.ts'
import { formatTime, utc } from '../../text/time.ts'
import { type Bar, bars } from '../../web/charts.ts'
import { type Html, html } from '../../web/html.ts'
import { formatSeconds } from '../../web/span.ts'
import { reportPage } from './report-page.ts'

/** The report as one page that needs no other file, no script and no network. */
export function leaversPage(report: LeaverReport): string {
  const { from, to, madeAt, version, connections, leavers } = report
  const withNames = leavers.some(({ email }) => email !== undefined)
  const body = html`<header>
<h1>Leavers, ${from} to ${to}</h1>
<p class="faint">People whose last day of employment lies in this period. Made by Rollcall ${version} on ${formatTime(madeAt, utc)}; times are in UTC.</p>
</header>
${verdict(connections)}
${connectionsSection(connections)}
<section class="chart">
<h2>From known to acknowledged</h2>
<p class="faint">Counted from when the last day was over and the departure was known here, whichever is later.</p>
<div class="wide" role="region" tabindex="0" aria-label="Chart">${bars('Leavers by the time from known to acknowledged', buckets(leavers))}</div>
</section>
<section>
<h2>Each leaver</h2>
${leavers.length === 0 ? html`<p>No last day of employment lies in this period.</p>` : listOf(leavers, withNames)}
</section>
${meanings}`
  return reportPage(`Leavers ${from} to ${to}`, body)
}

function connectionsSection(connections: readonly LeaverSummary[]): Html {
  return html`<section>
<h2>By connection</h2>
<div class="wide" role="region" tabindex="0" aria-label="Leavers by connection"><table>
<thead><tr><th scope="col">Connection</th><th scope="col" class="figure">Leavers</th><th scope="col" class="figure">Acknowledged</th><th scope="col" class="figure">Effective</th><th scope="col" class="figure">Not effective</th><th scope="col" class="figure">Late</th><th scope="col">Bound</th><th scope="col" class="figure">Taken back</th><th scope="col" class="figure">Held</th></tr></thead>
<tbody>${connections.map(countsRow)}</tbody>
</table></div>
<h3>How long it took</h3>
<div class="wide" role="region" tabindex="0" aria-label="How long it took"><table>
<thead><tr><th scope="col">Connection</th><th scope="col">From … to</th><th scope="col" class="figure">Leavers</th><th scope="col" class="figure">Half within</th><th scope="col" class="figure">95 % within</th><th scope="col" class="figure">Longest</th></tr></thead>
<tbody>${connections.map(figureRows)}</tbody>
</table></div>
</section>`
}

const meanings = html`<section class="meanings">
<h2>What the times mean</h2>
<dl>
<dt>Last day</dt><dd>The last day of employment. It is over at midnight in the time zone of the source. “inferred”: no row states it; it follows from absence or from a status.</dd>
<dt>Stated</dt><dd>The time of the export or event that says so.</dd>
<dt>Seen</dt><dd>When Rollcall read it first, also if the plan was then held for an approval.</dd>
<dt>Acknowledged</dt><dd>When the platform answered that it has the leaving date.</dd>
<dt>Effective</dt><dd>When the personnel of the platform was first seen to have the person as former. Rollcall reads it several times a day, so the person may have been former some hours earlier.</dd>
<dt>Late</dt><dd>Acknowledged later than the bound of the connection after the last day was over and the departure was seen, or not acknowledged though that time has passed. Time in which a plan waits for an approval counts.</dd>
<dt>Taken back</dt><dd>The person returned, the departure was withdrawn, or the person was retracted. These departures are listed below and counted nowhere else.</dd>
<dt>Held</dt><dd>Departures that only a plan waiting for approval contains. They are not listed: the plan may be wrong.</dd>
<dt>HR</dt><dd>From the end of the last day to the export or event that states the departure. People who had left before HR first named them are not counted.</dd>
</dl>
</section>`

function verdict(connections: readonly LeaverSummary[]): Html {
  const sum = (of: (summary: LeaverSummary) => number): number => connections.reduce((all, each) => all + of(each), 0)
  const [people, late, open, ineffective, held] = [
    sum((each) => each.people),
    sum((each) => each.late),
    sum((each) => each.lateOpen),
    sum((each) => each.notEffective),
    sum((each) => each.held),
  ]
  const kind = late > 0 || ineffective > 0 || held > 0 ? 'bad' : 'good'
  const leavers = people === 1 ? '1 leaver' : `${people} leavers`
  const lateText = late === 0 ? 'none was late' : `${late} ${late === 1 ? 'was' : 'were'} late`
  const openText = open > 0 ? html`, of which ${open} ${open === 1 ? 'is' : 'are'} still not acknowledged` : ''
  const notText = ineffective > 0 ? html`; ${ineffective} acknowledged but not effective` : ''
  const heldText = held > 0 ? html`; ${held} more ${held === 1 ? 'waits' : 'wait'} for an approval` : ''
  return html`<p class="verdict ${kind}"><strong>${leavers}</strong>: ${lateText}${openText}${notText}${heldText}.</p>`
}

function countsRow({
  connection,
  people,
  acknowledged,
  effective,
  notEffective,
  late,
  lateOpen,
  boundHours,
  takenBack,
  held,
}: LeaverSummary): Html {
  const open = lateOpen > 0 ? ` (${lateOpen} open)` : ''
  return html`<tr><th scope="row">${connection}</th><td class="figure">${people}</td><td class="figure">${acknowledged}</td><td class="figure">${effective}</td><td class="figure ${notEffective > 0 && 'bad'}">${notEffective}</td><td class="figure ${late > 0 && 'bad'}">${late}${open}</td><td>${boundHours} h</td><td class="figure">${takenBack}</td><td class="figure">${held}</td></tr>
`
}

const legTexts = [
  ['hrSeconds', 'HR: last day over … stated'],
  ['ourSeconds', 'Rollcall: known … acknowledged'],
  ['platformSeconds', 'Platform: acknowledged … effective'],
] as const

function figureRows(summary: LeaverSummary): Html[] {
  return legTexts.map(([leg, text]) => {
    const figures = summary[leg]
    const shown = (seconds: number | undefined): string => (seconds === undefined ? '–' : formatSeconds(seconds))
    return html`<tr><th scope="row">${summary.connection}</th><td>${text}</td><td class="figure">${figures?.people ?? 0}</td><td class="figure">${shown(figures?.p50)}</td><td class="figure">${shown(figures?.p95)}</td><td class="figure">${shown(figures?.max)}</td></tr>
`
  })
}

const hour = 3600
const steps = [
  { label: 'at once, up to 15 min', maxSeconds: hour / 4, kind: 'good' },
  { label: 'up to 1 h', maxSeconds: hour, kind: 'good' },
  { label: 'up to 4 h', maxSeconds: 4 * hour, kind: 'good' },
  { label: 'up to 24 h', maxSeconds: 24 * hour, kind: 'wait' },
  { label: 'up to 3 d', maxSeconds: 72 * hour, kind: 'wait' },
  { label: 'longer', maxSeconds: Number.POSITIVE_INFINITY, kind: 'wait' },
] as const

/** Leavers by duration. A bar with a late leaver is marked, because connections have different limits. */
function buckets(leavers: readonly Leaver[]): Bar[] {
  const listed = leavers.filter(({ endedAt }) => endedAt === null)
  const took = steps.map(({ label, maxSeconds, kind }, at) => {
    const above = steps[at - 1]?.maxSeconds ?? -1
    const within = listed.filter(
      ({ ourSeconds }) => ourSeconds !== null && ourSeconds > above && ourSeconds <= maxSeconds,
    )
    return { label, value: within.length, kind: within.some((leaver) => leaver.late) ? ('bad' as const) : kind }
  })
  const open = listed.filter(({ acknowledgedAt }) => acknowledgedAt === null)
  const late = open.filter((leaver) => leaver.late)
  return [
    ...took,
    { label: 'not acknowledged yet', value: open.length - late.length, kind: 'wait' },
    { label: 'late, not acknowledged', value: late.length, kind: 'bad' },
  ]
}

function listOf(leavers: readonly Leaver[], withNames: boolean): Html {
  return html`<div class="wide" role="region" tabindex="0" aria-label="Each leaver"><table class="leavers">
<thead><tr><th scope="col">${withNames ? 'Person' : 'Key'}</th><th scope="col">Last day</th><th scope="col">Stated</th><th scope="col">Seen</th><th scope="col">Acknowledged</th><th scope="col">Effective</th><th scope="col" class="figure">Took</th><th scope="col">State</th></tr></thead>
<tbody>${leavers.map((leaver) => leaverRow(leaver, withNames))}</tbody>
</table></div>`
}

function leaverRow(leaver: Leaver, withNames: boolean): Html {
  const { identityId, connection, effectiveOn, inferred, formerDates, ourSeconds, late, state } = leaver
  const name = withNames && html`<b>${leaver.name ?? 'name not known'}</b><span>${leaver.email ?? ''}</span>`
  const former = formerDates.map(({ on }) => html`<span>was ${on}</span>`)
  const why = state !== 'effective' && ((leaver.visibleAt === null && leaver.findingText) || leaverStates[state])
  return html`<tr><th scope="row">${name}${identityId} <i>${connection}</i></th><td>${effectiveOn}${inferred && html`<span>inferred</span>`}${former}</td><td>${time(leaver.statedAt)}${leaver.statedBy !== null && html`<span>by ${leaver.statedBy}</span>`}</td><td>${time(leaver.firstSeenAt)}</td><td>${time(leaver.acknowledgedAt)}</td><td>${time(leaver.visibleAt)}</td><td class="figure ${late && 'bad'}">${ourSeconds === null ? '–' : formatSeconds(ourSeconds)}${late && html`<span>late</span>`}</td><td class="state">${state.replaceAll('_', ' ')}${why && html`<span>${why}</span>`}</td></tr>
`
}

function time(instant: string | null): Html | string {
  return instant === null ? '–' : html`${instant.slice(0, 10)}<span>${instant.slice(11, 16)}</span>`
}
