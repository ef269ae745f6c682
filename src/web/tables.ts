import { address } from './address.ts'
import { type Html, html, type Renderable } from './html.ts'

/** A column of a table. */
export type Column<Row> = {
  /** The header of the column, shown beside each cell on a narrow screen. */
  readonly name: string
  readonly cell: (row: Row) => Renderable
  /**
   * `row`: the subject of the row. `figure`: numbers. `action`: what can be done; its name is for screen readers only. `long`: texts.
   * `sentence`: texts of several lines, which take the whole width of a narrow screen.
   */
  readonly kind?: 'row' | 'figure' | 'action' | 'long' | 'sentence'
}

type TableOptions<Row> = {
  readonly caption: Renderable
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** The text for a table without rows. */
  readonly empty: Renderable
}

/** A table that becomes a list of cards on a narrow screen. */
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

/** The position of a list among its pages, and the addresses of its other pages. */
type Paging = {
  readonly label: string
  readonly path: string
  /** The query of the list besides its page. */
  readonly query: Readonly<Record<string, string | boolean | null | undefined>>
  /** The name of the page in the query. */
  readonly name?: string
  /** The page that is shown; empty: the first. */
  readonly after: string
  readonly next: string | null
  /** The id of the list within the page. */
  readonly anchor?: string
}

/** Links to the first and the next page of a list; nothing if there is only one page. */
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

/** Options to narrow a list, with the number of entries of each. */
export function tiles(label: string, items: readonly Tile[]): Html {
  return html`<nav aria-label="${label}"><ul class="tiles">${items.map(({ name, count, href, current }) => html`<li><a class="tile" href="${href}"${current && html` aria-current="true"`}><span>${name}</span>${count !== undefined && html` <b>${count.toLocaleString('en')}</b>`}</a></li>\n`)}</ul></nav>`
}
