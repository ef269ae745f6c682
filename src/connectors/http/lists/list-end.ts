import { pluralize } from '../../../identity/pluralize.ts'
import { escapeText } from '../../../text/escape.ts'
import { unreadable } from '../../file/failures.ts'
import { pointer } from '../../json/cells.ts'
import type { ResponseHeaders } from '../client/body.ts'
import type { HttpSource } from '../settings/settings.ts'
import type { ListPage } from './list-page.ts'
import { type CountStatement, plainName, type Statement, statedByHeaders, statedByMembers } from './list-statements.ts'

const maxLocationCharacters = 100

/** What was read of a list: its last page, and counts over all pages. */
type ReadList = {
  readonly lastPage: ListPage
  /** How many records and pages were read. */
  readonly records: number
  readonly pages: number
  /** The totals that the first page states. */
  readonly firstPageTotals: readonly Statement[]
}

/** The totals of the whole list that a page states. Many servers state them on the first page only. */
export function totalsOf(source: HttpSource, page: ListPage): readonly Statement[] {
  return statementsOf(source, page).filter(isTotal)
}

/**
 * Describes how the end of a list was recognised. Refuses a list whose last page states that there is more: its first pages would pass
 * for the whole company.
 */
export function endOfList(source: HttpSource, list: ReadList): string {
  const { lastPage } = list
  const { label } = lastPage
  const statements = statementsOf(source, lastPage)
  const proofs = statements.filter((statement) => provesEnd(statement, list))
  const proofTexts = proofs.map((statement) => textOf(statement, list))
  const more = statedMore(statements, { ...list, proofs, url: source.url })
  if (more) throw unreadable(`${label}: ${textOf(more, list)}, so this is not the whole list`, helpFor(more, source))
  const missingText = missingNextText(source, list)
  if (missingText && proofs.length === 0 && source.pages !== 'single') {
    const help = 'check next; if a list of one page comes without it, write pages: single'
    throw unreadable(`${label} holds nothing at ${source.next}, and nothing says that it is the only page`, help)
  }
  if (proofs.length === 0) checkNotFull(source, list)
  if (source.next === undefined)
    return `the only page: ${proofTexts.join('; ') || 'nothing in the answer says that there is more'}`
  const isAllowedAsSingle = missingText !== null && proofs.length === 0
  const rule = isAllowedAsSingle
    ? `${missingText}, as pages: single allows`
    : (missingText ?? emptyNextText(source, lastPage))
  return `page ${list.pages} is the last: ${[rule, ...proofTexts].join('; ')}`
}

/** Refuses a response that is read as a single file if one of its headers names a next page. */
export function checkNoNextPage(source: HttpSource, headers: ResponseHeaders, label: string): void {
  const statements = [...statedByHeaders(headers)].filter(isConsidered(source))
  const more = statements.find(({ kind }) => kind === 'next' || kind === 'more')
  if (!more) return
  const help = `ask for all of it at once; ${helpIfUnrelated(more)}`
  throw unreadable(`${label}: ${textOf(more)}, so this is not the whole list`, help)
}

function statementsOf(source: HttpSource, { content, headers }: ListPage): readonly Statement[] {
  return [...statedByMembers(content, source.records), ...statedByHeaders(headers)].filter(isConsidered(source))
}

/** The statement of the last page, or the total of the first page, that contradicts the end. */
function statedMore(statements: readonly Statement[], context: EndContext): Statement | undefined {
  const onlyOnFirstPage = context.firstPageTotals.filter(
    ({ kind }) => !statements.some((one) => one.kind === kind && isTotal(one)),
  )
  return [...statements, ...onlyOnFirstPage].find((statement) => saysMore(statement, context))
}

function isTotal(statement: Statement): boolean {
  return 'count' in statement && statement.isTotal
}

/** Whether a statement is about the list, as far as the configuration says. */
function isConsidered({ ignoredStatements = [] }: HttpSource): (statement: Statement) => boolean {
  return ({ location }) =>
    !ignoredStatements.some((ignored) =>
      ignored.startsWith('/') ? `${location}/`.startsWith(`${ignored}/`) : location === ignored.toLowerCase(),
    )
}

function missingNextText({ next }: HttpSource, { lastPage, pages }: ReadList): string | null {
  return next !== undefined && pages === 1 && pointer(lastPage.content, next) === undefined
    ? `${next} is missing`
    : null
}

function emptyNextText({ next = '' }: HttpSource, { content }: ListPage): string {
  const value = pointer(content, next)
  return `${next} is ${value === undefined ? 'missing' : value === null ? 'null' : 'empty'}`
}

/** Refuses a page with as many records as the address requests: others may follow. */
function checkNotFull({ url, next, pages: expectedPages }: HttpSource, { records, lastPage }: ReadList): void {
  if (next !== undefined || expectedPages === 'single') return
  for (const [name, value] of new URL(url).searchParams) {
    if (!sizeName.test(plainName(name)) || Number(value) !== records || records === 0) continue
    const help =
      'ask for more at once, or say with next where the next page is named; if it never has others, write pages: single'
    throw unreadable(
      `${lastPage.label} holds ${pluralize(records, 'record')}, as many as ${name} asks for, so others may follow`,
      help,
    )
  }
}

/** Names of parameters in an address that request a page size. */
const sizeName = /^(limit|top|per|perpage|size|pagesize|count|rows|take|first|results|maxresults|limitpagelength)$/

/** What decides whether a statement contradicts the end. `proofs`: the statements that prove it. */
type EndContext = ReadList & { readonly proofs: readonly Statement[]; readonly url: string }

function saysMore(statement: Statement, { records, pages, proofs, url }: EndContext): boolean {
  switch (statement.kind) {
    case 'records':
      if (statement.count <= records) return false
      // A larger count that is not a total may be the page size. A proven end, or an address that requests that size, explains it.
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

function provesEnd(statement: Statement, list: ReadList): boolean {
  if (statement.kind === 'noMore') return true
  return 'count' in statement && isTotal(statement) && statement.count === list[statement.kind]
}

function textOf(statement: Statement, read: Pick<ReadList, 'records' | 'pages'> = { records: 0, pages: 0 }): string {
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

function helpFor(statement: Statement, { next }: HttpSource): string {
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
