import { platformParts, rowParts, type Statement, statedParts } from '../../contract/control/statements.ts'
import { type Html, html } from '../../web/html.ts'
import { reportPage } from './report-page.ts'

/** A population statement as one page that needs no other file. */
export function statementPage(statement: Statement): string {
  const { connection, madeAt, runId, rows, stated, platform, addsUp, differences, unaccounted, unstatedRunId } =
    statement
  const source = statement.export
  const [kind, accounted] =
    unstatedRunId === undefined
      ? ['verdict good', 'Everybody is accounted for.']
      : ['faint', `Everybody was accounted for at ${madeAt}.`]
  const body = html`<header>
<h1>Population of ${connection}, ${madeAt.slice(0, 10)}</h1>
<p class="faint">Made at ${madeAt}, after run ${runId}, by the rules ${statement.rules ?? 'unknown'}.</p>
${source && html`<p class="faint">Export ${source.name ?? ''} as of ${source.asOf}, version ${source.version ?? 'unknown'}. ${source.end ?? 'It was read to its end.'} ${source.sha256 && `SHA-256 of its file: ${source.sha256}.`} SHA-256 of its keys: ${source.keys}.</p>`}
</header>
${unstatedRunId !== undefined && html`<p class="verdict bad">No statement could be made after the later run ${unstatedRunId}.</p>`}
<p class="${addsUp ? kind : 'verdict bad'}">${addsUp ? accounted : html`<strong>It does not add up</strong>: ${differences.join('; ')}. ${unaccounted.join(', ')}`}</p>
${section('People stated by HR', stated.exported + stated.further, partsOf(statedParts, stated.parts))}
${section('Records on the platform', platform.records, partsOf(platformParts, platform.parts))}
${rows && section('Rows of the export', rows.delivered, partsOf(rowParts, rows.parts))}`
  return reportPage(`Population of ${connection}, ${madeAt.slice(0, 10)}`, body)
}

type Part = readonly [text: string, count: number]

function partsOf<T extends string>(texts: Readonly<Record<T, string>>, counts: Readonly<Record<T, number>>): Part[] {
  return (Object.entries(texts) as [T, string][]).map(([name, text]) => [text, counts[name]] as const)
}

function section(title: string, total: number, parts: readonly Part[]): Html {
  return html`<section>
<h2>${title}</h2>
<div class="wide" role="region" tabindex="0" aria-label="${title}"><table>
<tbody>${parts.map(
    ([text, count]) => html`<tr><th scope="row">${text}</th><td class="figure">${count}</td></tr>
`,
  )}<tr><th scope="row"><b>together</b></th><td class="figure"><b>${total}</b></td></tr></tbody>
</table></div>
</section>`
}
