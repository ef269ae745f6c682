import type { PlanGroup } from '../../contract/control/plan-parts.ts'
import type { ChangesQuery } from '../../contract/control/runs.ts'
import type { Run } from '../../contract/control/shapes.ts'
import { filterForm, type Option, selectField, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card } from '../../web/layout.ts'
import { paging } from '../../web/tables.ts'
import { number, pluralize } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Fields, PageContext } from '../site/site.ts'
import { countChanges, type Kind, kinds } from '../site/words.ts'
import { decisionHref } from './held-links.ts'
import { changesTable, kindOf, summaryParts } from './plan-parts.ts'

/** Largest plan that is not summarised. */
const maxUnsummarisedPeople = 200
const perPage = 100
/** How many groups can be chosen in the filter; the largest are listed. */
const maxGroups = 200

type Sort = NonNullable<ChangesQuery['sort']>
const sorts: readonly (Option & { readonly value: Sort })[] = [
  { value: 'kind', name: 'Leavers first' },
  { value: 'key', name: 'Key' },
  { value: 'leavingDate', name: 'Leaving date' },
]

/** In the address, people without a group, and before the name of a group. Any text may be the name of a group. */
const withoutGroup = 'none'
const ofGroup = 'of:'

/** What the address says about the list of people. */
type Listing = {
  readonly kind: Kind | null
  /** As in the address; empty: all groups. */
  readonly group: string
  readonly search: string
  readonly sort: Sort
  readonly after: string
}

/** The people of a held plan: a summary if there are many, and a list that the address filters, searches and sorts. */
export async function peopleParts(run: Run, context: PageContext, fields: Fields): Promise<Html> {
  const isLarge = countChanges(run.counts) > maxUnsummarisedPeople
  const query = { values: seesValues(context.caller) }
  const summary = isLarge ? await context.control.summarizeRun({ params: { runId: run.id }, query }) : null
  return html`${summary && card({ title: 'Summary', id: 'summary', content: summaryParts(summary, run.connection) })}
${await peopleCard(run, context, listingIn(fields))}`
}

async function peopleCard(run: Run, context: PageContext, listing: Listing): Promise<Html> {
  const { kind, group, search, sort, after } = listing
  const { data, next } = await context.control.listChanges({
    params: { runId: run.id },
    query: { ...queryOf(listing), limit: perPage, values: seesValues(context.caller) },
  })
  const href = decisionHref(run)
  return html`<section class="card" id="people" aria-labelledby="people-title">
<div class="heading"><h2 id="people-title">The people</h2><span class="faint">${pluralize(countChanges(run.counts), 'change')} in the plan</span></div>
${await filterPart(run, context, listing)}
${changesTable(data, {
  connection: run.connection,
  caption: 'The people of the plan',
  withKind: true,
  empty: next === null ? 'Nobody in the plan matches.' : 'No match on this page; the next page searches further.',
})}
${paging({ label: 'Pages of people', path: href, query: { kind, group, q: search, sort }, after, next, anchor: 'people' })}
</section>`
}

async function filterPart(run: Run, context: PageContext, { kind, group, search, sort }: Listing): Promise<Html> {
  const href = decisionHref(run)
  const groups = await groupOptions(run, context, group)
  const isNarrowed = kind !== null || group !== '' || search !== ''
  return filterForm({
    action: href,
    label: 'People of the plan',
    part: 'people',
    all: isNarrowed ? `${href}#people` : null,
    fields: html`${selectField({ name: 'kind', label: 'Kind of change', options: kindOptions(run), value: kind ?? '' })}
${groups.length > 0 && selectField({ name: 'group', label: 'Group', options: groups, value: group })}
${textField({
  name: 'q',
  label: seesValues(context.caller) ? 'Key, e-mail or name' : 'Key',
  type: 'search',
  value: search,
  maxLength: 320,
  placeholder: 'Any part',
})}
${selectField({
  name: 'sort',
  label: search === '' ? 'Sorted by' : 'Sorted by (a search: by key)',
  options: sorts,
  value: sort,
})}`,
  })
}

function kindOptions({ counts }: Run): Option[] {
  const all = { value: '', name: `All (${number(countChanges(counts))})` }
  const planned = kinds.flatMap(({ kind, title }) => {
    const count = counts?.[kind] ?? 0
    return count > 0 ? [{ value: kind, name: `${title} (${number(count)})` }] : []
  })
  return [all, ...planned]
}

/** The groups that can be chosen; none if the source has no groups, or the visitor may not see them. */
async function groupOptions(run: Run, { control, notAllowed }: PageContext, chosen: string): Promise<Option[]> {
  if (notAllowed('listPlanGroups') !== null) return []
  const { data, count } = await control.listPlanGroups({ params: { runId: run.id }, query: { limit: maxGroups } })
  if (chosen === '' && !data.some(({ group }) => group !== null)) return []
  const listed = data.map(groupOption)
  const isListed = chosen === '' || listed.some(({ value }) => value === chosen)
  const all = count > data.length ? `All (${number(data.length)} of ${number(count)} groups listed)` : 'All'
  return [
    { value: '', name: all },
    ...(isListed ? [] : [{ value: chosen, name: groupNameIn(chosen) ?? 'No group' }]),
    ...listed,
  ]
}

function groupOption({ group, people }: PlanGroup): Option {
  return {
    value: group === null ? withoutGroup : `${ofGroup}${group}`,
    name: `${group ?? 'No group'} (${number(people)})`,
  }
}

/** The group in its text in the address; null: people without a group. */
function groupNameIn(text: string): string | null {
  return text.startsWith(ofGroup) ? text.slice(ofGroup.length) : null
}

function listingIn(fields: Fields): Listing {
  const group = fields('group')
  const isGroup = group === withoutGroup || (group.startsWith(ofGroup) && group.length > ofGroup.length)
  return {
    kind: kindOf(fields('kind')),
    group: isGroup ? group : '',
    search: fields('q').trim(),
    sort: sorts.find(({ value }) => value === fields('sort'))?.value ?? 'kind',
    after: fields('after'),
  }
}

function queryOf({ kind, group, search, sort, after }: Listing): Partial<ChangesQuery> {
  const name = groupNameIn(group)
  return {
    ...(kind !== null && { kind }),
    ...(name !== null && { group: name }),
    ...(group === withoutGroup && { withoutGroup: true }),
    // A search is always sorted by key.
    ...(search === '' ? { sort } : { search }),
    ...(after !== '' && { after }),
  }
}
