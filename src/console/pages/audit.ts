import type { TrailEntry } from '../../contract/control/trail.ts'
import { filterForm, textField } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { heading } from '../../web/layout.ts'
import { joined } from '../../web/parts.ts'
import { type Column, paging, table } from '../../web/tables.ts'
import { formatInstant } from '../../web/words.ts'
import type { Site } from '../site/site.ts'
import { connectionField, personLink, runHref, spaced } from '../site/words.ts'

const perPage = 50
/** Maximum number of names shown for one detail; the export has all of them. */
const maxNames = 10

/** The page of the audit trail. */
export function auditPages(site: Site): void {
  site.page('/audit', async ({ control }, fields) => {
    const { connections } = await control.about({})
    const chosen = { act: fields('act'), by: fields('by'), connection: fields('connection'), person: fields('person') }
    const { act, by, connection, person } = chosen
    const { data, next } = await control.readAudit({
      query: {
        ...(act && { act }),
        ...(by && { by }),
        ...(connection && { connection }),
        ...(person && { identityId: person }),
        ...(fields('after') && { after: fields('after') }),
        limit: perPage,
      },
    })
    const isNarrowed = Object.values(chosen).some((value) => value !== '')
    const content = html`${heading({
      title: 'Audit trail',
      lead: html`Who did what and when, newest first. <code>rollcall audit export</code> exports it with its signatures.`,
    })}
${filterForm({
  action: '/audit',
  label: 'Audit trail',
  part: 'entries',
  all: isNarrowed ? '/audit' : null,
  fields: html`${textField({ name: 'act', label: 'Action', value: act, placeholder: 'run.approved', maxLength: 100 })}${textField(
    {
      name: 'by',
      label: 'Done by',
      value: by,
      maxLength: 191,
    },
  )}${connectionField(connections, connection)}${textField({ name: 'person', label: 'Key of a person', value: person, maxLength: 320 })}`,
})}
<section class="card" id="entries" aria-label="Audit entries">
${entriesTable(data, next === null ? (isNarrowed ? 'No entry matches.' : 'There is no entry yet.') : 'No match on this page; the next page searches further.')}
${paging({ label: 'Pages of entries', path: '/audit', query: chosen, after: fields('after'), next })}
</section>`
    return { title: 'Audit trail', content, section: 'audit' }
  })
}

function entriesTable(entries: readonly TrailEntry[], empty: string): Html {
  const columns: readonly Column<TrailEntry>[] = [
    {
      name: 'When',
      kind: 'row',
      cell: ({ at, ordinal }) => html`${formatInstant(at)} <span class="hint">entry ${ordinal}</span>`,
    },
    {
      name: 'Action',
      kind: 'long',
      cell: ({ act, says }) => html`<code>${act}</code>${says !== null && html`<span class="hint">${says}</span>`}`,
    },
    { name: 'By', kind: 'long', cell: ({ by }) => by },
    {
      name: 'About',
      kind: 'long',
      cell: ({ connection, identityId, runId }) =>
        joined([
          connection,
          connection !== null && identityId !== null && personLink({ connection, identityId }),
          runId !== null && html`<a href="${runHref(runId)}">the run</a>`,
        ]),
    },
    {
      name: 'Details',
      kind: 'long',
      cell: ({ details }) => html`<div class="details">${Object.entries(details).map(detailText)}</div>`,
    },
  ]
  return table({
    caption: 'Audit entries, newest first',
    columns,
    rows: entries,
    empty,
  })
}

function detailText([name, value]: readonly [string, unknown]): Renderable {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return null
  return html`<span class="hint">${spaced(name)}: ${valueText(value)}</span>`
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) {
    const more = value.length - maxNames
    return `${value.slice(0, maxNames).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  }
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([name, inner]) => `${name} ${inner}`)
    .join(', ')
}
