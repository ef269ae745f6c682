import type { ConnectorContext, OpenOptions } from '../../connector.ts'
import { unreadable } from '../../file/failures.ts'
import type { JsonValue } from '../../json/cells.ts'
import type { HttpClient } from '../client/client.ts'
import { withSecrets } from '../client/secrets.ts'
import { requestMaker } from '../client/source-request.ts'
import { type PageRule, pageRule } from '../settings/page-rule.ts'
import { ListChange } from './list-change.ts'
import type { CollectedList } from './list-collector.ts'
import { endOfList, type LastPage } from './list-end.ts'
import { ListReading, type ReadingInput } from './list-reading.ts'
import type { ListSettings } from './list-settings.ts'
import { type PagesEnd, readNamedPages } from './named-pages.ts'
import { isByPosition, mayShift, namedPager, positionPager } from './pager.ts'
import { readPagesByPosition } from './position-pages.ts'
import type { Spool } from './spool.ts'

/** How often a list is read again because it changed while it was read. */
const maxRereads = 3

/** A list that was fetched to its end. The spool holds its records, one JSON text per line. */
export type FetchedList = Omit<CollectedList, 'sequence'> & {
  /** The value at `timePointer` in the first page. */
  readonly statedTime: JsonValue | undefined
  /** How the end of the list was recognised. */
  readonly end: string
}

/** What a list is fetched with. */
type ListRequest = {
  readonly client: HttpClient
  readonly context: Pick<ConnectorContext, 'secret'>
  /** Receives the records. It is cleared when the list is read again. */
  readonly spool: Spool
  /** The name of the list in origins. */
  readonly name: string
  /** The address in failures. */
  readonly label: string
  readonly onWait?: OpenOptions['onWait']
}

/**
 * Fetches every page of a list. Refuses a list whose pages form a circle, or whose end is not certain. A list that changed while it was
 * read is read again from the start. A list whose pages may shift is read until two readings in a row are equal, unless it has a total of
 * records.
 */
export async function fetchList(settings: ListSettings, request: ListRequest): Promise<FetchedList> {
  const { spool, label, onWait } = request
  const input = await readingInput(settings, request)
  let previous: string | null = null
  for (let rereads = 0; ; ) {
    const reading = await readOnce(input).catch(asListChange)
    if (!(reading instanceof ListChange)) {
      const { sequence, isCounted, ...list } = reading
      if (isCounted || !needsTwoReadings(input.rule, list)) return list
      if (previous === sequence) return { ...list, end: `${list.end}; two readings are equal` }
    }
    const change = reading instanceof ListChange ? reading : previous === null ? null : differentReading(label)
    if (change !== null) {
      if (rereads === maxRereads) throw changedTooOften(change)
      rereads += 1
      onWait?.(`reading the list again: ${change.message}`)
    }
    previous = reading instanceof ListChange ? null : reading.sequence
    await spool.clear()
  }
}

/** Whether one reading of a list without a total of records may have missed some. By position, there is always a request behind the first. */
function needsTwoReadings(rule: PageRule, { counts }: Pick<CollectedList, 'counts'>): boolean {
  return mayShift(rule) && (isByPosition(rule) || counts.length > 1)
}

async function readingInput(settings: ListSettings, request: ListRequest): Promise<ReadingInput> {
  const { client, context, spool, name, label } = request
  const { body, at } = settings
  const makeRequest = await requestMaker({ ...settings, format: 'json' }, context)
  const withSecret = body === undefined ? settings : { ...settings, body: await withSecrets(context, at, body) }
  return { settings: withSecret, rule: pageRule(settings), client, makeRequest, target: { spool, name }, label }
}

type CompleteReading = Omit<FetchedList, 'end'> & CollectedList & { readonly end: string; readonly isCounted: boolean }

async function readOnce(input: ReadingInput): Promise<CompleteReading> {
  const { settings, rule } = input
  const reading = new ListReading(input)
  const { collector } = reading
  const ended = isByPosition(rule)
    ? await readPagesByPosition(reading, rule, positionPager(rule, settings))
    : await readNamedPages(reading, rule, namedPager(rule, settings))
  const { text, isCounted } = endOfList(settings, rule, lastPageOf(input, reading, ended))
  return { ...collector.finish(), statedTime: reading.statedTime, end: text, isCounted }
}

function lastPageOf({ rule }: ReadingInput, { collector, total, totals }: ListReading, ended: PagesEnd): LastPage {
  const { more, ...end } = ended
  const { records, counts } = collector
  const noMore = more === false && rule.more !== undefined ? [{ kind: 'noMore' as const, location: rule.more }] : []
  const configured = [...(total === null ? [] : [total]), ...noMore]
  const read = counts.findLastIndex((count) => count > 0) + 1
  const pages = isByPosition(rule) ? Math.max(1, read) : counts.length
  return { ...end, records, pages, counts, totals, configured }
}

function asListChange(error: unknown): ListChange {
  if (error instanceof ListChange) return error
  throw error
}

function differentReading(label: string): ListChange {
  return new ListChange(
    `${label}: two readings in a row found different records, or another order`,
    'set total below pages, so that one reading suffices; or let the server sort the list, and set key, so that only keys are compared',
  )
}

function changedTooOften({ message, help }: ListChange): Error {
  const problem = `${message}; the list was read again ${maxRereads} times, and still cannot be trusted`
  return unreadable(problem, `if people change the list now, run it again later; else ${help}`)
}
