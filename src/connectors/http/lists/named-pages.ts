import { unreadable } from '../../file/failures.ts'
import { pointer } from '../../json/cells.ts'
import { moreFollows } from './configured-end.ts'
import type { LastPage } from './list-end.ts'
import type { ListPage } from './list-page.ts'
import type { ListReading } from './list-reading.ts'
import type { NamedPager, NamedRule } from './pager.ts'

/** How the reading of the pages ended. */
export type PagesEnd = Pick<LastPage, 'page' | 'signs' | 'refuted' | 'needsTotal'> & {
  /** False if the last page states at the pointer `more` that no other follows. */
  readonly more: boolean | null
}

/** Reads pages until one names no next page, or states that there is none. */
export async function readNamedPages(reading: ListReading, rule: NamedRule, pager: NamedPager): Promise<PagesEnd> {
  let page = await reading.fetchFirst(pager.first)
  for (;;) {
    const more = moreFollows(rule, page)
    if (more === false) return { page, more, signs: [], refuted: [] }
    const next = pager.next(page)
    const isEmpty = page.records.length === 0
    if (more && (next === null || isEmpty))
      throw contradictedMore(rule, page, next === null ? 'no next page' : 'no record')
    if (next === null) return { page, more, signs: [missingSign(rule, page)].flat(), refuted: [] }
    // Some servers name a next page behind the last one too.
    if (isEmpty && reading.isTotalReached) return { page, more, signs: ['it is empty'], refuted: ['next'] }
    const following = await reading.fetch(next)
    if (following === null && more) throw contradictedMore(rule, page, 'no content (status 204) behind it')
    if (following === null)
      return { page, more, signs: [noContentSign(reading)], refuted: ['next', 'more'], needsTotal: true }
    page = following
  }
}

/** The refusal of a page that states at the pointer `more` that another one follows, and does not lead to one. */
export function contradictedMore({ more }: { readonly more?: string }, { label }: ListPage, actual: string): Error {
  return unreadable(
    `${label} states at ${more} that another page follows, and there is ${actual}`,
    'check more below pages',
  )
}

/** Says that the server answered without content. */
export function noContentSign({ collector }: ListReading): string {
  return `page ${collector.counts.length} has no content (status 204)`
}

/** What shows that a page names no next one. */
function missingSign(rule: NamedRule, { content }: ListPage): string | readonly string[] {
  if (rule.by === 'link') return 'the header link names no next page'
  if (!('next' in rule)) return []
  const value = pointer(content, rule.next)
  return `${rule.next} is ${value === undefined ? 'missing' : value === null ? 'null' : 'empty'}`
}
