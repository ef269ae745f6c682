import { type JsonValue, pointer } from '../../json/cells.ts'
import type { ResponseHeaders } from '../client/body.ts'
import { nextLinks } from './link-header.ts'

const maxDepth = 4
const maxLinks = 50

/** `location` is a pointer into the page, or the name of a header. */
type Located = { readonly location: string }

/** A number of records or pages in a response. `isTotal`: it counts the whole list, and not perhaps only the page. */
export type CountStatement = Located & {
  readonly kind: 'records' | 'pages'
  readonly count: number
  readonly isTotal: boolean
}

/** What a response states besides its records: how many there are, that there are more, or that there are no more. */
export type Statement = CountStatement | (Located & { readonly kind: 'next' | 'more' | 'noMore' })

const pagesName = /^(total(num|number|numberof)?(of)?pages?|totalpagecount|pagecount|pages|numpages|lastpage)$/
// Times, sums of money and the like are no numbers of records.
const recordsName =
  /^((odata|search|record|row|item|result)?count|numfound|total(?!.*(time|ms$|milli|second|duration|elapsed|latency|byte|cost|amount|salary|hours|pay|request|quota|credit|seat|licen[cs]e)).*)$/
// A plain count may be that of the page alone, which says nothing about the end, or the size of a full page.
const totalName = /^(total|odatacount|searchcount|numfound)/
const moreName =
  /^((has|is|are)?more(item|record|result|page|data|entries|available)?s?|hasnext(page)?|(is)?truncated|incompleteresults)$/
const lastName = /^((is)?last(page)?|completeindicator)$/
const nextName =
  /^(odata)?next(page|record|result|item|batch|row|set|start|continuation|cursor|search)?s?(link|url|uri|href|path|token|cursor|offset|id|key|number|no|num|index|skip|marker|mark|bookmark|position|after|from)?$/
/** Prefixes of the headers of some servers. */
const headerPrefix = /^x-((pcty|wp|pagination|paging|pager)-)?/

/** A name in lower case without punctuation, in which servers differ. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** The statements in the members of a page outside its records. */
export function* statedByMembers(page: JsonValue, recordsPath: string, path = '', depth = 0): Generator<Statement> {
  if (typeof page !== 'object' || page === null || depth > maxDepth || recordsPath === '') return
  if (isList(page)) {
    for (const [index, link] of page.slice(0, maxLinks).entries())
      if (isNextLink(link)) yield { location: `${path}/${index}/href`, kind: 'next' }
    return
  }
  for (const [name, value] of Object.entries(page)) {
    const location = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (location === recordsPath) continue
    const statement = statementOf(plainName(name), value)
    if (statement) yield { location: isEmpty(pointer(value, '/href')) ? location : `${location}/href`, ...statement }
    else yield* statedByMembers(value, recordsPath, location, depth + 1)
  }
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

function isNextLink(link: JsonValue): boolean {
  const rel = pointer(link, '/rel')
  return typeof rel === 'string' && rel.toLowerCase() === 'next' && !isEmpty(pointer(link, '/href'))
}

type Unlocated = Omit<CountStatement, 'location'> | { readonly kind: 'next' | 'more' | 'noMore' }

function statementOf(name: string, value: JsonValue): Unlocated | null {
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

/** Whether a value names nothing: also an object whose members are all empty, and texts such as "null". */
function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false) return true
  if (typeof value === 'object') return Object.values(value).every((member) => isEmpty(member))
  return value === '' || value === '0' || value === 'false' || value === 'null'
}

/** The statements in the headers of a response. */
export function* statedByHeaders(headers: ResponseHeaders): Generator<Statement> {
  for (const [location, value] of Object.entries(headers)) {
    const text = String(value ?? '').trim()
    if (location === 'link' && namesNext(value)) yield { location, kind: 'next' }
    const range = location === 'content-range' ? /^(?!bytes\b).*\/(\d{1,15})$/i.exec(text)?.[1] : undefined
    if (range !== undefined) yield { location, kind: 'records', count: Number(range), isTotal: true }
    if (!location.startsWith('x-')) continue
    const statement = statementOf(plainName(location.replace(headerPrefix, '')), text)
    if (statement) yield { location, ...statement }
  }
}

/** Whether a Link header names a next page, as far as it can be understood. */
function namesNext(header: string | string[] | undefined): boolean {
  const links = nextLinks(header)
  return links === null ? /\brel\s*=\s*"?next\b/i.test(String(header)) : links.length > 0
}
