import { pluralize } from '../../../identity/pluralize.ts'
import { escapeText } from '../../../text/escape.ts'
import { unreadable } from '../../file/failures.ts'
import { pointer } from '../../json/cells.ts'
import type { ResponseHeaders } from '../client/body.ts'
import type { ListPage } from './list-page.ts'
import type { ListSettings } from './list-settings.ts'
import { type CountStatement, plainName, type Statement, statedByHeaders, statedByMembers } from './list-statements.ts'

const maxLocationCharacters = 100

/** The last page of a list, and how much was read with it. */
type LastPage = {
  readonly page: ListPage
  /** How many records and pages the list has. */
  readonly records: number
  readonly pages: number
  /** The totals that the first page states. */
  readonly totals: readonly Statement[]
}

/** The totals of the whole list that a page states. Many servers state them on the first page only. */
export function totalsOf(source: ListSettings, page: ListPage): readonly Statement[] {
  return statementsOf(source, page).filter(isTotal)
}

/**
 * Describes how the end of a list was recognised. Refuses a list whose last page states that there is more: its first pages would pass
 * for the whole company.
 */
export function endOfList(source: ListSettings, last: LastPage): string {
  const { label } = last.page
  const statements = statementsOf(source, last.page)
  const proofs = statements.filter((statement) => provesEnd(statement, last))
  const proofTexts = proofs.map((statement) => textOf(statement, last))
  const more = statedMore(statements, { ...last, proofs, url: source.url })
  if (more) throw unreadable(`${label}: ${textOf(more, last)}, so this is not the whole list`, helpFor(more, source))
  const missing = missingNext(source, last)
  if (missing && proofs.length === 0 && source.pages !== 'single') {
    const help = 'check next; if a list of one page comes without it, write pages: single'
    throw unreadable(`${label} holds nothing at ${source.next}, and nothing says that it is the only page`, help)
  }
  if (proofs.length === 0) checkNotFull(source, last)
  if (source.next === undefined)
    return `the only page: ${proofTexts.join('; ') || 'nothing in the answer says that there is more'}`
  const isAllowed = missing !== null && proofs.length === 0
  const rule = isAllowed ? `${missing}, as pages: single allows` : (missing ?? emptyNext(source, last.page))
  return `page ${last.pages} is the last: ${[rule, ...proofTexts].join('; ')}`
}

/** Refuses a response that is read as a single file if one of its headers names a next page. */
export function checkNoNextPage(
  source: Pick<ListSettings, 'ignoredStatements'>,
  headers: ResponseHeaders,
  label: string,
): void {
  const statements = [...statedByHeaders(headers)].filter(isConsidered(source))
  const more = statements.find(({ kind }) => kind === 'next' || kind === 'more')
  if (!more) return
  const help = `ask for all of it at once; ${helpIfUnrelated(more)}`
  throw unreadable(`${label}: ${textOf(more)}, so this is not the whole list`, help)
}

function statementsOf(source: ListSettings, { content, headers }: ListPage): readonly Statement[] {
  return [...statedByMembers(content, source.records), ...statedByHeaders(headers)].filter(isConsidered(source))
}

/** The statement of the last page, or the total of the first page, that contradicts the end. */
function statedMore(statements: readonly Statement[], context: EndContext): Statement | undefined {
  const unrepeated = context.totals.filter(({ kind }) => !statements.some((one) => one.kind === kind && isTotal(one)))
  return [...statements, ...unrepeated].find((statement) => saysMore(statement, context))
}

function isTotal(statement: Statement): boolean {
  return 'count' in statement && statement.isTotal
}

/** Whether a statement is about the list, as far as the configuration says. */
function isConsidered({
  ignoredStatements = [],
}: Pick<ListSettings, 'ignoredStatements'>): (statement: Statement) => boolean {
  return ({ location }) =>
    !ignoredStatements.some((ignored) =>
      ignored.startsWith('/') ? `${location}/`.startsWith(`${ignored}/`) : location === ignored.toLowerCase(),
    )
}

function missingNext({ next }: ListSettings, { page, pages }: LastPage): string | null {
  return next !== undefined && pages === 1 && pointer(page.content, next) === undefined ? `${next} is missing` : null
}

function emptyNext({ next = '' }: ListSettings, { content }: ListPage): string {
  const value = pointer(content, next)
  return `${next} is ${value === undefined ? 'missing' : value === null ? 'null' : 'empty'}`
}

/** Refuses a page with as many records as the address requests: others may follow. */
function checkNotFull({ url, next, pages: allowed }: ListSettings, { records, page }: LastPage): void {
  if (next !== undefined || allowed === 'single') return
  for (const [name, value] of new URL(url).searchParams) {
    if (!sizeName.test(plainName(name)) || Number(value) !== records || records === 0) continue
    const help =
      'ask for more at once, or say with next where the next page is named; if it never has others, write pages: single'
    throw unreadable(
      `${page.label} holds ${pluralize(records, 'record')}, as many as ${name} asks for, so others may follow`,
      help,
    )
  }
}

/** How servers call the size of a page in an address. */
const sizeName = /^(limit|top|per|perpage|size|pagesize|count|rows|take|first|results|maxresults|limitpagelength)$/

/** What decides whether a statement contradicts the end. `proofs`: the statements that prove it. */
type EndContext = LastPage & { readonly proofs: readonly Statement[]; readonly url: string }

function saysMore(statement: Statement, { records, pages, proofs, url }: EndContext): boolean {
  switch (statement.kind) {
    case 'records':
      if (statement.count <= records) return false
      // The size of a full page is no number of records.
      return statement.isTotal || !(proofs.some(({ kind }) => kind !== 'pages') || repeatsRequest(statement, url))
    case 'pages':
      return statement.count > pages
    case 'next':
      // Some servers name a next page even on the last one.
      return !proofs.some(({ kind }) => kind === 'noMore')
    case 'more':
      return true
    case 'noMore':
      return false
    default:
      return statement satisfies never
  }
}

/** Whether a count only repeats a parameter of the address. */
function repeatsRequest({ location, count }: CountStatement, url: string): boolean {
  const name = plainName(location.split('/').at(-1) ?? '')
  return [...new URL(url).searchParams].some(([key, value]) => plainName(key) === name && Number(value) === count)
}

function provesEnd(statement: Statement, last: LastPage): boolean {
  if (statement.kind === 'noMore') return true
  return 'count' in statement && isTotal(statement) && statement.count === last[statement.kind]
}

function textOf(statement: Statement, read: Pick<LastPage, 'records' | 'pages'> = { records: 0, pages: 0 }): string {
  const { kind } = statement
  const subject = `${statement.location.startsWith('/') ? '' : 'the header '}${escapedLocation(statement)}`
  switch (kind) {
    case 'records':
    case 'pages':
      return `${subject} counts ${statement.count} ${kind}, and ${read[kind]} ${read[kind] === 1 ? 'was' : 'were'} read`
    case 'next':
      return `${subject} names a next page`
    case 'more':
      return `${subject} says that there is more`
    case 'noMore':
      return `${subject} says that there is no more`
    default:
      return kind satisfies never
  }
}

/** The location in messages and in the record of a run. The name of a member may hold any character. */
function escapedLocation({ location }: Statement): string {
  return escapeText(location).slice(0, maxLocationCharacters)
}

function helpFor(statement: Statement, { next }: ListSettings): string {
  return `${helpForMore(statement, next)}; ${helpIfUnrelated(statement)}`
}

function helpForMore(statement: Statement, next: string | undefined): string {
  if (next !== undefined) return 'check next, or run it again if the list changed meanwhile'
  if (statement.kind === 'next' && statement.location.startsWith('/'))
    return `set next: ${escapedLocation(statement)}, and nextParameter if it holds a token; or ask for all records at once`
  return 'ask for all records at once in url (with limit, for example), or say with next where the next page is named'
}

function helpIfUnrelated(statement: Statement): string {
  return `if it is not about this list, write ignoredStatements: ["${escapedLocation(statement)}"]`
}
