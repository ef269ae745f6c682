import { type JsonValue, pointer } from '../json/cells.ts'
import type { AnswerHeaders } from './fetch.ts'

const maxDepth = 4
const maxLinks = 50

/**
 * What an answer states besides its records: how many there are, that there are more, or that there are no more. Its place is a pointer,
 * or the name of a header.
 */
export type Statement = { readonly place: string } & (
  | { readonly kind: 'records' | 'pages'; readonly count: number; readonly isTotal: boolean }
  | { readonly kind: 'next' | 'more' | 'noMore' }
)

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
/** What some senders put before the names of their headers. */
const headerPrefix = /^x-((pcty|wp|pagination|paging|pager)-)?/

/** A name without the case and the signs, in which senders differ. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** What the members of a page state around its records. */
export function* statedByMembers(page: JsonValue, recordsPath: string, path = '', depth = 0): Generator<Statement> {
  if (typeof page !== 'object' || page === null || depth > maxDepth || recordsPath === '') return
  if (isList(page)) {
    for (const [index, link] of page.slice(0, maxLinks).entries())
      if (isNextLink(link)) yield { place: `${path}/${index}/href`, kind: 'next' }
    return
  }
  for (const [name, value] of Object.entries(page)) {
    const place = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (place === recordsPath) continue
    const statement = statementOf(plainName(name), value)
    if (statement) yield { place: isEmpty(pointer(value, '/href')) ? place : `${place}/href`, ...statement }
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

/** Whether nothing is named: also by an object of which all members are empty, or by a text for nothing. */
function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false) return true
  if (typeof value === 'object') return Object.values(value).every((member) => isEmpty(member))
  return value === '' || value === '0' || value === 'false' || value === 'null'
}

/** What the headers of an answer state. */
export function* statedByHeaders(headers: AnswerHeaders): Generator<Statement> {
  for (const [place, value] of Object.entries(headers)) {
    const text = String(value ?? '').trim()
    if (place === 'link' && namesNext(text)) yield { place, kind: 'next' }
    const range = place === 'content-range' ? /^(?!bytes\b).*\/(\d{1,15})$/i.exec(text)?.[1] : undefined
    if (range !== undefined) yield { place, kind: 'records', count: Number(range), isTotal: true }
    if (!place.startsWith('x-')) continue
    const statement = statementOf(plainName(place.replace(headerPrefix, '')), text)
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
