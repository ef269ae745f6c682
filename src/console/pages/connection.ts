import type { LeaverSummary } from '../../contract/control/leavers.ts'
import type { ConnectionStatus, Run, Status } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { address } from '../../web/address.ts'
import { lineChart, stackedBars } from '../../web/charts.ts'
import { actionLink, choiceField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { badge, definitions, figures, live } from '../../web/parts.ts'
import { formatSeconds } from '../../web/span.ts'
import { formatInstant, formatRelativeTime, number, pluralize } from '../../web/words.ts'
import type { SharedContext, Site } from '../site/site.ts'
import { connectionHref, countsText, runHref, runStates, stateBadge } from '../site/words.ts'
import { alertList } from './alert-list.ts'
import { connectionState } from './connection-state.ts'
import { coverageSentences } from './effective.ts'
import { changeLink } from './settings-change.ts'

const renewSeconds = 10

/** Adds the page of each connection: its alerts, state, figures and charts, and what can be requested of it. */
export function connectionPages(site: Site): void {
  site.sharedPage('/connections/:connection', async (context, fields) => {
    const connection = fields('connection')
    const status = await statusOf(context, connection)
    const content = html`${heading({ title: connection, crumbs: [{ name: 'Overview', href: '/' }] })}
${connectionPart(status, context, await connectionDetails(context, connection))}`
    return { title: connection, content, section: 'overview', follows: { connection } }
  })

  site.sharedPart('/connections/:connection/state', async (context, fields) =>
    connectionPart(await statusOf(context, fields('connection')), context, null),
  )

  site.action('/connections/:connection/sync', {
    section: 'overview',
    operation: 'startRun',
    ask: async (context, fields) => {
      const { name, active } = await connectionOf(context, fields('connection'))
      return {
        title: `Read ${name} now?`,
        explanation: html`<p>Rollcall reads HR’s source as in a scheduled run, and delivers the changes to the platform. The guards check the plan as usual.</p>
${active && activeText(active)}`,
        fields: choiceField({
          name: 'how',
          label: 'What to send',
          options: [
            { value: 'changes', name: 'Changes only' },
            { value: 'verify', name: 'Changes, and every difference from the platform’s list of people' },
            { value: 'full', name: 'Everybody again' },
          ],
          value: fields('how') || 'changes',
        }),
        button: `Read ${name} now`,
        cancel: connectionHref(name),
      }
    },
    perform: async ({ control }, fields) => {
      const how = fields('how')
      const body = { ...(how === 'full' && { full: true }), ...(how === 'verify' && { verify: true }) }
      const run = await control.startRun({ params: { connection: fields('connection') }, body })
      return { to: runHref(run.id), done: `A run of ${run.connection} was requested.` }
    },
  })

  site.action('/connections/:connection/unblock', {
    section: 'overview',
    operation: 'unblockConnection',
    ask: async (context, fields) => {
      const { name, blocked, people } = await connectionOf(context, fields('connection'))
      if (blocked === null) throw new Failure('conflict', `${name} is not blocked`)
      return {
        title: `Try ${name} now?`,
        explanation: html`<p>The platform refuses ${name}: ${blocked.reason}.</p>
<p>Rollcall sends one request now. If the platform accepts it, ${pluralize(people.due, 'waiting person', 'waiting people')} will be delivered.</p>`,
        button: 'Try it now',
        cancel: connectionHref(name),
      }
    },
    perform: async ({ control }, fields) => {
      const connection = fields('connection')
      const { wasBlocked, due } = await control.unblockConnection({ params: { connection }, body: {} })
      const waiting = `${pluralize(due, 'person waits', 'people wait')} to be delivered`
      return {
        to: connectionHref(connection),
        done: wasBlocked ? `Rollcall tries ${connection} now; ${waiting}.` : `${connection} was not blocked.`,
      }
    },
  })
}

async function statusOf({ control }: SharedContext, connection: string): Promise<Status> {
  return await control.status({ query: { connection } })
}

async function connectionOf(context: SharedContext, name: string): Promise<ConnectionStatus> {
  const { connections } = await statusOf(context, name)
  const [connection] = connections
  if (!connection) throw new Error(`the status of the connection "${name}" is empty`)
  return connection
}

/** The alerts of the one connection of a status, and its card; the part refreshes itself, without drawing the details again. */
function connectionPart(status: Status, context: SharedContext, details: Html | null): Html | null {
  const [connection] = status.connections
  if (!connection) return null
  const alerts = status.alerts.filter((alert) => alert.connection === connection.name)
  return live({
    id: 'connection',
    href: `${connectionHref(connection.name)}/state`,
    everySeconds: renewSeconds,
    content: html`${alertList(alerts, context, { unsigned: status.unsigned, isWhole: true })}
${connectionCard(connection, status, context, details)}`,
  })
}

/** What takes queries of its own: how long departures took, how many people match HR's data on the platform, and the charts. */
export async function connectionDetails(context: SharedContext, name: string): Promise<Html> {
  const compared = await context.control.effectiveCoverage({})
  return html`${await leaverClock(context, name)}${coverageSentences(compared, context.now).get(name)}${await chartsOf(context, name)}`
}

/** What the active run means for a new one. */
function activeText({ state, feed }: Run): Html | null {
  if (state !== 'held')
    return html`<p>Another run is already ${runStates[state].name.toLowerCase()}. This one starts after it.</p>`
  return feed === 'source' ? html`<p>A plan is held. The plan of the new run replaces it.</p>` : null
}

/** A connection with its state, figures and next times. `details`: from `connectionDetails`; null: those of the page stay. */
export function connectionCard(
  connection: ConnectionStatus,
  status: Status,
  context: SharedContext,
  details: Html | null,
): Html {
  const { name, target, people, foreign, leftOut, last, active, asOf, nextAt, nextVerifyAt, inbox, pushed } = connection
  const { text, tone, state } = connectionState(connection, {
    now: context.now,
    alerts: status.alerts,
    delay: status.platformDelay,
  })
  const trouble = connection.problems.refused.people + connection.problems.undelivered.people
  const blockedCount = connection.blockedPeople.people + connection.blockedPeople.rows
  return card({
    title: html`${name} <span class="target">→ ${target}</span>`,
    id: `connection-${name}`,
    aside: html`<div class="row">${badge(state, tone)}${actionLink({
      href: `/connections/${encodeURIComponent(name)}/sync`,
      name: 'Read now',
      label: `Read now: ${name}`,
      notAllowed: context.notAllowed('startRun'),
    })}${context.notAllowed('getConnectionSettings') === null && changeLink(context, name)}</div>`,
    content: html`<p class="standing">${text}</p>
${figures([
  {
    name: 'Employed',
    value: number(people.desired - people.separated),
    note: pluralize(people.separated, 'has left', 'have left'),
  },
  {
    name: 'To be delivered',
    value: number(people.due),
    note: people.due === 0 ? 'nobody is waiting' : null,
    ...(people.due > 0 && { tone: 'wait' as const }),
  },
  {
    name: 'Problems',
    value: html`<a href="${address('/problems', { connection: name })}">${number(trouble)}</a>`,
    ...(trouble > 0 && { tone: 'bad' as const }),
    note: leaversAmong(connection.problems.refused.leavers + connection.problems.undelivered.leavers),
  },
  {
    name: 'Need attention',
    value: html`<a href="${address('/problems', { connection: name })}#blocked-people">${number(blockedCount)}</a>`,
    ...(blockedCount > 0 && { tone: 'bad' as const }),
    note: leaversAmong(connection.blockedPeople.leavers),
  },
  {
    name: 'Only on the platform',
    value: html`<a href="${address('/problems', { connection: name })}#foreign">${number(foreign.people)}</a>`,
    ...(foreign.people > 0 && { tone: 'bad' as const }),
    note:
      foreign.separated > 0
        ? `and ${pluralize(foreign.separated, 'person', 'people')} who left, as the platform shows`
        : null,
  },
  ...(leftOut === undefined
    ? []
    : [
        {
          name: 'Left out of a part',
          value: html`<a href="${address('/problems', { connection: name })}#left-out">${number(leftOut.people)}</a>`,
          tone: 'wait' as const,
          note: html`the first ${formatRelativeTime(leftOut.since, context.now)}`,
        },
      ]),
])}
${definitions([
  [
    'Last run',
    last &&
      html`${runLink(last)} ${formatRelativeTime(last.finishedAt ?? last.createdAt, context.now)}${last.counts && html`<span class="hint">${countsText(last.counts)}</span>`}`,
  ],
  ['Now', active && html`${runLink(active)} ${formatRelativeTime(active.createdAt, context.now)}`],
  [
    'Next run',
    nextAt === null
      ? connection.paused === null
        ? 'no schedule'
        : 'none until the pause ends'
      : html`${formatRelativeTime(nextAt, context.now)}<span class="hint">${formatInstant(nextAt)}</span>`,
  ],
  [
    'Data from HR',
    asOf && html`${formatRelativeTime(asOf, context.now)}<span class="hint">${formatInstant(asOf)}</span>`,
  ],
  ['Next verification', nextVerifyAt && formatRelativeTime(nextVerifyAt, context.now)],
  ['Events', inbox && inboxText(inbox)],
  ['Last SCIM push', pushed && pushedText(pushed, context.now)],
])}
<div class="columns" id="charts-${name}" hx-morph-skip="true">${details}</div>
<p class="hint"><a href="${address('/runs', { connection: name })}">All runs of ${name}</a> · <a href="/connections/${encodeURIComponent(name)}/statement">Population statement</a></p>`,
  })
}

const clockDays = 7
const dayMs = 86_400_000

/** How long the departures of the last days took. */
async function leaverClock({ control, now }: SharedContext, connection: string): Promise<Html | null> {
  const from = new Date(now.getTime() - (clockDays - 1) * dayMs).toISOString().slice(0, 'yyyy-mm-dd'.length)
  const { connections } = await control.reportLeavers({ query: { from, connection, values: false } })
  const [summary] = connections
  return summary ? clockText(summary) : null
}

function clockText({ people, acknowledged, late, notEffective, boundHours, ourSeconds }: LeaverSummary): Html {
  if (people === 0) return html`<p class="wide"><b>Leavers</b> Nobody’s last day was in the last ${clockDays} days.</p>`
  const took =
    ourSeconds && ` (half within ${formatSeconds(ourSeconds.p50)}, 95 % within ${formatSeconds(ourSeconds.p95)})`
  const lateText = late === 0 ? 'none is late' : html`<strong class="bad">${number(late)} late</strong>`
  const notText =
    notEffective > 0 && html`; <strong class="bad">${number(notEffective)} not effective on the platform</strong>`
  return html`<p class="wide"><b>Leavers</b> ${pluralize(people, 'person', 'people')} had their last day in the last ${clockDays} days. The platform acknowledged ${pluralize(acknowledged, 'departure')}${took}; ${lateText}${notText}. A departure is late after ${boundHours} h.</p>`
}

const historyDays = 90

/** The charts of a connection: people employed, and changes per day. */
async function chartsOf({ control }: SharedContext, connection: string): Promise<Html> {
  const { days } = await control.connectionHistory({ params: { connection }, query: { days: historyDays } })
  const employed = days.flatMap(({ day, people, separated }) =>
    people === null ? [] : [{ at: new Date(`${day}T00:00:00Z`), value: people - (separated ?? 0) }],
  )
  const changed = days.map(({ day, changes }) => {
    const { join, update, leave, return: returns, correct, retract } = changes
    return { at: new Date(`${day}T00:00:00Z`), values: [join + returns, leave + retract, update + correct] }
  })
  const [first, last] = [employed.at(0)?.value ?? 0, employed.at(-1)?.value ?? 0]
  return html`${lineChart({
    id: `people-${connection}`,
    title: `Employed, the last ${historyDays} days`,
    description: `From ${pluralize(first, 'person', 'people')} to ${pluralize(last, 'person', 'people')}.`,
    unit: 'Employed',
    points: employed,
  })}
${stackedBars({
  id: `changes-${connection}`,
  title: `Changes per day, the last ${historyDays} days`,
  description: 'A bar for each day: joiners and returns, leavers and retractions, movers and corrections.',
  series: [
    { name: 'Joiners, returns', tone: 'one' },
    { name: 'Leavers', tone: 'two' },
    { name: 'Movers', tone: 'three' },
  ],
  points: changed,
})}`
}

function leaversAmong(leavers: number): string | null {
  return leavers === 0 ? null : `${pluralize(leavers, 'leaver')} among them`
}

function runLink(run: Run): Html {
  return html`<a href="${runHref(run.id)}">${stateBadge(run)}</a>`
}

function pushedText(
  { users, active, withoutKey, lastAt }: NonNullable<ConnectionStatus['pushed']>,
  now: Date,
): Html | string {
  if (lastAt === null) return 'none yet'
  const keyless = withoutKey === 0 ? '' : `, ${number(withoutKey)} without a key`
  return html`${formatRelativeTime(lastAt, now)}<span class="hint">${pluralize(users, 'user')}, ${number(active)} of them active${keyless}</span>`
}

function inboxText({ pending, held, rejected }: NonNullable<ConnectionStatus['inbox']>): string {
  const deciding = held === 0 ? '' : `, ${number(held)} of them held for a decision`
  return `${number(pending)} waiting${deciding}; ${number(rejected)} rejected`
}
