import {
  type AccountedPerson,
  platformParts,
  rowParts,
  type Statement,
  statedParts,
} from '../../contract/control/statements.ts'
import { address } from '../../web/address.ts'
import { filterForm, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { definitions } from '../../web/parts.ts'
import { type Column, paging, table } from '../../web/tables.ts'
import { formatInstant, number } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { capital, personCell, runHref } from '../site/words.ts'

const perPage = 50

/** Adds the page with the population statement of a connection, and the people behind each of its counts. */
export function statementPages(site: Site): void {
  site.page('/connections/:connection/statement', async (context, fields) => {
    const connection = fields('connection')
    const at = fields('at')
    const params = { connection }
    const statement = await context.control.getStatement({ params, query: at === '' ? {} : { at } })
    const { stated, platform, rows, madeAt } = statement
    const page = `/connections/${encodeURIComponent(connection)}/statement`
    const listOf = (side: string) => (part: string) => `${address(page, { at, side, part })}#people`
    const content = html`${heading({
      title: `Population of ${connection}`,
      crumbs: [{ name: 'Reports', href: '/reports' }],
      lead: html`As of ${formatInstant(madeAt)}, after the last accepted run.`,
    })}
${filterForm({
  action: page,
  label: 'Day',
  part: 'statement',
  all: at === '' ? null : page,
  fields: textField({ name: 'at', label: 'Day', type: 'date', value: at.slice(0, 10) }),
})}
<div id="statement" class="live">
${resultCard(statement)}
${partsCard('People stated by HR', stated.exported + stated.further, partsOf(statedParts, stated.parts), listOf('stated'))}
${partsCard('People on the platform', platform.records, partsOf(platformParts, platform.parts), listOf('platform'))}
${rows && partsCard('Rows of the export', rows.delivered, partsOf(rowParts, rows.parts))}
${fields('part') !== '' && (await peopleCard(context, fields, page))}
</div>`
    return { title: `Population of ${connection}`, content, section: 'reports' }
  })
}

function resultCard(statement: Statement): Html {
  const { addsUp, differences, unaccounted, runId, madeAt, rules, unstatedRunId } = statement
  const accounted =
    unstatedRunId === undefined
      ? 'Everybody is accounted for'
      : html`Everybody was accounted for at ${formatInstant(madeAt)}`
  const source = statement.export
  const keys = unaccounted.length > 0 && html`<p>${unaccounted.join(', ')}</p>`
  return card({
    title: addsUp ? accounted : 'The statement does not add up',
    id: 'result',
    content: html`${unstatedRunId !== undefined && html`<p>No statement could be made after the later run <a href="${runHref(unstatedRunId)}">${unstatedRunId}</a>.</p>`}
${!addsUp && html`<ul class="list">${differences.map((text) => html`<li>${capital(text)}</li>`)}</ul>${keys}`}
${definitions([
  ['Run', html`<a href="${runHref(runId)}">${runId}</a>`],
  [
    'Export',
    source &&
      (source.runId === null
        ? source.name
        : html`<a href="/sources/${source.runId}">${source.name ?? 'not known'}</a>`),
  ],
  ['Data from HR', source && formatInstant(source.asOf)],
  ['End of the export', source && (source.end ?? 'It was read to its end')],
  ['SHA-256 of its file', source?.sha256 && html`<code>${source.sha256}</code>`],
  ['SHA-256 of its keys', source && html`<code>${source.keys}</code>`],
  ['Rules', rules && html`<code>${rules}</code>`],
])}`,
  })
}

type Part = { readonly name: string; readonly text: string; readonly count: number }

function partsOf<T extends string>(texts: Readonly<Record<T, string>>, counts: Readonly<Record<T, number>>): Part[] {
  return (Object.entries(texts) as [T, string][]).map(([name, text]) => ({ name, text, count: counts[name] }))
}

/** The parts that hold anybody, and their sum. `hrefOf`: the list behind a count. */
function partsCard(title: string, total: number, parts: readonly Part[], hrefOf?: (part: string) => string): Html {
  const columns: readonly Column<Part>[] = [
    { name: 'Part', kind: 'row', cell: ({ text }) => capital(text) },
    {
      name: 'Count',
      kind: 'figure',
      cell: ({ name, count, text }) =>
        hrefOf
          ? html`<a href="${hrefOf(name)}" aria-label="${number(count)}: ${text}">${number(count)}</a>`
          : number(count),
    },
  ]
  return card({
    title: html`${title} <span class="faint">${number(total)}</span>`,
    id: title.toLowerCase().replaceAll(' ', '-'),
    content: table({ caption: title, columns, rows: parts.filter(({ count }) => count > 0), empty: 'Nobody.' }),
  })
}

/** The people in the part that the address names, page by page; with names for those who may see them. */
async function peopleCard(context: PageContext, fields: Fields, page: string): Promise<Html> {
  const [connection, at, part] = [fields('connection'), fields('at'), fields('part')]
  const side = fields('side') === 'platform' ? 'platform' : 'stated'
  const { data, next } = await context.control.listStatementPeople({
    params: { connection },
    query: {
      ...(at !== '' && { at }),
      ...(fields('after') !== '' && { after: fields('after') }),
      ...{ side, part, limit: perPage, values: seesValues(context.caller) },
    },
  })
  const texts: Readonly<Record<string, string>> = side === 'stated' ? statedParts : platformParts
  const columns: readonly Column<AccountedPerson>[] = [
    { name: 'Person', kind: 'row', cell: (person) => personCell({ connection, ...person, name: person.name ?? null }) },
    { name: 'On the platform', cell: ({ onPlatform }) => onPlatform ?? 'no' },
    { name: 'Detail', kind: 'long', cell: ({ detail }) => detail ?? '' },
    { name: 'Since', cell: ({ sinceRunId }) => sinceRunId && html`<a href="${runHref(sinceRunId)}">this run</a>` },
  ]
  return card({
    title: capital(texts[part] ?? part),
    id: 'people',
    content: html`${table({ caption: 'People in this part', columns, rows: data, empty: 'Nobody.' })}
${paging({ label: 'Pages of people', path: page, query: { at, side, part }, after: fields('after'), next, anchor: 'people' })}`,
  })
}
