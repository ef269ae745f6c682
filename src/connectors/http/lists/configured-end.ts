import { unreadable } from '../../file/failures.ts'
import { pointer } from '../../json/cells.ts'
import type { CountStatement } from '../../json/statements.ts'
import type { PageRule } from '../settings/page-rule.ts'
import type { Pages } from '../settings/pages.ts'
import type { ListPage } from './list-page.ts'

type Total = NonNullable<Pages['total']>
type Location = Exclude<Total, { readonly pages: unknown }>

/** Whether the page states at the pointer `more` that another page follows; null if the pointer is not configured. */
export function moreFollows({ more }: PageRule, { content, label }: ListPage): boolean | null {
  if (more === undefined) return null
  const stated = pointer(content, more)
  if (typeof stated === 'boolean') return stated
  throw unreadable(`${label} holds neither true nor false at ${more}`, 'check more below pages')
}

/** The total that the page states where the settings say; null if they name no location. */
export function configuredTotal({ total }: PageRule, page: ListPage): CountStatement | null {
  if (total === undefined) return null
  const isOfPages = typeof total === 'object' && 'pages' in total
  const location = isOfPages ? total.pages : total
  const stated = statedAt(location, page)
  if (typeof stated !== 'string' || !/^\d{1,15}$/.test(stated))
    throw unreadable(`${page.label} holds no number ${nameOf(location)}`, 'check total below pages')
  const kind = isOfPages ? 'pages' : 'records'
  return { kind, location: locationOf(location), count: Number(stated), isTotal: true }
}

function statedAt(location: Location, { content, headers }: ListPage): unknown {
  return typeof location === 'string' ? pointer(content, location) : headers[locationOf(location)]
}

/** The location as statements name it: a pointer, or the name of a header in lower case. */
function locationOf(location: Location): string {
  return typeof location === 'string' ? location : location.header.toLowerCase()
}

function nameOf(location: Location): string {
  return typeof location === 'string' ? `at ${location}` : `in the header ${locationOf(location)}`
}
