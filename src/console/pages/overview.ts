import { type ConnectionStateName, connectionStates } from '../../contract/control/connection-states.ts'
import type { ConnectionStatus, Status } from '../../contract/control/shapes.ts'
import { address } from '../../web/address.ts'
import { filterForm, hiddenInput, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { badge, live } from '../../web/parts.ts'
import { type Column, paging, table, tiles } from '../../web/tables.ts'
import { formatRelativeTime, number, pluralize } from '../../web/words.ts'
import type { Fields, SharedContext, Site } from '../site/site.ts'
import { connectionHref, firstVisitHref, runHref, runStates } from '../site/words.ts'
import { alertList } from './alert-list.ts'
import { connectionCard, connectionDetails } from './connection.ts'
import { connectionState, stateNames } from './connection-state.ts'
import { uncomparedText } from './effective.ts'

const renewSeconds = 10
/** How many connections a page of the overview has. */
export const connectionsPerPage = 50

/** Adds the overview: the alerts, then the connections. A single connection is shown as on its own page. */
export function overviewPages(site: Site): void {
  site.sharedPage('/', async (context, fields) => {
    const { connections: names } = await context.control.about({})
    const [only] = names
    if (only === undefined) return { to: firstVisitHref }
    const status = await statusOf(context, fields)
    const details = names.length === 1 ? await connectionDetails(context, only) : null
    const content = html`${heading({ title: 'Overview', lead: aboutText(status, names.length, context.now) })}
${uncomparedText(await context.control.effectiveCoverage({}))}
${names.length > 1 && filter(fields)}
${overview(status, { context, fields, details, isOnly: names.length === 1 })}`
    return { title: 'Overview', content, section: 'overview', follows: {} }
  })

  site.sharedPart('/overview', async (context, fields) => {
    const { connections: names } = await context.control.about({})
    const status = await statusOf(context, fields)
    return overview(status, { context, fields, details: null, isOnly: names.length === 1 })
  })
}

function aboutText({ version, daemon, totals: { employed } }: Status, connections: number, now: Date): Html {
  return html`${pluralize(employed, 'person', 'people')} employed in ${pluralize(connections, 'connection')} · Rollcall ${version}${daemon && html`, started ${formatRelativeTime(daemon.startedAt, now)}`}`
}

type OverviewQuery = {
  readonly search: string
  readonly state: ConnectionStateName | undefined
  readonly after: string
  /** `all`: every alert is shown. */
  readonly alerts: string
}

function chosenBy(fields: Fields): OverviewQuery {
  const state = connectionStates.find((name) => name === fields('state'))
  return { search: fields('search'), state, after: fields('after'), alerts: fields('alerts') }
}

async function statusOf({ control }: SharedContext, fields: Fields): Promise<Status> {
  const { search, state, after } = chosenBy(fields)
  return await control.status({
    query: { ...(search && { search }), ...(state && { state }), ...(after && { after }), limit: connectionsPerPage },
  })
}

function filter(fields: Fields): Html {
  const { search, state } = chosenBy(fields)
  return filterForm({
    action: '/',
    label: 'Connections',
    part: 'overview',
    all: search === '' && state === undefined ? null : '/',
    fields: html`${textField({ name: 'search', label: 'Connection', value: search, hint: 'Any part of its name.' })}${state && hiddenInput('state', state)}`,
  })
}

type OverviewContext = {
  readonly context: SharedContext
  readonly fields: Fields
  readonly details: Html | null
  readonly isOnly: boolean
}

function overview(status: Status, { context, fields, details, isOnly }: OverviewContext): Html {
  const [first] = status.connections
  return live({
    id: 'overview',
    href: address('/overview', chosenBy(fields)),
    everySeconds: renewSeconds,
    content: html`${alertList(status.alerts, context, { unsigned: status.unsigned, isWhole: fields('alerts') === 'all' })}
${isOnly && first ? connectionCard(first, status, context, details) : list(status, context, fields)}`,
  })
}

function list(status: Status, context: SharedContext, fields: Fields): Html {
  const { search, state, after } = chosenBy(fields)
  return card({
    title: 'Connections',
    id: 'connections',
    content: html`${stateTiles(status, search, state)}
${table({
  caption: 'Connections',
  columns: columnsOf(status, context),
  rows: status.connections,
  empty: 'No connection matches.',
})}
${paging({ label: 'Pages of connections', path: '/', query: { search, state }, after, next: status.next, anchor: 'connections' })}`,
  })
}

/** The states that connections are in, each with how many: a state is chosen by a click. */
function stateTiles({ states }: Status, search: string, state: ConnectionStateName | undefined): Html {
  const all = Object.values(states).reduce((sum, count) => sum + count, 0)
  const ofStates = connectionStates.flatMap((name) => {
    const count = states[name] ?? 0
    if (count === 0 && name !== state) return []
    return [
      { name: stateNames[name].name, count, href: address('/', { search, state: name }), current: name === state },
    ]
  })
  return tiles('States of connections', [
    { name: 'All', count: all, href: address('/', { search }), current: state === undefined },
    ...ofStates,
  ])
}

function columnsOf(status: Status, { now }: SharedContext): readonly Column<ConnectionStatus>[] {
  const problemsOf = ({ problems, blockedPeople, foreign, leftOut, inbox }: ConnectionStatus) =>
    problems.refused.people +
    problems.undelivered.people +
    blockedPeople.people +
    blockedPeople.rows +
    foreign.people +
    (leftOut?.people ?? 0) +
    (inbox?.rejected ?? 0)
  return [
    {
      name: 'Connection',
      kind: 'row',
      cell: ({ name, target }) =>
        html`<a href="${connectionHref(name)}">${name}</a> <span class="hint">→ ${target}</span>`,
    },
    {
      name: 'State',
      kind: 'long',
      cell: (connection) => {
        const { state, tone, text } = connectionState(connection, {
          now,
          alerts: status.alerts,
          delay: status.platformDelay,
        })
        return html`${badge(state, tone)}${tone !== 'good' && html`<span class="hint">${text}</span>`}`
      },
    },
    { name: 'Employed', kind: 'figure', cell: ({ people }) => number(people.desired - people.separated) },
    { name: 'To be delivered', kind: 'figure', cell: ({ people }) => number(people.due) },
    {
      name: 'With problems',
      kind: 'figure',
      cell: (connection) =>
        problemsOf(connection) === 0
          ? '0'
          : html`<a href="${address('/problems', { connection: connection.name })}">${number(problemsOf(connection))}</a>`,
    },
    {
      name: 'Last run',
      cell: ({ last }) =>
        last &&
        html`<a href="${runHref(last.id)}">${formatRelativeTime(last.finishedAt ?? last.createdAt, now)}</a> <span class="hint">${runStates[last.state].name}</span>`,
    },
    { name: 'Next run', cell: ({ nextAt }) => nextAt && formatRelativeTime(nextAt, now) },
  ]
}
