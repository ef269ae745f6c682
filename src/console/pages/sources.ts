import { type SourceOutcome, type SourceReading, sourceOutcomes } from '../../contract/control/sources.ts'
import { filterForm } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { badge, definitions, type Tone } from '../../web/parts.ts'
import { type Column, paging, table } from '../../web/tables.ts'
import { formatInstant, formatRelativeTime, number } from '../../web/words.ts'
import type { SharedContext, Site } from '../site/site.ts'
import {
  capital,
  connectionField,
  fieldName,
  guardsInWords,
  runHref,
  sentence,
  triggers,
  withCode,
} from '../site/words.ts'

const perPage = 50

const outcomes: Readonly<Record<SourceOutcome, { readonly name: string; readonly tone: Tone }>> = {
  reading: { name: 'Being read', tone: 'busy' },
  nothing_new: { name: 'Nothing newer', tone: 'plain' },
  accepted: { name: 'Accepted', tone: 'good' },
  held: { name: 'Held', tone: 'wait' },
  refused: { name: 'Rejected', tone: 'plain' },
  superseded: { name: 'Superseded', tone: 'plain' },
  cancelled: { name: 'Cancelled', tone: 'plain' },
  failed: { name: 'Failed', tone: 'bad' },
}

/** Adds the list of exports with their results, and the page of one export. */
export function sourcePages(site: Site): void {
  site.sharedPage('/sources', async (context, fields) => {
    const { control } = context
    const { connections } = await control.about({})
    const chosen = { connection: fields('connection') }
    const { data, next } = await control.listSources({
      query: {
        ...(chosen.connection && { connection: chosen.connection }),
        ...(fields('after') && { after: fields('after') }),
        limit: perPage,
      },
    })
    const content = html`${heading({ title: 'Sources', lead: 'The exports that Rollcall has read, newest first, and the result of each.' })}
${filterForm({
  action: '/sources',
  label: 'Sources',
  part: 'sources',
  all: chosen.connection === '' ? null : '/sources',
  fields: connectionField(connections, chosen.connection),
})}
<section class="card" id="sources" aria-label="Sources">
${sourcesTable(data, context)}
${paging({ label: 'Pages of sources', path: '/sources', query: chosen, after: fields('after'), next })}
</section>`
    return { title: 'Sources', content, section: 'sources' }
  })

  site.sharedPage('/sources/:runId', async ({ control }, fields) => {
    const source = await control.getSource({ params: { runId: fields('runId') } })
    const { header, warnings } = source
    const title = source.name ?? 'No export'
    const content = html`${heading({
      title,
      crumbs: [{ name: 'Sources', href: '/sources' }],
      lead: capital(`${sourceOutcomes[source.outcome]}.`),
    })}
<section class="card" aria-label="What was read">
${definitions([
  ['Connection', source.connection],
  ['Result', outcomeBadge(source)],
  ['Why', source.reason && reasonOf(source.outcome, source.reason)],
  [
    'Read by',
    html`<a href="${runHref(source.runId)}">the run</a> of ${formatInstant(source.at)}, started by ${triggers[source.trigger]}`,
  ],
  ['Data from HR', source.asOf && formatInstant(source.asOf)],
  [
    'Kind',
    source.mode &&
      (source.mode === 'snapshot' ? 'snapshot: people missing from it may have left' : 'delta: changes only'),
  ],
  ['Size', source.bytes !== null && `${number(source.bytes)} bytes`],
  ['Rows', source.rows !== null && number(source.rows)],
  ['Records', source.records !== null && number(source.records)],
  ['Rejected rows', source.rejected],
  ['Rows with a bad cell', source.incomplete],
])}
</section>
${card({
  title: 'Columns',
  id: 'columns',
  content:
    header === null
      ? html`<p class="empty">No columns are known: nothing was read, or the header was not understood.</p>`
      : html`${table({
          caption: 'Columns by field',
          columns: [
            {
              name: 'Field',
              kind: 'row',
              cell: ({ field }) => html`${fieldName(field)} <span class="hint"><code>${field}</code></span>`,
            },
            { name: 'Column', kind: 'long', cell: ({ column }) => column },
          ],
          rows: header.mapped,
          empty: 'No field is read from a column.',
        })}
<h3>Columns that are not read</h3>
${header.left.length === 0 ? html`<p class="empty">Every column is read.</p>` : html`<ul class="list">${header.left.map((column) => html`<li>${column}</li>`)}</ul>`}`,
})}
${
  warnings.length > 0 &&
  card({
    title: 'Warnings',
    id: 'warnings',
    content: html`<ul class="list">${warnings.map((warning) => html`<li>${warning}</li>`)}</ul>`,
  })
}`
    return { title, content, section: 'sources' }
  })
}

function sourcesTable(readings: readonly SourceReading[], { now }: SharedContext): Html {
  const columns: readonly Column<SourceReading>[] = [
    {
      name: 'Export',
      kind: 'row',
      cell: ({ runId, name, connection }) =>
        html`<a href="${`/sources/${runId}`}">${name ?? 'no export'}</a> <span class="hint">${connection}</span>`,
    },
    {
      name: 'Received',
      cell: ({ at }) => html`${formatInstant(at)} <span class="hint">${formatRelativeTime(at, now)}</span>`,
    },
    {
      name: 'Result',
      kind: 'long',
      cell: (reading) =>
        html`${outcomeBadge(reading)}${reading.reason && html`<span class="hint">${reasonOf(reading.outcome, reading.reason)}</span>`}`,
    },
    { name: 'Rows', kind: 'figure', cell: ({ rows }) => rows !== null && number(rows) },
    { name: 'Rejected', kind: 'figure', cell: ({ rejected }) => rejected !== null && number(rejected) },
    { name: 'Data from HR', cell: ({ asOf }) => asOf !== null && formatInstant(asOf) },
  ]
  return table({
    caption: 'Exports, newest first',
    columns,
    rows: readings,
    empty: html`No export has been read yet. This page shows the result of each export: its rows, its columns and what could not be read. The first run reads one. <a href="/docs/sources">Which exports Rollcall reads</a>`,
  })
}

function reasonOf(outcome: SourceOutcome, reason: string): Html {
  return withCode(sentence(outcome === 'held' ? guardsInWords(reason) : reason))
}

function outcomeBadge({ outcome }: SourceReading): Html {
  return badge(outcomes[outcome].name, outcomes[outcome].tone)
}
