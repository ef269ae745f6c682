import { unreadable } from '../../file/failures.ts'
import { pointer } from '../../json/cells.ts'
import { withMember } from '../../json/members.ts'
import type { ConfiguredJson } from '../client/secrets.ts'
import type { PageRule } from '../settings/page-rule.ts'
import type { Pages } from '../settings/pages.ts'
import { nextLinks } from './link-header.ts'
import type { ListPage } from './list-page.ts'

const maxAddressCharacters = 2000

/** Where a page is requested. `body` replaces the configured one. */
export type PageTarget = { readonly url: URL; readonly body?: ConfiguredJson }

/** How many records and pages come before a page. */
type PagePosition = { readonly records: number; readonly pages: number }

/** The requests of a list whose pages name each other. `next` returns null if the page names no next one. */
export type NamedPager = { readonly first: PageTarget; readonly next: (page: ListPage) => PageTarget | null }

/** The requests of a list whose pages are requested by their position. */
export type PositionPager = { readonly at: (position: PagePosition) => PageTarget }

/** The address and the configured body of a list, with the secrets in it. */
type ListAddress = { readonly url: string; readonly body?: ConfiguredJson }

type RuleOf<By extends PageRule['by']> = Extract<PageRule, { readonly by: By }>

/** The rule of a list whose pages name each other, or of a list of one page. */
export type NamedRule = RuleOf<'undeclared' | 'single' | 'next' | 'link' | 'cursor'>

/** The rule of a list whose pages are requested by their position. */
export type PositionRule = RuleOf<'offset' | 'startIndex' | 'page'>

/** Whether pages are requested by their position. */
export function isByPosition(rule: PageRule): rule is PositionRule {
  return rule.by === 'offset' || rule.by === 'startIndex' || rule.by === 'page'
}

/**
 * Whether a record that is removed between two pages may move another one from a later page to an earlier one, so that it is missing. The
 * address of a next page mostly holds a position too. A token is trusted to name the record at which its page begins.
 */
export function mayShift(rule: PageRule): boolean {
  return isByPosition(rule) || rule.by === 'next' || rule.by === 'link'
}

/** The requests of a list whose pages name each other, or of a list of one page. */
export function namedPager(rule: NamedRule, target: ListAddress): NamedPager {
  switch (rule.by) {
    case 'undeclared':
    case 'single':
      return onlyPage(target)
    case 'next':
      return byAddress(rule, target)
    case 'link':
      return byLink(target)
    case 'cursor':
      return byCursor(rule, target)
    default:
      return rule satisfies never
  }
}

/** The requests of a list whose pages are requested by their position. */
export function positionPager(rule: PositionRule, target: ListAddress): PositionPager {
  const position = rule.by === 'page' ? pageNumber : recordPosition
  return { at: (before) => withParameters(rule, target, rule.first + position(before)) }
}

function recordPosition({ records }: PagePosition): number {
  return records
}

function pageNumber({ pages }: PagePosition): number {
  return pages
}

function onlyPage(target: ListAddress): NamedPager {
  return { first: { url: new URL(target.url) }, next: () => null }
}

function byAddress({ next }: RuleOf<'next'>, { url }: ListAddress): NamedPager {
  return {
    first: { url: new URL(url) },
    next: (page) => {
      const stated = statedNext(next, page)
      return stated === null
        ? null
        : addressIn(stated, page, { at: next, help: 'check next; a token needs nextParameter' })
    },
  }
}

function byLink({ url }: ListAddress): NamedPager {
  return {
    first: { url: new URL(url) },
    next: (page) => {
      const [address, ...others] = new Set(nextLinks(page.headers.link) ?? [malformedLink(page)])
      if (others.length > 0) throw unreadable(`${page.label} names several next pages in its header link`, checkServer)
      return address === undefined ? null : addressIn(address, page, { at: 'the header link', help: checkServer })
    },
  }
}

function byCursor(rule: RuleOf<'cursor'>, target: ListAddress): NamedPager {
  return {
    first: withParameters(rule, target),
    next: (page) => {
      const token = statedNext(rule.next, page)
      return token === null ? null : withParameters(rule, target, token)
    },
  }
}

const checkServer = 'check the server'

function malformedLink({ label }: ListPage): never {
  throw unreadable(`${label} has a header link that cannot be understood`, checkServer)
}

/** The text at `path`, null if there is none. A number is a token too. */
function statedNext(path: string, { content, label }: ListPage): string | null {
  const stated = pointer(content, path)
  if (stated === undefined || stated === null || stated === '' || stated === false) return null
  if (typeof stated === 'string' && stated.length <= maxAddressCharacters) return stated
  throw unreadable(`${label} holds no address and no token at ${path}`, 'check next')
}

type StatedAddress = { readonly at: string; readonly help: string }

function addressIn(stated: string, { url, label }: ListPage, { at, help }: StatedAddress): PageTarget {
  const address = URL.parse(stated, url)
  if (address) return { url: address }
  throw unreadable(`${label} holds no address at ${at}`, help)
}

type SentPages = Pick<Extract<Pages, { in: unknown }>, 'in' | 'parameter' | 'sizeParameter' | 'size'>

/** The request of a page at a position or token, in the query or in the body. */
function withParameters(rule: SentPages, { url, body }: ListAddress, position?: string | number): PageTarget {
  const { parameter, sizeParameter, size } = rule
  const sent: (readonly [string, string | number])[] = [
    ...(position === undefined ? [] : [[parameter, position] as const]),
    ...(sizeParameter === undefined || size === undefined ? [] : [[sizeParameter, size] as const]),
  ]
  const address = new URL(url)
  if (rule.in === 'body') {
    let whole: ConfiguredJson = body ?? {}
    for (const [name, value] of sent) whole = withMember(whole, name, value)
    return { url: address, body: whole }
  }
  const pairs = sent.map(([name, value]) => `${queryName(name)}=${encodeURIComponent(value)}`)
  address.search = [address.search.slice(1), ...pairs].filter((part) => part !== '').join('&')
  return { url: address }
}

/** A name as part of a query. Some servers do not decode the dollar sign of OData. */
function queryName(name: string): string {
  return encodeURIComponent(name).replaceAll('%24', '$')
}
