import {
  type HandOverFormat,
  type HandOverGroup,
  type HandOverRow,
  handOverFormats,
} from '../../contract/control/hand-over.ts'
import {
  blocksText,
  departuresText,
  groupProblem,
  groupTitle,
  handOverSummary,
  placeText,
} from '../../contract/control/hand-over-texts.ts'
import { address } from '../../web/address.ts'
import { checkField, filterForm } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { badge } from '../../web/parts.ts'
import { type Column, table } from '../../web/tables.ts'
import { formatInstant, number } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { capital, connectionField } from '../site/words.ts'

/** Maximum number of rows of each group on the page; the files have all of them. */
const perGroup = 20
const title = 'Corrections for HR'
const descriptions: Readonly<Record<HandOverFormat, string>> = {
  xlsx: 'a workbook for Excel',
  csv: 'a table for a spreadsheet',
  html: 'a page to read and print',
}

/** Adds the page with what HR has to correct, and its files. */
export function handOverPages(site: Site): void {
  site.page('/problems/hr', async (context, fields) => {
    const { control } = context
    const { connections } = await control.about({})
    const query = handOverQuery(context, fields)
    const list = await control.getHandOver({ query: { ...query, perGroup } })
    const { connection = '', values } = query
    const content = html`${heading({ title, crumbs: [{ name: 'Problems', href: '/problems' }], lead: html`${handOverSummary(list)}.` })}
${filterForm({
  action: '/problems/hr',
  label: title,
  part: 'list',
  all: null,
  fields: html`${connectionField(connections, connection)}${seesValues(context.caller) && checkField({ name: 'values', label: 'With names and cells', checked: values })}`,
})}
<div id="list" class="live">
${list.count > 0 && card({ title: 'Files for HR', id: 'files', content: filesList(query) })}
${list.groups.map((group, at) => groupCard(group, at, values))}
${list.count === 0 && html`<p class="empty" role="status">Every row can be read, and no rows contradict each other.</p>`}
</div>`
    return { title, content, section: 'problems' }
  })

  site.file('/problems/hr/files/:name', async (context, fields) => {
    const format = handOverFormats.find((one) => fields('name') === `list.${one}`)
    if (format === undefined) return null
    const file = await context.control.getHandOverFile({ query: { ...handOverQuery(context, fields), format } })
    return { name: file.name, type: file.type, content: Buffer.from(file.content, 'base64') }
  })
}

type Query = { readonly connection?: string; readonly values: boolean }

function handOverQuery({ caller }: PageContext, fields: Fields): Query {
  const connection = fields('connection')
  return { ...(connection && { connection }), values: fields('values') !== '' && seesValues(caller) }
}

function filesList({ connection = '', values }: Query): Html {
  return html`<ul class="list">${(['xlsx', 'csv', 'html'] as const).map(
    (format) =>
      html`<li><a href="${address(`/problems/hr/files/list.${format}`, { connection, values })}" download>list.${format}</a> <span class="hint">${descriptions[format]}</span></li>`,
  )}</ul>
<p class="hint">${values ? 'The files have names and cells as HR wrote them.' : 'The files have keys, lines and columns, without names and cells.'}</p>`
}

function groupCard(group: HandOverGroup, at: number, values: boolean): Html {
  const { remedy, departures, entries, rows } = group
  return card({
    title: groupTitle(group),
    id: `group-${at}`,
    ...(departures > 0 && { tone: 'bad' as const, aside: badge(departuresText(departures), 'bad') }),
    content: html`<p><strong>${remedy}</strong></p>
<p class="hint">${groupProblem(group)}.</p>
<details><summary>${showText(group)}</summary>
${rowsTable(group, values)}${entries > rows.length && html`<p class="hint">The first ${rows.length} are shown; the files have all of them.</p>`}
</details>`,
  })
}

function showText({ kind, entries }: HandOverGroup): string {
  const noun = kind === 'event' ? 'event' : 'row'
  return entries === 1 ? `Show the ${noun}` : `Show the ${noun}s (${number(entries)})`
}

function rowsTable(group: HandOverGroup, values: boolean): Html {
  const columns: readonly Column<HandOverRow>[] = [
    {
      name: 'Person',
      kind: 'row',
      cell: ({ identityId, name }) =>
        html`${name && html`${name} `}${identityId === null ? 'Key not readable' : name ? html`<span class="hint">${identityId}</span>` : identityId}`,
    },
    {
      name: group.kind === 'event' ? 'Event' : 'File and line',
      kind: 'long',
      cell: (row) =>
        html`${placeText(row, group.kind)}${row.rows > 1 && html`<span class="hint">${number(row.rows)} such rows</span>`}`,
    },
    ...(values ? [{ name: 'Cell', kind: 'long' as const, cell: ({ cell }: HandOverRow) => cell ?? '–' }] : []),
    {
      name: 'Blocks',
      kind: 'long',
      cell: (row) =>
        html`${capital(blocksText(row, group.kind))}${row.problem !== group.problem && html`<span class="hint">${capital(row.problem)}</span>`}`,
    },
    { name: 'Since', cell: ({ firstAt }) => formatInstant(firstAt) },
  ]
  return table({ caption: `Rows: ${groupTitle(group)}`, columns, rows: group.rows, empty: 'None.' })
}
