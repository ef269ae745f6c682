import { type Html, html } from './html.ts'

export type Bar = { readonly label: string; readonly value: number; readonly kind: 'good' | 'wait' | 'bad' }

const row = 34
const labelWidth = 190
const width = 720
const valueWidth = 60

/** Lying bars with their values, as a picture in the page. It needs no script, and its colours come from the style sheet of the page. */
export function bars(title: string, given: readonly Bar[]): Html {
  const most = Math.max(1, ...given.map(({ value }) => value))
  const height = given.length * row
  const lines = given.map(({ label, value, kind }, at) => {
    const long = (value / most) * (width - labelWidth - valueWidth)
    const middle = at * row + row / 2
    return html`<g><text class="label" x="${labelWidth - 12}" y="${middle}">${label}</text>
<rect class="bar ${kind}" x="${labelWidth}" y="${middle - 10}" width="${Math.max(value === 0 ? 1 : 3, long).toFixed(1)}" height="20" rx="3"/>
<text class="value" x="${(labelWidth + long + 10).toFixed(1)}" y="${middle}">${value}</text></g>
`
  })
  return html`<svg class="bars" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
<title>${title}</title>
${lines}</svg>`
}
