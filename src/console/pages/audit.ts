import type { TrailEntry } from '../../contract/control/trail.ts'
import { address } from '../../web/address.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { heading } from '../../web/layout.ts'
import { joined } from '../../web/parts.ts'
import { type Column, paging, table } from '../../web/tables.ts'
import { formatInstant, number, pluralize } from '../../web/words.ts'
import type { Site } from '../site/site.ts'
import { personLink, runHref, sentence, spaced } from '../site/words.ts'
import { auditFiles, maxFileEntries } from './audit-files.ts'
import { type AuditFilter, actName, auditFilter, auditFilterForm, auditQuery, isNarrowed } from './audit-filter.ts'

const perPage = 50
/** Maximum number of names shown for one detail; the files have all of them. */
const maxNames = 10

/** The page of the audit trail, and its files. */
export function auditPages(site: Site): void {
  site.page('/audit', async ({ control }, fields) => {
    const choices = await control.listAuditChoices({})
    const chosen = auditFilter(fields)
    const after = fields('after')
    const { data, next, unsigned } = await control.readAudit({
      query: { ...auditQuery(chosen), ...(after && { after }), limit: perPage },
    })
    const content = html`${heading({
      title: 'Audit trail',
      lead: html`Who did what and when, newest first. <code>rollcall audit export</code> exports it with its signatures.`,
    })}
${auditFilterForm(chosen, choices)}
<section class="card" id="entries" aria-label="Audit entries">
${unsigned !== null && html`<p class="notice bad">${pluralize(unsigned.entries, 'newer entry is', 'newer entries are')} not signed and not listed: ${sentence(unsigned.reason)}</p>`}
${(data.length > 0 || next !== null) && filesLine(chosen)}
${entriesTable(data, next === null ? (isNarrowed(chosen) ? 'No entry matches.' : 'There is no entry yet.') : 'No match on this page; the next page searches further.')}
${paging({ label: 'Pages of entries', path: '/audit', query: chosen, after, next })}
</section>`
    return { title: 'Audit trail', content, section: 'audit' }
  })
  auditFiles(site)
}

function filesLine(chosen: AuditFilter): Html {
  const link = (format: string) =>
    html`<a href="${address(`/audit/entries.${format}`, chosen)}" download>${format.toUpperCase()}</a>`
  return html`<p class="hint">Download ${isNarrowed(chosen) ? 'what the filter shows' : 'the entries'}: ${link('csv')}, ${link('json')}. A file holds the newest ${number(maxFileEntries)} of them.</p>`
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
      cell: ({ act, says }) =>
        html`${actName(act)} <span class="hint">${says !== null && html`${says} · `}<code>${act}</code></span>`,
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
      cell: ({ act, connection, details }) =>
        html`<div class="details">${Object.entries(details).map((detail) => detailText({ act, connection }, detail))}</div>`,
    },
  ]
  return table({
    caption: 'Audit entries, newest first',
    columns,
    rows: entries,
    empty,
  })
}

type DetailOwner = Pick<TrailEntry, 'act' | 'connection'>

function detailText(entry: DetailOwner, [name, value]: readonly [string, unknown]): Renderable {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return null
  const isKey = typeof value === 'string' && isOfPeople(entry.act, name)
  const text = Array.isArray(value) || isKey ? listText(entry, name, [value].flat()) : valueText(value)
  return html`<span class="hint">${spaced(name)}: ${text}</span>`
}

/** Whether a detail of an act has keys of people. */
function isOfPeople(act: string, name: string): boolean {
  return (act.startsWith('keys.') ? ['former', 'keys', 'key'] : ['people', 'refused']).includes(name)
}

/** The first members of a list; keys of people lead to their pages. */
function listText({ act, connection }: DetailOwner, name: string, value: readonly unknown[]): Html {
  const shown = value.slice(0, maxNames).map(String)
  const more = value.length - shown.length
  const isLinked = connection !== null && isOfPeople(act, name)
  const members = isLinked ? shown.map((identityId) => personLink({ connection, identityId })) : shown
  return html`${joined(members)}${more > 0 && ` and ${number(more)} more`}`
}

function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([name, inner]) => `${name} ${inner}`)
    .join(', ')
}
