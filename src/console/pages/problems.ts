import type { ForeignPerson } from '../../contract/control/foreign.ts'
import type { Leaver } from '../../contract/control/leavers.ts'
import { statementNote } from '../../contract/control/person-texts.ts'
import type { BlockedPerson, FailureView, Problem, Status } from '../../contract/control/shapes.ts'
import type { StatedDeparture } from '../../contract/control/stated-departures.ts'
import { address } from '../../web/address.ts'
import { checkField, filterForm } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { badge, live } from '../../web/parts.ts'
import { type Column, paging, table } from '../../web/tables.ts'
import { day, formatInstant, formatRelativeTime, number, pluralize } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Fields, SharedContext, Site } from '../site/site.ts'
import { capital, connectionField, connectionHref, kindBadge, personCell, runHref } from '../site/words.ts'
import { leftOutTable } from './left-out.ts'
import { connectionsPerPage } from './overview.ts'

const perPage = 50
const refreshSeconds = 10

/** Adds the page of people whose record on the platform differs from HR’s export, and why. */
export function problemPages(site: Site): void {
  site.page('/problems', async (context, fields) => {
    const { control, caller } = context
    const mayName = seesValues(caller)
    const withNames = mayName && areNamesRequested(fields)
    const { connections: names } = await control.about({})
    const connection = fields('connection')
    const leavers = await control.listNotEffective({
      query: { ...pageOf('leavers', fields), values: mayName },
    })
    const { totals } = await statusOf(context, connection)
    const stated = await statedDepartures(context, totals.stated)
    const content = html`${heading({ title: 'Problems', lead: 'People whose record on the platform differs from HR’s export, and why.' })}
${filterForm({
  action: '/problems',
  label: 'Problems',
  part: 'lists',
  all: connection === '' ? null : address('/problems', { values: withNames }),
  fields: html`${connectionField(names, connection)}${mayName && checkField({ name: 'values', label: 'With names', checked: withNames, hint: 'Lists with names are not refreshed automatically.' })}`,
})}
${await neverRead(context, connection)}
<div id="lists" class="live">
${await currentPart(context, fields, withNames)}
${
  stated.length > 0 &&
  card({
    title: html`Departures that HR has not recorded yet <span class="faint">${number(stated.length)}</span>`,
    id: 'stated',
    content: statedTable(stated),
  })
}
${card({
  title: 'Leavers whom the platform still shows as employed',
  id: 'leavers',
  content: html`${leaversTable(leavers.data, context)}${pages('leavers', leavers.next, fields)}`,
})}
</div>`
    const isKnown = names.includes(connection)
    return { title: 'Problems', content, section: 'problems', follows: isKnown ? { connection } : {} }
  })

  site.sharedPart('/problems/current', async (context, fields) => currentPart(context, fields, false))
}

/** The status of a connection, or of all if the name is empty, as the overview reads it: visitors of both share an answer. */
function statusOf({ control }: SharedContext, connection: string): Promise<Status> {
  return control.status({ query: { ...(connection && { connection }), limit: connectionsPerPage } })
}

type StatedPerson = StatedDeparture & { readonly connection: string }

async function statedDepartures({ control }: SharedContext, names: readonly string[]): Promise<StatedPerson[]> {
  const requests = names.map(async (name) => {
    const { data } = await control.listStatedDepartures({ params: { connection: name } })
    return data.map((stated) => ({ ...stated, connection: name }))
  })
  return (await Promise.all(requests)).flat()
}

/** Whether the address requests names in every list. Viewers never get names. */
function areNamesRequested(fields: Fields): boolean {
  return fields('values') !== ''
}

type List = 'problems' | 'blocked-people' | 'left-out' | 'foreign' | 'leavers'
const lists: readonly List[] = ['problems', 'blocked-people', 'left-out', 'foreign', 'leavers']

/** The query of a list, from the address. */
function pageOf(name: List, fields: Fields) {
  const [connection, after] = [fields('connection'), fields(name)]
  return { ...(connection && { connection }), ...(after && { after }), limit: perPage }
}

function pages(name: List, next: string | null, fields: Fields): Html | null {
  const query = { connection: fields('connection'), values: areNamesRequested(fields) }
  return paging({
    label: `Pages of ${name}`,
    path: '/problems',
    query,
    name,
    after: fields(name),
    next,
    anchor: name,
  })
}

/**
 * The lists that change while runs deliver. They refresh themselves only without names, because the audit trail records each look at names.
 * The list of leavers is separate: it always shows names to callers who may see them.
 */
async function currentPart(context: SharedContext, fields: Fields, withNames: boolean): Promise<Html> {
  const { control } = context
  const connection = fields('connection')
  const [{ data: failures }, problems, blockedPeople, leftOut, foreign] = await Promise.all([
    control.listFailures({}),
    control.listProblems({ query: { ...pageOf('problems', fields), values: withNames } }),
    control.listBlockedPeople({ query: { ...pageOf('blocked-people', fields), values: withNames } }),
    control.listLeftOut({ query: { ...pageOf('left-out', fields), values: withNames } }),
    control.listForeign({ query: pageOf('foreign', fields) }),
  ])
  const { totals } = await statusOf(context, connection)
  const query = { connection, ...Object.fromEntries(lists.map((name) => [name, fields(name)])) }
  return live({
    id: 'current',
    href: withNames ? null : address('/problems/current', query),
    everySeconds: refreshSeconds,
    content: html`${card({
      title: html`Refused by the platform, or not deliverable <span class="faint">${number(totals.problems)}</span>`,
      id: 'problems',
      content: html`${problemsTable(problems.data, failures, context)}${pages('problems', problems.next, fields)}`,
    })}
${card({
  title: html`People who need attention <span class="faint">${number(totals.blockedPeople)}</span>`,
  id: 'blocked-people',
  content: html`<p>The <a href="${address('/problems/hr', { connection, values: withNames })}">corrections for HR</a> list the rows and events with what to write instead, also as files.</p>
${blockedPeopleTable(blockedPeople.data, context)}${pages('blocked-people', blockedPeople.next, fields)}`,
})}
${
  totals.leftOut > 0 &&
  card({
    title: html`Left out when a part of a plan was approved <span class="faint">${number(totals.leftOut)}</span>`,
    id: 'left-out',
    content: html`${leftOutTable(leftOut.data, context.now)}${pages('left-out', leftOut.next, fields)}`,
  })
}
${card({
  title: html`Only on the platform <span class="faint">${number(totals.foreign)}</span>`,
  id: 'foreign',
  content: html`${foreignTable(foreign.data, context)}${pages('foreign', foreign.next, fields)}`,
})}
${
  totals.inDoubt.length > 0 &&
  card({
    title: 'In doubt',
    id: 'doubt',
    content: html`<ul class="list">${totals.inDoubt.map(
      ({ connection: name, people, leavers, until }) =>
        html`<li>${name}: ${pluralize(people, 'person', 'people')}${leavers > 0 && `, ${pluralize(leavers, 'leaver')} among them`}. The outcome of a request about them is unknown, and it may still take effect. Rollcall checks them at least until ${formatInstant(until)}.</li>`,
    )}</ul>`,
  })
}`,
  })
}

function problemsTable(problems: readonly Problem[], failures: readonly FailureView[], { now }: SharedContext): Html {
  const helps = new Map(failures.map((failure) => [failure.code, failure.helps]))
  const columns: readonly Column<Problem>[] = [
    { name: 'Person', kind: 'row', cell: personCell },
    {
      name: 'Change',
      cell: ({ kind, leaver }) =>
        html`${kindBadge(kind)}${leaver && html` ${badge('Still employed on the platform', 'bad')}`}`,
    },
    {
      name: 'Why',
      kind: 'long',
      cell: ({ state, message, status, code }) =>
        html`${message}<span class="hint">${state === 'refused' ? 'refused' : 'cannot be delivered'}${status !== null && html`, answered ${status}`}${code !== null && html` <code>${code}</code>`}</span>${code !== null && helps.get(code) && html`<span class="hint">What helps: ${helps.get(code)}</span>`}`,
    },
    { name: 'Since', cell: ({ firstAt }) => formatRelativeTime(firstAt, now) },
    { name: 'Attempts', kind: 'figure', cell: ({ times }) => `${number(times)}×` },
    {
      name: 'Next attempt',
      cell: ({ nextAt }) => (nextAt === null ? 'in the next run' : formatRelativeTime(nextAt, now)),
    },
    { name: 'Run', cell: ({ runId }) => html`<a href="${runHref(runId)}">the run</a>` },
  ]
  return table({ caption: 'Problems by connection and key', columns, rows: problems, empty: 'No problems.' })
}

function blockedPeopleTable(blockedPeople: readonly BlockedPerson[], { now }: SharedContext): Html {
  const columns: readonly Column<BlockedPerson>[] = [
    { name: 'Person', kind: 'row', cell: personCell },
    {
      name: 'Ignored',
      cell: ({ cellOnly, contradicts, rows, leaver }) =>
        html`${contradicts ? 'nothing' : cellOnly ? 'the field' : rows > 1 ? pluralize(rows, 'row') : 'the row'}${leaver && html` ${badge('May have left', 'bad')}`}`,
    },
    {
      name: 'Why',
      kind: 'long',
      cell: ({ column, reason, source, line }) =>
        html`${column !== null && html`${column}: `}${reason}${source !== null && html`<span class="hint">${source}${line !== null && html`:${line}`}</span>`}`,
    },
    { name: 'Since', cell: ({ firstAt }) => formatRelativeTime(firstAt, now) },
    {
      name: 'Run',
      cell: ({ runId, accepted }) => html`<a href="${runHref(runId)}">${accepted ? 'the run' : 'the held run'}</a>`,
    },
  ]
  return table({
    caption: 'People whose rows cannot be read or contradict each other; possible leavers first',
    columns,
    rows: blockedPeople,
    empty: 'Every row can be read, and no rows contradict each other.',
  })
}

function foreignTable(foreign: readonly ForeignPerson[], { now }: SharedContext): Html {
  const columns: readonly Column<ForeignPerson>[] = [
    {
      name: 'Person',
      kind: 'row',
      cell: ({ identityId, connection }) => html`${identityId} <span class="hint">${connection}</span>`,
    },
    {
      name: 'What helps',
      kind: 'long',
      cell: ({ identityId }) =>
        html`Ask HR. If the person has left, use <code>rollcall separate ${identityId}</code>. Otherwise, wait for an export with the person.`,
    },
    { name: 'Since', cell: ({ firstAt }) => formatRelativeTime(firstAt, now) },
    { name: 'Last seen', cell: ({ lastAt }) => formatRelativeTime(lastAt, now) },
  ]
  return table({
    caption: 'People who are employed on the platform and in no accepted export',
    columns,
    rows: foreign,
    empty: 'HR knows everybody who is employed on the platform.',
  })
}

/** Without a run, the empty lists of this page would look as if all were well. */
async function neverRead(context: SharedContext, connection: string): Promise<Html | null> {
  const { states } = await statusOf(context, connection)
  const unread = states.new ?? 0
  if (unread === 0) return null
  const query = { ...(connection && { connection }), state: 'new', limit: 1 } as const
  const one = unread === 1 && (await context.control.status({ query })).connections[0]
  const pageLink = one
    ? html`<a href="${connectionHref(one.name)}">its page</a>`
    : html`<a href="${address('/', { state: 'new' })}">their pages</a>`
  return html`<p class="empty" role="status">Nothing of ${one ? one.name : pluralize(unread, 'connection')} has been read yet, so nothing is known of the people. Start a run with “Read now” on ${pageLink}.</p>`
}

function statedTable(people: readonly StatedPerson[]): Html {
  const columns: readonly Column<StatedPerson>[] = [
    { name: 'Person', kind: 'row', cell: personCell },
    { name: 'Departure', kind: 'long', cell: (stated) => capital(statementNote(stated)) },
  ]
  return table({ caption: 'Departures stated by operators', columns, rows: people, empty: 'No departure is stated.' })
}

function leaversTable(leavers: readonly Leaver[], { now }: SharedContext): Html {
  const columns: readonly Column<Leaver>[] = [
    { name: 'Person', kind: 'row', cell: personCell },
    { name: 'Last day', cell: ({ effectiveOn }) => day(effectiveOn) },
    {
      name: 'Why',
      kind: 'long',
      cell: ({ findingText, helps }) =>
        html`${findingText && capital(findingText)}${helps && html`<span class="hint">What helps: ${helps}</span>`}`,
    },
    { name: 'Acknowledged', cell: ({ acknowledgedAt }) => acknowledgedAt && formatRelativeTime(acknowledgedAt, now) },
  ]
  return table({
    caption: 'Leavers whose departure is not effective on the platform',
    columns,
    rows: leavers,
    empty: 'Every acknowledged departure that was checked is effective.',
  })
}
