import { addressWith, parameterOf, Refusal, type SystemRequest } from './protocol.ts'
import type { Person } from './roster.ts'

/** The part of a list that a request asks for. */
export type Part = { readonly skip: number; readonly size: number }

/** One page of a list before it is written. */
export type Page = Part & {
  readonly request: SystemRequest
  readonly records: readonly unknown[]
  /** The number of records of the whole list. null: the page does not state it. */
  readonly total: number | null
  readonly hasMore: boolean
  /** The person with whom the page ends, as far as tokens are concerned; null on a page behind the end. */
  readonly last: Person | null
}

/** How a system reads the position from a request. */
export type PageRule = {
  readonly read: (request: SystemRequest, people: readonly Person[]) => Part
  /** Whether the list is in the order of keys that never change, so that nobody can move in it. */
  readonly isStable?: true
}

/** `exceeded`: what the system does if a client asks for more than `maxSize`. */
type SizeRule = {
  readonly sizeParameter: string
  readonly defaultSize: number
  readonly maxSize: number
  readonly exceeded: 'clamp' | 'refuse'
}

/** One answer holds everything. */
export const wholeList: PageRule = { read: () => ({ skip: 0, size: Number.MAX_SAFE_INTEGER }) }

/** The request names how many records to skip, counted from `first`. */
export function offsetPages({
  parameter,
  first = 0,
  ...size
}: SizeRule & { readonly parameter: string; readonly first?: number }): PageRule {
  return {
    read: (request) => ({
      skip: wholeNumber(request, parameter, { fallback: first, min: first }) - first,
      size: readSize(request, size),
    }),
  }
}

/** The request names the number of a page, from 1. */
export function numberedPages({ parameter, ...rule }: SizeRule & { readonly parameter: string }): PageRule {
  return {
    read: (request) => {
      const size = readSize(request, rule)
      return { skip: (wholeNumber(request, parameter, { fallback: 1, min: 1 }) - 1) * size, size }
    },
  }
}

/** The request names a token of the page before, which stands for its last person: whoever comes or goes meanwhile moves nobody. */
export function cursorPages({ parameter, ...size }: SizeRule & { readonly parameter: string }): PageRule {
  return {
    isStable: true,
    read: (request, people) => {
      const token = parameterOf(request, parameter)
      return { skip: token === null ? 0 : skipAfter(token, people), size: readSize(request, size) }
    },
  }
}

/** The token of the position behind a page. */
export function tokenAfter({ last }: Pick<Page, 'last'>): string {
  return Buffer.from(`after:${last?.index ?? -1}`).toString('base64url')
}

/** The token of the next page; null on the last page. */
export function nextToken(page: Page): string | null {
  return page.hasMore ? tokenAfter(page) : null
}

/** The address of the next page, which sends its position as `parameter`; null on the last page. */
export function nextAddress(
  page: Page,
  parameter: string,
  position: string | number = tokenAfter(page),
): string | null {
  return page.hasMore ? addressWith(page.request, { [parameter]: position }) : null
}

/** A total to be spread into an answer; nothing if the page does not state it. */
export function stated<Name extends string>(name: Name, { total }: Pick<Page, 'total'>): Partial<Record<Name, number>> {
  return total === null ? {} : ({ [name]: total } as Record<Name, number>)
}

function skipAfter(token: string, people: readonly Person[]): number {
  const [, digits] = /^after:(\d+)$/.exec(Buffer.from(token, 'base64url').toString()) ?? []
  if (digits === undefined) throw new Refusal(400, { error: 'invalid cursor' })
  const at = people.findIndex(({ index }) => index === Number(digits))
  return at === -1 ? people.filter(({ index }) => index < Number(digits)).length : at + 1
}

function readSize(request: SystemRequest, { sizeParameter, defaultSize, maxSize, exceeded }: SizeRule): number {
  const size = wholeNumber(request, sizeParameter, { fallback: defaultSize, min: 1 })
  if (size <= maxSize) return size
  if (exceeded === 'clamp') return maxSize
  throw new Refusal(400, { error: `${sizeParameter} must not be greater than ${maxSize}` })
}

function wholeNumber(
  request: SystemRequest,
  name: string,
  { fallback, min }: { readonly fallback: number; readonly min: number },
): number {
  const text = parameterOf(request, name)
  if (text === null) return fallback
  if (/^\d{1,9}$/.test(text) && Number(text) >= min) return Number(text)
  throw new Refusal(400, { error: `${name} must be a whole number from ${min}` })
}
