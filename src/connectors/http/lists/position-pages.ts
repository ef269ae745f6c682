import { unreadable } from '../../file/failures.ts'
import { moreFollows } from './configured-end.ts'
import { ListChange } from './list-change.ts'
import type { ListPage } from './list-page.ts'
import type { ListReading } from './list-reading.ts'
import { contradictedMore, noContentSign, type PagesEnd } from './named-pages.ts'
import type { PositionPager, PositionRule } from './pager.ts'

/**
 * Reads pages by their position until the total is reached, a page states that no other follows, or two pages in a row are empty. A short
 * page is no end: a server may give less than was requested. One empty page is none either: the one behind it must be empty too.
 */
export async function readPagesByPosition(
  reading: ListReading,
  rule: PositionRule,
  pager: PositionPager,
): Promise<PagesEnd> {
  const { collector } = reading
  let page = await reading.fetchFirst(pager.at({ records: 0, pages: 0 }))
  let response: ListPage | null = page
  const emptyPages: string[] = []
  let longest = 0
  for (;;) {
    const count = response?.records.length ?? 0
    const more = response && moreFollows(rule, response)
    if (count > 0 && emptyPages.length > 0) throw emptyBetween(page)
    if (count === 0 && (more || (rule.more !== undefined && response === null)))
      throw contradictedMore(rule, page, response === null ? 'no content (status 204) behind it' : 'no record')
    if (more === false) return { page, more, signs: [], refuted: [] }
    if (count === 0) {
      emptyPages.push(response === null ? noContentSign(reading) : `page ${collector.counts.length} is empty`)
      const refuted = response === null ? (['next', 'more'] as const) : (['next'] as const)
      if (emptyPages.length > 1 || reading.total !== null) return { page, more: null, signs: emptyPages, refuted }
    }
    if (more === null && reading.isTotalReached) {
      const signs = count < longest ? [] : [await confirmEnd(reading, rule, pager)]
      return { page, more, signs, refuted: signs.length > 0 ? ['next', 'more'] : [] }
    }
    longest = Math.max(longest, count)
    const gap = emptyPages.length > 0 ? longest || (rule.size ?? 1) : 0
    response = await reading.fetch(pager.at({ records: collector.records + gap, pages: collector.counts.length }))
    page = response ?? page
  }
}

/**
 * Requests the page behind a full last page: a total that is too low, or that counts a page only, ends a list too soon. Returns in words
 * what shows that there are no more records.
 */
async function confirmEnd(reading: ListReading, rule: PositionRule, pager: PositionPager): Promise<string> {
  const { collector, total } = reading
  const { records, counts } = collector
  const name = `page ${counts.length + 1}`
  const following = await reading.probe(pager.at({ records, pages: counts.length }))
  if (following === null || following.length === 0) return `there is no ${name}`
  if (!collector.hasAll(following))
    throw new ListChange(
      `${name} holds more records, although the list should have ${total?.count} ${total?.kind}`,
      'check total below pages',
    )
  // A server that ignores the position repeats its first page, and a total that counts only the page would fit.
  if (counts.length > 1 || records < (rule.size ?? 0)) return `${name} repeats records`
  throw unreadable(
    `${name} repeats the first page`,
    'check parameter below pages; if the list has one page only, set more, or a size above the number of records',
  )
}

function emptyBetween({ label }: ListPage): Error {
  return unreadable(`the page before ${label} is empty`, 'records may be missing; run it again, or set total')
}
