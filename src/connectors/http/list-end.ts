import { unreadable } from '../file/failures.ts'
import { type JsonValue, pointer } from '../json/cells.ts'
import type { AnswerHeaders } from './fetch.ts'
import type { HttpSource } from './settings.ts'

const maxDepth = 4
const maxLinks = 50
const maxPlaceCharacters = 100

/** What an answer states besides its records: how many there are, that there are more, or that there are no more. */
type Statement = { readonly place: string } & (
  | { readonly kind: 'records' | 'pages'; readonly count: number; readonly isTotal: boolean }
  | { readonly kind: 'next' | 'more' | 'noMore' }
)

/** The last page of a list that was read, and how much was read with it. */
export type LastPage = {
  readonly page: JsonValue
  readonly headers: AnswerHeaders
  readonly records: number
  readonly pages: number
  readonly where: string
}

/**
 * Says how the end of a list was recognised. Refuses a list of which the last answer states that there is more, because its first pages
 * would pass for the whole company.
 */
export function endOfList(source: HttpSource, last: LastPage): string {
  const { page, headers, records, pages, where } = last
  const statements = [...statedByMembers(page, source.records), ...statedByHeaders(headers)]
  const more = statements.find((statement) => saysMore(statement, last))
  if (more) throw unreadable(`${where}: ${textOf(more, last)}, so this is not the whole list`, helpFor(more, source))
  const proof = statements.filter((statement) => provesEnd(statement, last)).map((statement) => textOf(statement, last))
  const missing = missingNext(source, last)
  if (missing && proof.length === 0 && source.pages !== 'single') {
    const help = 'check next; if a list of one page comes without it, write pages: single'
    throw unreadable(`${where} holds nothing at ${source.next}, and nothing says that it is the only page`, help)
  }
  if (proof.length === 0) checkNotFull(source, { records, pages, where })
  if (source.next === undefined)
    return `the only page: ${proof.join('; ') || 'nothing in the answer says that there is more'}`
  const rule =
    missing && proof.length === 0 ? `${missing}, as pages: single allows` : (missing ?? emptyNext(source, page))
  return `page ${pages} is the last: ${[rule, ...proof].join('; ')}`
}

/** Refuses an answer that is not read as a list of pages, if a header of it names a next page. */
export function checkNoNextPage(headers: AnswerHeaders, where: string): void {
  const more = statedByHeaders(headers).find(({ kind }) => kind === 'next' || kind === 'more')
  if (more) throw unreadable(`${where}: ${textOf(more)}, so this is not the whole list`, 'ask for all of it at once')
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
  { records, where }: Pick<LastPage, 'records' | 'pages' | 'where'>,
): void {
  if (next !== undefined || allowed === 'single') return
  for (const [name, value] of new URL(url).searchParams) {
    if (!sizeName.test(plain(name)) || Number(value) !== records || records === 0) continue
    const help =
      'ask for more at once, or say with next where the next page is named; if it never has others, write pages: single'
    throw unreadable(`${where} holds ${records} records, as many as ${name} asks for, so others may follow`, help)
  }
}

const sizeName = /^(limit|top|per|perpage|size|pagesize|count|rows|take|first|results|maxresults|limitpagelength)$/
const pagesName = /^(total(num|number|numberof)?(of)?pages?|totalpagecount|pagecount|pages|numpages|lastpage)$/
// Times, sums of money and the like are no numbers of records.
const recordsName =
  /^((odata|search|record|row|item|result)?count|numfound|total(?!.*(time|ms$|milli|second|duration|byte|cost|amount|salary|hours|pay)).*)$/
// A plain count may be that of the page alone, which says nothing about the end.
const totalName = /^(total|odatacount|searchcount|numfound)/
const moreName = /^((has|is|are)?more(items|records|results|pages|data|available)?|hasnext(page)?)$/
const lastName = /^((is)?last(page)?|complete(indicator)?)$/
const nextName = /^(odata)?next(?!.*(run|sync|update|refresh|change|time|date|at$)).*$/
const nextHeader = /^next(page|link|url|cursor|token|offset)?$/

/** A name without the case and the signs, in which senders differ. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** What the members of a page state around its records. */
function* statedByMembers(page: JsonValue, recordsPath: string, path = '', depth = 0): Generator<Statement> {
  if (typeof page !== 'object' || page === null || depth > maxDepth) return
  if (isList(page)) {
    for (const [index, link] of page.slice(0, maxLinks).entries())
      if (isNextLink(link)) yield { place: `${path}/${index}`, kind: 'next' }
    return
  }
  for (const [name, value] of Object.entries(page)) {
    const place = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (place === recordsPath) continue
    const statement = statementOf(plain(name), value)
    if (statement) yield { place, ...statement }
    else yield* statedByMembers(value, recordsPath, place, depth + 1)
  }
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

function isNextLink(link: JsonValue): boolean {
  const rel = pointer(link, '/rel')
  return typeof rel === 'string' && rel.toLowerCase() === 'next' && !isEmpty(pointer(link, '/href'))
}

type Stated = Statement extends infer S ? (S extends Statement ? Omit<S, 'place'> : never) : never

function statementOf(name: string, value: JsonValue): Stated | null {
  const count = countOf(value)
  const isTotal = totalName.test(name)
  if (count !== null && pagesName.test(name)) return { kind: 'pages', count, isTotal: true }
  if (count !== null && recordsName.test(name)) return { kind: 'records', count, isTotal }
  if (moreName.test(name) && isFlag(value)) return { kind: isTrue(value) ? 'more' : 'noMore' }
  if (lastName.test(name) && isFlag(value)) return { kind: isTrue(value) ? 'noMore' : 'more' }
  if (nextName.test(name) && !isEmpty(value)) return { kind: 'next' }
  return null
}

function countOf(value: JsonValue | undefined): number | null {
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : null
}

function isFlag(value: JsonValue): boolean {
  return typeof value === 'boolean' || value === 'true' || value === 'false'
}

function isTrue(value: JsonValue): boolean {
  return value === true || value === 'true'
}

/** Whether nothing is named: also by an object of which all members are empty, or by the number 0. */
function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false) return true
  if (typeof value === 'object') return Object.values(value).every((member) => isEmpty(member))
  return value === '' || value === '0' || value === 'false'
}

function* statedByHeaders(headers: AnswerHeaders): Generator<Statement> {
  for (const [name, value] of Object.entries(headers)) {
    const text = String(value ?? '')
    const place = `the header ${name}`
    if (name === 'link' && namesNext(text)) yield { place, kind: 'next' }
    const range = name === 'content-range' ? /\/(\d{1,15})\s*$/.exec(text)?.[1] : undefined
    if (range !== undefined) yield { place, kind: 'records', count: Number(range), isTotal: true }
    if (!name.startsWith('x-')) continue
    const said = plain(name.slice(2))
    const statement = said.startsWith('next') && !nextHeader.test(said) ? null : statementOf(said, text.trim())
    if (statement) yield { place, ...statement }
  }
}

/** Whether a Link header (RFC 8288) holds a link with the relation `next`. */
function namesNext(header: string): boolean {
  return [...header.matchAll(/<[^>]*>((?:"[^"]*"|[^,"])*)/g)].some(([, parameters = '']) => {
    const [, quoted, bare] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? []
    return (quoted ?? bare ?? '').toLowerCase().split(/\s+/).includes('next')
  })
}

function saysMore(statement: Statement, { records, pages }: LastPage): boolean {
  switch (statement.kind) {
    case 'records':
      return statement.count > records
    case 'pages':
      return statement.count > pages
    case 'next':
    case 'more':
      return true
    case 'noMore':
      return false
    default:
      return statement satisfies never
  }
}

function provesEnd(statement: Statement, last: LastPage): boolean {
  if (statement.kind === 'noMore') return true
  return 'count' in statement && statement.isTotal && statement.count === last[statement.kind]
}

function textOf(statement: Statement, read: Pick<LastPage, 'records' | 'pages'> = { records: 0, pages: 0 }): string {
  const { kind } = statement
  const place = statement.place.slice(0, maxPlaceCharacters)
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

function helpFor({ place, kind }: Statement, { next }: HttpSource): string {
  if (next !== undefined) return 'check next, or run it again if the list changed meanwhile'
  if (kind === 'next' && place.startsWith('/'))
    return `set next: ${place.slice(0, maxPlaceCharacters)}, and nextParameter if it holds a token; or ask for all records at once`
  return 'ask for all records at once in url (with limit, for example), or say with next where the next page is named'
}
