import { pluralize } from '../../identity/pluralize.ts'
import { escapeText } from '../../text/escape.ts'
import { unreadable } from '../file/failures.ts'
import { type JsonValue, pointer } from '../json/cells.ts'
import type { AnswerHeaders } from './fetch.ts'
import { plainName, type Statement, statedByHeaders, statedByMembers } from './list-statements.ts'
import type { HttpSource } from './settings.ts'

const maxPlaceCharacters = 100

/** The last page of a list that was read, and how much was read with it. */
type LastPage = {
  readonly page: JsonValue
  readonly headers: AnswerHeaders
  readonly records: number
  readonly pages: number
  readonly where: string
  /** What the first page counted of the whole list. */
  readonly totals: readonly Statement[]
}

/** What a page counts of the whole list. Many servers count it on the first page alone. */
export function totalsOf(source: HttpSource, page: JsonValue, headers: AnswerHeaders): readonly Statement[] {
  return statementsOf(source, page, headers).filter(isTotal)
}

/**
 * Says how the end of a list was recognised. Refuses a list of which the last answer states that there is more, because its first pages
 * would pass for the whole company.
 */
export function endOfList(source: HttpSource, last: LastPage): string {
  const { page, headers, pages, where, totals } = last
  const statements = statementsOf(source, page, headers)
  const proofs = statements.filter((statement) => provesEnd(statement, last))
  const unrepeated = totals.filter(({ kind }) => !statements.some((one) => one.kind === kind && isTotal(one)))
  const more = [...statements, ...unrepeated].find((statement) =>
    saysMore(statement, { ...last, proofs, url: source.url }),
  )
  if (more) throw unreadable(`${where}: ${textOf(more, last)}, so this is not the whole list`, helpFor(more, source))
  const proof = proofs.map((statement) => textOf(statement, last))
  const missing = missingNext(source, last)
  if (missing && proof.length === 0 && source.pages !== 'single') {
    const help = 'check next; if a list of one page comes without it, write pages: single'
    throw unreadable(`${where} holds nothing at ${source.next}, and nothing says that it is the only page`, help)
  }
  if (proof.length === 0) checkNotFull(source, last)
  if (source.next === undefined)
    return `the only page: ${proof.join('; ') || 'nothing in the answer says that there is more'}`
  const rule =
    missing && proof.length === 0 ? `${missing}, as pages: single allows` : (missing ?? emptyNext(source, page))
  return `page ${pages} is the last: ${[rule, ...proof].join('; ')}`
}

/** Refuses an answer that is not read as a list of pages, if a header of it names a next page. */
export function checkNoNextPage(source: HttpSource, headers: AnswerHeaders, where: string): void {
  const statements = [...statedByHeaders(headers)].filter(isConsidered(source))
  const more = statements.find(({ kind }) => kind === 'next' || kind === 'more')
  if (!more) return
  const help = `ask for all of it at once; ${helpIfUnrelated(more)}`
  throw unreadable(`${where}: ${textOf(more)}, so this is not the whole list`, help)
}

function statementsOf(source: HttpSource, page: JsonValue, headers: AnswerHeaders): readonly Statement[] {
  return [...statedByMembers(page, source.records), ...statedByHeaders(headers)].filter(isConsidered(source))
}

function isTotal(statement: Statement): boolean {
  return 'count' in statement && statement.isTotal
}

/** Whether a statement is about the list, as far as the configuration says. */
function isConsidered({ ignoredStatements = [] }: HttpSource): (statement: Statement) => boolean {
  return ({ place }) =>
    !ignoredStatements.some((ignored) =>
      ignored.startsWith('/') ? `${place}/`.startsWith(`${ignored}/`) : place === ignored.toLowerCase(),
    )
}

function missingNext({ next }: HttpSource, { page, pages }: LastPage): string | null {
  return next !== undefined && pages === 1 && pointer(page, next) === undefined ? `${next} is missing` : null
}

function emptyNext({ next = '' }: HttpSource, page: JsonValue): string {
  const found = pointer(page, next)
  return `${next} is ${found === undefined ? 'missing' : found === null ? 'null' : 'empty'}`
}

/** A page that holds as many records as were asked for may have others behind it. */
function checkNotFull(
  { url, next, pages: allowed }: HttpSource,
  { records, where }: Pick<LastPage, 'records' | 'where'>,
): void {
  if (next !== undefined || allowed === 'single') return
  for (const [name, value] of new URL(url).searchParams) {
    if (!sizeName.test(plainName(name)) || Number(value) !== records || records === 0) continue
    const help =
      'ask for more at once, or say with next where the next page is named; if it never has others, write pages: single'
    throw unreadable(
      `${where} holds ${pluralize(records, 'record')}, as many as ${name} asks for, so others may follow`,
      help,
    )
  }
}

/** What senders call the size of a page in an address. */
const sizeName = /^(limit|top|per|perpage|size|pagesize|count|rows|take|first|results|maxresults|limitpagelength)$/
type Context = LastPage & { readonly proofs: readonly Statement[]; readonly url: string }

function saysMore(statement: Statement, { records, pages, proofs, url }: Context): boolean {
  switch (statement.kind) {
    case 'records':
      if (statement.count <= records) return false
      // The size of a full page is no number of records.
      return statement.isTotal || !(proofs.some(({ kind }) => kind !== 'pages') || isAskedFor(statement, url))
    case 'pages':
      return statement.count > pages
    case 'next':
      // Some servers also name a place behind the last page.
      return !proofs.some(({ kind }) => kind === 'noMore')
    case 'more':
      return true
    case 'noMore':
      return false
    default:
      return statement satisfies never
  }
}

/** Whether a count only repeats what the address asks for. */
function isAskedFor({ place, count }: { readonly place: string; readonly count: number }, url: string): boolean {
  const name = plainName(place.split('/').at(-1) ?? '')
  return [...new URL(url).searchParams].some(([asked, value]) => plainName(asked) === name && Number(value) === count)
}

function provesEnd(statement: Statement, last: LastPage): boolean {
  if (statement.kind === 'noMore') return true
  return 'count' in statement && isTotal(statement) && statement.count === last[statement.kind]
}

function textOf(statement: Statement, read: Pick<LastPage, 'records' | 'pages'> = { records: 0, pages: 0 }): string {
  const { kind } = statement
  const place = `${statement.place.startsWith('/') ? '' : 'the header '}${shown(statement)}`
  switch (kind) {
    case 'records':
    case 'pages':
      return `${place} counts ${statement.count} ${kind}, and ${read[kind]} ${read[kind] === 1 ? 'was' : 'were'} read`
    case 'next':
      return `${place} names a next page`
    case 'more':
      return `${place} says that there is more`
    case 'noMore':
      return `${place} says that there is no more`
    default:
      return kind satisfies never
  }
}

/** A place in messages and in the record of a run. The name of a member may hold anything. */
function shown({ place }: Pick<Statement, 'place'>): string {
  return escapeText(place).slice(0, maxPlaceCharacters)
}

function helpFor(statement: Statement, { next }: HttpSource): string {
  return `${helpForMore(statement, next)}; ${helpIfUnrelated(statement)}`
}

function helpForMore(statement: Statement, next: string | undefined): string {
  if (next !== undefined) return 'check next, or run it again if the list changed meanwhile'
  if (statement.kind === 'next' && statement.place.startsWith('/'))
    return `set next: ${shown(statement)}, and nextParameter if it holds a token; or ask for all records at once`
  return 'ask for all records at once in url (with limit, for example), or say with next where the next page is named'
}

function helpIfUnrelated(statement: Statement): string {
  return `if it is not about this list, write ignoredStatements: ["${shown(statement)}"]`
}
