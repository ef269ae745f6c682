import {
  type AccountedPerson,
  platformParts,
  rowParts,
  type Statement,
  statedParts,
} from '../../contract/control/statements.ts'
import { Failure } from '../../errors.ts'
import { address } from '../../web/address.ts'
import { filterForm, textField } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { definitions } from '../../web/parts.ts'
import { type Column, paging, table } from '../../web/tables.ts'
import { formatInstant, formatRelativeTime, number } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { capital, connectionHref, personCell, runHref, shortId } from '../site/words.ts'

const perPage = 50

/** Adds the page with the population statement of a connection, and the people behind each of its counts. */
export function statementPages(site: Site): void {
  site.page('/connections/:connection/statement', async (context, fields) => {
    const connection = fields('connection')
    const at = fields('at')
    const page = `/connections/${encodeURIComponent(connection)}/statement`
    const statement = await findStatement(context, { connection, at })
    const content = html`${heading({
      title: `Population of ${connection}`,
      crumbs: [{ name: 'Reports', href: '/reports' }],
      lead: statement && leadOf(statement, at),
    })}
${filterForm({
  action: page,
  label: 'Day',
  part: 'statement',
  all: at === '' ? null : page,
  fields: textField({ name: 'at', label: 'Day', type: 'date', value: at.slice(0, 10) }),
})}
<div id="statement" class="live">
${statement ? await statementCards(statement, { context, fields, page }) : await noStatementCard(context, { connection, at, page })}
</div>`
    return { title: `Population of ${connection}`, content, section: 'reports' }
  })
}

type StatementQuery = { readonly connection: string; readonly at: string }

/** The statement of a connection at a day, or the newest; null if there is none. */
async function findStatement({ control }: PageContext, { connection, at }: StatementQuery): Promise<Statement | null> {
  try {
    return await control.getStatement({ params: { connection }, query: at === '' ? {} : { at } })
  } catch (error) {
    if (error instanceof Failure && error.code === 'not_found') return null
    throw error
  }
}

/** When a statement was made, and whether a later run has none. */
function leadOf({ madeAt, unstatedRunId }: Statement, at: string): Html {
  const time = html`As of ${formatInstant(madeAt)}`
  if (unstatedRunId !== undefined) return html`${time}. A later run has no statement.`
  return at === '' ? html`${time}, the newest statement.` : html`${time}, the last statement on or before ${at}.`
}

type StatementContext = { readonly context: PageContext; readonly fields: Fields; readonly page: string }

async function statementCards(statement: Statement, { context, fields, page }: StatementContext): Promise<Html> {
  const { stated, platform, rows } = statement
  const listOf = (side: string) => (part: string) => `${address(page, { at: fields('at'), side, part })}#people`
  return html`${resultCard(statement)}
${partsCard('People stated by HR', stated.exported + stated.further, partsOf(statedParts, stated.parts), listOf('stated'))}
${partsCard('Records on the platform', platform.records, partsOf(platformParts, platform.parts), listOf('platform'))}
${rows && partsCard('Rows of the export', rows.delivered, partsOf(rowParts, rows.parts))}
${fields('part') !== '' && (await peopleCard(context, fields, page))}`
}

/** What a statement is, and when the first one of a connection comes. Throws `not_found` for an unknown connection. */
async function noStatementCard(
  context: PageContext,
  { connection, at, page }: StatementQuery & { page: string },
): Promise<Html> {
  const { connections } = await context.control.status({ query: { connection } })
  const { last = null, active = null, nextAt = null } = connections[0] ?? {}
  const hasRun = last !== null || active !== null
  const next =
    active?.state === 'held'
      ? html`<a href="${runHref(active.id)}">A plan is held</a>: the first statement is made once it is approved and delivered.`
      : active !== null
        ? html`The first one is made when <a href="${runHref(active.id)}">the current run</a> has ended.`
        : nextAt === null
          ? html`The first one is made after the next run. No run is scheduled: start one with <a href="${connectionHref(connection)}">“Read now”</a>.`
          : html`The first one is made after the next run: ${formatRelativeTime(nextAt, context.now)}, ${formatInstant(nextAt)}.`
  return card({
    title: at === '' ? 'There is no statement yet' : `There is no statement on or before ${at}`,
    id: 'result',
    content: html`<p>A statement accounts for everybody whom HR states or the platform has, so that an auditor can see that nobody was lost. One is made after each accepted export, and at most once an hour after other runs.</p>
<p>${at !== '' && hasRun ? html`<a href="${page}">View the newest statement</a>.` : next}</p>`,
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
  ['End of the export', source && (source.end ?? 'read to its end')],
  ['SHA-256 of its file', source?.sha256 && html`<code>${source.sha256}</code>`],
  ['SHA-256 of its keys', source && html`<code>${source.keys}</code>`],
  ['Digest of the configuration', rules && html`<code>${rules}</code>`],
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
    { name: 'Detail', kind: 'long', cell: ({ detail }) => detailCell(detail) },
    {
      name: 'Since run',
      cell: ({ sinceRunId }) => sinceRunId && html`<a href="${runHref(sinceRunId)}">${shortId(sinceRunId)}</a>`,
    },
  ]
  return card({
    title: capital(texts[part] ?? part),
    id: 'people',
    content: html`${table({ caption: 'People in this part', columns, rows: data, empty: 'Nobody.' })}
${paging({ label: 'Pages of people', path: page, query: { at, side, part }, after: fields('after'), next, anchor: 'people' })}`,
  })
}

/** The detail of a person: the run that it names as a link, and the part of a row in words. */
function detailCell(detail: string | null): Renderable {
  if (detail === null) return ''
  const texts: Readonly<Record<string, string>> = rowParts
  const [before, runId, after] = detail.split(/([\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12})/i)
  if (runId === undefined) return capital(texts[detail] ?? detail)
  return html`${before === '' ? 'Run ' : capital(before ?? '')}<a href="${runHref(runId)}">${shortId(runId)}</a>${after}`
}
