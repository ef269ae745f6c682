import type { EmploymentStatus } from '../../contract/platform/personnel.ts'
import { hiddenInput, tokenField } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { badge, type Tone } from '../../web/parts.ts'
import { type Column, table, tiles } from '../../web/tables.ts'
import { day, formatInstant, number, pluralize } from '../../web/words.ts'
import type { Attempt } from '../identity-sync/attempts.ts'
import type { Connection, Group, ListedPerson, PeoplePage } from './people.ts'
import { complianceBadge, employmentPeriod } from './person-view.ts'
import { type PeopleQuery, pagePrefix, peopleHref, personHref, type Source, writeQuery } from './query.ts'
import { statuses, statusNames } from './status-names.ts'
import { syncHistory, syncPanel } from './sync-view.ts'

/** An account as the page shows it. */
export type Account = { readonly id: number; readonly name: string }

type PeopleView = {
  readonly account: Account
  /** Whether the visitor sees other accounts as well. */
  readonly hasChoice: boolean
  readonly query: PeopleQuery
  readonly page: PeoplePage
  readonly counts: ReadonlyMap<EmploymentStatus, number>
  readonly setByHand: number
  readonly connections: readonly Connection[]
  readonly groups: readonly Group[]
  readonly attempts: readonly Attempt[]
  readonly lastSync: Date | null
  readonly notice: Html | null
  readonly formToken: string
  readonly now: Date
}

/** The page with the list of an account's people. */
export function peopleView(view: PeopleView): Html {
  const { account, hasChoice, query, setByHand } = view
  return html`<div class="heading">
<h1>Personnel of ${account.name}</h1>
${hasChoice && html`<a href="${pagePrefix}">Choose another account</a>`}
</div>
${view.notice}
${syncPanel(view)}
${statusNav(view)}
<section class="card" aria-labelledby="people">
<div class="heading">
<h2 id="people">People</h2>
${setByHand > 0 && html`<a class="button" href="${pagePrefix}/reset-all?account=${account.id}">Reset everybody set by hand (${number(setByHand)})</a>`}
</div>
${filterForm(view)}
${peopleTable(view)}
${paging(query, view.page)}
</section>
${syncHistory(view.attempts)}`
}

/** The page to choose an account. */
export function accountsView(accounts: readonly Account[]): Html {
  return html`<div class="card narrow">
<h1>Choose an account</h1>
${
  accounts.length === 0
    ? html`<p class="empty">This platform has no account yet.</p>`
    : html`<ul class="accounts">${accounts.map(({ id, name }) => html`<li><a href="${peopleHref({ account: id })}">${name}</a></li>`)}</ul>`
}
</div>`
}

type ResetAllView = { readonly account: Account; readonly setByHand: number; readonly formToken: string }

/** The page that asks before all people who were set by hand are reset. */
export function resetAllView({ account, setByHand, formToken }: ResetAllView): Html {
  const back = peopleHref({ account: account.id })
  return html`<div class="card narrow">
<h1>Reset everybody set by hand?</h1>
${
  setByHand === 0
    ? html`<p>Nobody of ${account.name} was edited by hand.</p><p><a href="${back}">Back to Personnel</a></p>`
    : html`<p>The status or dates of ${pluralize(setByHand, 'person', 'people')} of ${account.name} were set by hand. After this the identity sync updates them again: the next sync replaces them by those of HR. This cannot be undone.</p>
<form class="row" method="post" action="${pagePrefix}/reset-all">
${tokenField(formToken)}
<input type="hidden" name="account" value="${account.id}">
<button class="main danger">Reset ${pluralize(setByHand, 'person', 'people')}</button>
<a class="button" href="${back}">Cancel</a>
</form>`
}
</div>`
}

function statusNav({ account, query, counts }: PeopleView): Html {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const item = (name: string, count: number, status: EmploymentStatus | null) => {
    return { name, count, href: peopleHref({ account: account.id, status }), current: query.status === status }
  }
  return tiles('Employment status', [
    item('Everybody', total, null),
    ...statuses
      .filter((status) => counts.has(status) || query.status === status)
      .map((status) => item(statusNames[status], counts.get(status) ?? 0, status)),
  ])
}

function filterForm({ account, query, connections, groups }: PeopleView): Html {
  const sources: readonly (readonly [Source, string])[] = [
    ...connections.map(({ id, name }) => [id, name] as const),
    ['by-hand', 'Set by hand'],
    ['none', 'None'],
  ]
  const { search, status: chosenStatus, source: chosenSource, group: chosenGroup } = query
  const isFiltered = search !== '' || (chosenStatus ?? chosenSource ?? chosenGroup) !== null
  return html`<form class="filter" role="search" method="get" action="${pagePrefix}" aria-label="People">
<input type="hidden" name="account" value="${account.id}">
<div class="field wide">
<label for="q">Name or address</label>
<input id="q" name="q" type="search" value="${query.search}" maxlength="200" autocomplete="off" spellcheck="false" placeholder="The beginning of each word">
</div>
<div class="field">
<label for="status">Employment status</label>
<select id="status" name="status">${option('', 'Any', query.status === null)}${statuses.map((status) => option(status, statusNames[status], query.status === status))}</select>
</div>
<div class="field">
<label for="source">Source</label>
<select id="source" name="source">${option('', 'Any', query.source === null)}${sources.map(([source, name]) => option(source, name, query.source === source))}</select>
</div>
${groups.length > 0 && groupField(groups, query)}
<div class="row"><button>Show</button>${isFiltered && html`<a href="${peopleHref({ account: account.id })}">Show everybody</a>`}</div>
</form>`
}

function groupField(groups: readonly Group[], query: PeopleQuery): Html {
  return html`<div class="field">
<label for="group">Group</label>
<select id="group" name="group">${option('', 'Any', query.group === null)}${groups.map(({ id, name }) => option(id, name, query.group === id))}</select>
</div>`
}

function option(value: string | number, name: string, isChosen: boolean): Html {
  return html`<option value="${value}"${isChosen && html` selected`}>${name}</option>`
}

function peopleTable(view: PeopleView): Html {
  const { people, total } = view.page
  if (people.length === 0) {
    return html`<p class="empty" role="status">${total === 0 ? 'No people match.' : 'This page has no people any more.'}</p>`
  }
  const columns: readonly Column<ListedPerson>[] = [
    { name: 'Person', kind: 'row', cell: (person) => nameOf(person, view.account.id) },
    { name: 'Status', cell: statusOf },
    { name: 'Employed', cell: employedCell },
    { name: 'Source', kind: 'long', cell: sourceOf },
    { name: 'Last sync', cell: (person) => lastSyncOf(person, view.lastSync) },
    {
      name: 'Action',
      kind: 'action',
      cell: (person) => (person.setByHandAt !== null || person.hasDatesByHand) && resetForm(person, view),
    },
  ]
  return html`<p class="faint" role="status">${pluralize(total, 'person', 'people')}${total > people.length && html`, ${number(people.length)} on this page`}</p>
${table({ caption: 'People by last name', columns, rows: people, empty: null })}`
}

function nameOf({ id, name, email, groups }: ListedPerson, accountId: number): Html {
  const address = name !== null && html` <span class="address">${email}</span>`
  const memberships = groups.length > 0 && html` <span class="hint">${groups.join(', ')}</span>`
  return html`<a href="${personHref(accountId, id)}"><span class="name">${name ?? email}</span></a>${address}${memberships}`
}

function statusOf({ status, compliance }: ListedPerson): Html {
  const isJudged = compliance !== 'EXCLUDED'
  return html`${badge(statusNames[status], toneOf(status))}${isJudged && html` ${complianceBadge(compliance)}`}`
}

function toneOf(status: EmploymentStatus): Tone {
  if (status.startsWith('CURRENT')) return 'good'
  return status === 'FUTURE_HIRE' ? 'wait' : 'plain'
}

function employedCell(person: ListedPerson): Renderable {
  return html`${employmentPeriod(person)}${person.hasDatesByHand && html` <span class="hint">set by hand</span>`}`
}

function sourceOf({ setByHandAt, connections }: ListedPerson): Html {
  const [first, ...others] = connections
  if (setByHandAt) {
    return html`<strong>Set by hand</strong> <span class="hint">${day(setByHandAt)}${first !== undefined && html`, record in ${connections.join(', ')}`}</span>`
  }
  if (first === undefined) return html`<span class="faint">none</span>`
  return html`${first}${others.length > 0 && html` <span class="hint">also ${others.join(', ')}</span>`}`
}

function lastSyncOf({ setByHandAt, createdAt }: ListedPerson, lastSync: Date | null): Html {
  if (setByHandAt) return html`<span class="faint">not synced</span>`
  return lastSync && createdAt <= lastSync ? formatInstant(lastSync) : html`<span class="faint">not yet</span>`
}

function resetForm(person: ListedPerson, { account, query, formToken }: PeopleView): Html {
  return html`<form method="post" action="${pagePrefix}/reset">
${tokenField(formToken)}
${hiddenInput('account', account.id)}${hiddenInput('person', person.id)}${hiddenInput('back', writeQuery(query))}
<button aria-label="Reset ${person.name ?? person.email}">Reset</button>
</form>`
}

function paging(query: PeopleQuery, { before, after }: PeoplePage): Html | null {
  if (before === null && after === null) return null
  const to = (changes: Partial<PeopleQuery>) =>
    peopleHref({ ...query, after: null, before: null, watch: false, ...changes })
  return html`<nav class="paging" aria-label="Pages of people">
${before !== null && html`<a class="button" href="${to({})}">First page</a> <a class="button" rel="prev" href="${to({ before })}">Previous page</a>`}
${after !== null && html`<a class="button" rel="next" href="${to({ after })}">Next page</a>`}
</nav>`
}
