import { scaleBand, scaleLinear, scaleUtc } from 'd3-scale'
import { area, curveMonotoneX, line, stack } from 'd3-shape'
import { type Html, html, type Renderable } from './html.ts'

// Charts are drawn here as SVG in the page. They need no script, and their colours come from the style sheet of the page.

const wholeNumbers = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** One bar with its label. */
export type Bar = { readonly label: string; readonly value: number; readonly kind: 'good' | 'wait' | 'bad' }

const barRowHeight = 34
const barLabelWidth = 190
const barsWidth = 720
const barValueWidth = 60

/** Horizontal bars with their values. */
export function bars(title: string, entries: readonly Bar[]): Html {
  const height = entries.length * barRowHeight
  const most = Math.max(1, ...entries.map(({ value }) => value))
  const lengthOf = scaleLinear([0, most], [0, barsWidth - barLabelWidth - barValueWidth])
  const row = scaleBand(
    entries.map((_, index) => index),
    [0, height],
  )
  const lines = entries.map(({ label, value, kind }, index) => {
    const middle = (row(index) ?? 0) + row.bandwidth() / 2
    return html`<g><text class="label" x="${barLabelWidth - 12}" y="${middle}">${label}</text>
<rect class="bar ${kind}" x="${barLabelWidth}" y="${middle - 10}" width="${Math.max(value === 0 ? 1 : 3, lengthOf(value)).toFixed(1)}" height="20" rx="3"/>
<text class="value" x="${(barLabelWidth + lengthOf(value) + 10).toFixed(1)}" y="${middle}">${wholeNumbers.format(value)}</text></g>
`
  })
  return html`<svg class="bars" viewBox="0 0 ${barsWidth} ${height}" role="img" aria-label="${title}">
<title>${title}</title>
${lines}</svg>`
}

type Point = { readonly at: Date; readonly value: number }

type Chart = {
  /** Its id in the page. */
  readonly id: string
  readonly title: string
  /** A sentence that describes the chart for those who do not see it. */
  readonly description: string
}

const width = 340
const height = 100
const margin = { top: 8, right: 6, bottom: 22, left: 46 }
const plotArea = { right: width - margin.right, bottom: height - margin.bottom }
const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const datesInFull = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })

/** A line over time with the area below it. The scale begins at the smallest value, so that a small change is visible. */
export function lineChart({ points, unit, ...chart }: Chart & { points: readonly Point[]; unit: string }): Html {
  const [first, last] = [points.at(0), points.at(-1)]
  if (first === undefined || last === undefined) return emptyChart(chart.title)
  const values = points.map(({ value }) => value)
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const room = Math.max(1, (most - least) / 4)
  const x = scaleUtc([first.at, last.at], [margin.left, plotArea.right])
  const y = scaleLinear([Math.max(0, least - room), most + room], [plotArea.bottom, margin.top]).nice(3)
  const xOf = ({ at }: Point) => x(at)
  const filled = area<Point>()
    .x(xOf)
    .y0(plotArea.bottom)
    .y1(({ value }) => y(value))
    .curve(curveMonotoneX)
  const drawn = line<Point>()
    .x(xOf)
    .y(({ value }) => y(value))
    .curve(curveMonotoneX)
  return figure(chart, {
    picture: html`${valueAxis(y.ticks(2).filter(Number.isInteger), y)}${timeAxis([first.at, last.at], x)}
<path class="area" d="${filled(points as Point[])}"/><path class="line" d="${drawn(points as Point[])}"/><circle class="end" cx="${x(last.at).toFixed(1)}" cy="${y(last.value).toFixed(1)}" r="3"/>`,
    columns: [unit],
    rows: points.map(({ at, value }) => ({ at, values: [value] })),
  })
}

type Series = { readonly name: string; readonly tone: 'one' | 'two' | 'three' | 'four' }
type StackedPoint = { readonly at: Date; readonly values: readonly number[] }

/** A bar for each day, in parts. */
export function stackedBars({
  series,
  points,
  ...chart
}: Chart & { readonly series: readonly Series[]; readonly points: readonly StackedPoint[] }): Html {
  const [first, last] = [points.at(0), points.at(-1)]
  if (first === undefined || last === undefined) return emptyChart(chart.title)
  const most = Math.max(1, ...points.map(({ values }) => values.reduce((sum, value) => sum + value, 0)))
  const x = scaleBand(
    points.map((_, index) => index),
    [margin.left, plotArea.right],
  ).paddingInner(0.25)
  const y = scaleLinear([0, most], [plotArea.bottom, margin.top]).nice(3)
  const parts = stack<StackedPoint, number>()
    .keys(series.map((_, index) => index))
    .value(({ values }, key) => values[key] ?? 0)(points as StackedPoint[])
  const drawn = parts.map((part, seriesIndex) =>
    part.flatMap(([from, to], index) => {
      if (to === from) return []
      const [top, barHeight] = [y(to), Math.max(1, y(from) - y(to))]
      return [
        html`<rect class="part ${series[seriesIndex]?.tone}" x="${(x(index) ?? 0).toFixed(1)}" y="${top.toFixed(1)}" width="${x.bandwidth().toFixed(1)}" height="${barHeight.toFixed(1)}"/>`,
      ]
    }),
  )
  const times = scaleUtc([first.at, last.at], [margin.left, plotArea.right])
  return figure(chart, {
    picture: html`${valueAxis(y.ticks(2).filter(Number.isInteger), y)}${timeAxis([first.at, last.at], times)}${drawn}`,
    legend: html`<ul class="legend">${series.map(({ name, tone }) => html`<li class="${tone}">${name}</li>`)}</ul>`,
    columns: series.map(({ name }) => name),
    rows: points,
  })
}

type ChartContent = {
  readonly picture: Renderable
  readonly legend?: Renderable
  readonly columns: readonly string[]
  readonly rows: readonly StackedPoint[]
}

function figure({ id, title, description }: Chart, { picture, legend, columns, rows }: ChartContent): Html {
  return html`<figure class="chart"><figcaption>${title}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${id}-title ${id}-description"><title id="${id}-title">${title}</title><desc id="${id}-description">${description}</desc>
${picture}</svg>${legend}
<details><summary>Figures<span class="unseen"> of ${title}</span></summary><div class="scrolled" role="region" tabindex="0" aria-label="${title}"><table class="plain">
<caption class="unseen">${title}</caption>
<thead><tr><th scope="col">Day</th>${columns.map((name) => html`<th scope="col" class="figure">${name}</th>`)}</tr></thead>
<tbody>${rows.toReversed().map(({ at, values }) => html`<tr><th scope="row">${datesInFull.format(at)}</th>${values.map((value) => html`<td class="figure">${wholeNumbers.format(value)}</td>`)}</tr>`)}</tbody>
</table></div></details></figure>`
}

function emptyChart(title: string): Html {
  return html`<figure class="chart"><figcaption>${title}</figcaption><p class="empty">No data yet.</p></figure>`
}

function valueAxis(ticks: readonly number[], y: (value: number) => number): Html[] {
  return ticks.map(
    (tick) =>
      html`<line class="grid" x1="${margin.left}" x2="${plotArea.right}" y1="${y(tick).toFixed(1)}" y2="${y(tick).toFixed(1)}"/><text class="tick" x="${margin.left - 6}" y="${y(tick).toFixed(1)}">${wholeNumbers.format(tick)}</text>`,
  )
}

/** Names the first and the last day; a single day once. */
function timeAxis([from, to]: readonly [Date, Date], x: (at: Date) => number): Html {
  const last = html`<text class="tick" x="${x(to).toFixed(1)}" y="${height - 9}">${days.format(to)}</text>`
  if (from.getTime() === to.getTime()) return last
  return html`<text class="tick from" x="${x(from).toFixed(1)}" y="${height - 9}">${days.format(from)}</text>${last}`
}
