import type { PersonSearchResult } from '../../contract/control/people.ts'
import { filterForm, textField } from '../../web/forms.ts'
import { html } from '../../web/html.ts'
import { heading } from '../../web/layout.ts'
import { badge, type Tone } from '../../web/parts.ts'
import { type Column, paging, table } from '../../web/tables.ts'
import { day } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { PageContext, Site } from '../site/site.ts'
import { capital, connectionField, whoText } from '../site/words.ts'

const perPage = 50

/** Adds the page that searches for people in all connections. */
export function peoplePages(site: Site): void {
  site.page('/people', async (context, fields) => {
    const { connections } = await context.control.about({})
    const [connection, search, after] = [fields('connection'), fields('q'), fields('after')]
    const seesNames = seesValues(context.caller)
    const content = html`${heading({ title: 'People', lead: 'What HR says about a person, and what the platform has.' })}
${filterForm({
  action: '/people',
  label: 'People',
  part: 'people',
  all: search === '' && connection === '' ? null : '/people',
  fields: html`${textField({
    name: 'q',
    label: seesNames ? 'Key, e-mail or name' : 'Key',
    type: 'search',
    value: search,
    maxLength: 320,
    placeholder: 'Any part',
  })}${connectionField(connections, connection)}`,
})}
<section class="card" id="people" aria-label="People">
${await searchResults(context, { connection, search, after })}
</section>`
    return { title: 'People', content, section: 'people' }
  })
}

type PeopleSearch = { readonly connection: string; readonly search: string; readonly after: string }

async function searchResults({ control }: PageContext, { connection, search, after }: PeopleSearch) {
  const { data, next } = await control.searchPeople({
    query: { ...(connection && { connection }), ...(search && { search }), ...(after && { after }), limit: perPage },
  })
  return html`${table({
    caption: 'People, by key',
    columns,
    rows: data,
    empty:
      next === null
        ? search === ''
          ? html`No people yet. After the first run, this page lists everybody in HR’s list. To start a run, choose a connection on <a href="/">the overview</a>, then “Read now”.`
          : 'Nobody was found.'
        : 'No match on this page; the next page searches further.',
  })}
${paging({ label: 'Pages of people', path: '/people', query: { connection, q: search }, after, next })}`
}

const stateTones: Readonly<Record<PersonSearchResult['state'], Tone>> = {
  employed: 'good',
  left: 'plain',
  retracted: 'plain',
}

const columns: readonly Column<PersonSearchResult>[] = [
  { name: 'Person', kind: 'row', cell: (one) => whoText(one, one.person) },
  { name: 'Connection', kind: 'long', cell: ({ connection }) => connection },
  { name: 'HR says', cell: ({ state }) => badge(capital(state), stateTones[state]) },
  { name: 'First day', cell: ({ person }) => dayOf(person.startedAt) },
  { name: 'Last day', cell: ({ person }) => dayOf(person.separatedAt) },
]

function dayOf(value: PersonSearchResult['person'][string] | undefined) {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value)) && day(value)
}
