import { createHash } from 'node:crypto'
import { type Html, html } from '../../web/html.ts'

/** A report as one page that needs no other file, no script and no network. */
export function reportPage(title: string, body: Html): string {
  const hash = createHash('sha256').update(String(style)).digest('base64')
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>${style}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`
  return String(page)
}

const style = html`
:root { color-scheme: light dark; --ground: light-dark(#f4f6f5, #111716); --card: light-dark(#ffffff, #19211f); --line: light-dark(#d8dfdc, #313d3a);
  --text: light-dark(#17211f, #e6edea); --faint: light-dark(#54625e, #a3b2ad); --good: light-dark(#14523d, #a5e5c8); --good-ground: light-dark(#e0f2e9, #17352b);
  --bad: light-dark(#8a2015, #ffb8ad); --bad-ground: light-dark(#fbe6e3, #40201c); --bar-good: light-dark(#2d7d68, #4fb096); --bar-wait: light-dark(#b07d18, #d9aa45); --bar-bad: light-dark(#b3392c, #e8796a); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 0.95rem / 1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 78rem; margin-inline: auto; padding: 2rem 1.25rem 4rem; display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.25rem; }
h1 { margin: 0; font-size: 1.6rem; } h2 { overflow-wrap: anywhere; margin: 0 0 0.6rem; font-size: 1.15rem; } h3 { margin: 1.2rem 0 0.4rem; font-size: 1rem; } p { margin: 0.3rem 0; }
section { padding: 1.1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; }
.faint, td span, th span, th i { color: var(--faint); }
td span, th span { display: block; font-size: 0.85em; font-weight: 400; }
th b { display: block; } th i { font-size: 0.85em; font-style: normal; font-weight: 400; }
.verdict { margin: 0; padding: 0.8rem 1rem; border: 1px solid; border-inline-start-width: 0.4rem; border-radius: 0.6rem; background: var(--good-ground); color: var(--good); font-size: 1.05rem; }
.verdict.bad { background: var(--bad-ground); color: var(--bad); }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.45rem 0.6rem; border-block-start: 1px solid var(--line); text-align: start; vertical-align: top; }
thead th { border-block-start: 0; color: var(--faint); font-size: 0.82rem; font-weight: 600; }
tbody th { font-weight: 500; overflow-wrap: anywhere; }
.figure { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.bad { color: var(--bad); font-weight: 650; }
.leavers td { white-space: nowrap; } .leavers td.state { white-space: normal; min-width: 12rem; } .leavers th[scope="row"] { min-width: 14rem; }
.corrections th[scope="row"] { min-width: 6rem; } .corrections .day { white-space: nowrap; } .corrections .cell { min-width: 8rem; max-width: 24rem; overflow-wrap: anywhere; }
.bars { display: block; width: 100%; max-width: 46rem; min-width: 30rem; height: auto; }
.bars text { fill: var(--text); font-size: 14px; dominant-baseline: central; } .bars .label { text-anchor: end; fill: var(--faint); } .bars .value { font-weight: 600; }
.bar.good { fill: var(--bar-good); } .bar.wait { fill: var(--bar-wait); } .bar.bad { fill: var(--bar-bad); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.4rem 1.2rem; margin: 0; } dt { font-weight: 600; } dd { margin: 0; }
@media (max-width: 40rem) { dl { grid-template-columns: minmax(0, 1fr); } }
@page { size: A4 landscape; margin: 12mm; }
@media print {
  :root { color-scheme: light; }
  body { background: none; font-size: 9pt; print-color-adjust: exact; } main { display: block; max-width: none; padding: 0; }
  section { margin-block-start: 5mm; padding: 0; border: 0; background: none; } .verdict { margin-block-start: 4mm; } .wide { overflow: visible; }
  th, td { padding: 1.2mm 2mm; } tr, .chart, .meanings { break-inside: avoid; } thead { display: table-header-group; } h2, h3 { break-after: avoid; } .bars { max-width: 115mm; min-width: 0; }
}
`
