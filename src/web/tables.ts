import { address } from './address.ts'
import { type Html, html, type Renderable } from './html.ts'

/** A column of a table. */
export type Column<Row> = {
  /** Stands above the column, and beside each cell where the screen is narrow. */
  readonly name: string
  readonly cell: (row: Row) => Renderable
  /** `row`: what the row is about. `figure`: numbers. `action`: what can be done; its name is for screen readers alone. */
  readonly kind?: 'row' | 'figure' | 'action' | 'long'
}

type TableOptions<Row> = {
  readonly caption: Renderable
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** What is said where there is no row. */
  readonly empty: Renderable
}

/** A table that becomes a list of cards where the screen is narrow. */
export function table<Row>({ caption, columns, rows, empty }: TableOptions<Row>): Html {
  if (rows.length === 0) return html`<p class="empty" role="status">${empty}</p>`
  return html`<table role="table">
<caption class="unseen">${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(({ name, kind }) => html`<th role="columnheader" scope="col" class="${kind}">${kind === 'action' ? html`<span class="unseen">${name}</span>` : name}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => html`<tr role="row">${columns.map((column) => cellOf(column, row))}</tr>\n`)}</tbody>
</table>`
}

function cellOf<Row>({ name, kind, cell }: Column<Row>, row: Row): Html {
  if (kind === 'row') return html`<th role="rowheader" scope="row" class="row-name">${cell(row)}</th>`
  if (kind === 'action') return html`<td role="cell" class="action">${cell(row)}</td>`
  return html`<td role="cell" class="${kind}" data-label="${name}">${cell(row)}</td>`
}

/** Where a list stands among its pages, and how its other pages are addressed. */
type Paging = {
  readonly label: string
  readonly path: string
  /** What the address says of the list besides its page. */
  readonly query: Readonly<Record<string, string | boolean | null | undefined>>
  /** What the address names the page by. */
  readonly name?: string
  /** The page that is shown; empty: the first. */
  readonly after: string
  readonly next: string | null
  /** The id of the list within the page. */
  readonly anchor?: string
}

/** Leads to the first page and to the next one of a list; nothing where there is one page alone. */
export function paging({ label, path, query, name = 'after', after, next, anchor }: Paging): Html | null {
  if (after === '' && next === null) return null
  const to = (page: string | null) =>
    address(path, { ...query, [name]: page }) + (anchor === undefined ? '' : `#${anchor}`)
  return html`<nav class="paging" aria-label="${label}">
${after !== '' && html`<a class="button" href="${to(null)}">First page</a>`}
${next !== null && html`<a class="button" rel="next" href="${to(next)}">Next page</a>`}
</nav>`
}

type Tile = {
  readonly name: string
  readonly count?: number
  readonly href: string
  readonly current: boolean
}

/** A few ways to narrow a list, with how much each would show. */
export function tiles(label: string, items: readonly Tile[]): Html {
  return html`<nav aria-label="${label}"><ul class="tiles">${items.map(({ name, count, href, current }) => html`<li><a class="tile" href="${href}"${current && html` aria-current="true"`}><span>${name}</span>${count !== undefined && html` <b>${count.toLocaleString('en')}</b>`}</a></li>\n`)}</ul></nav>`
}
