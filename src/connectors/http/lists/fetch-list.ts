import { createHash } from 'node:crypto'
import type { ConnectorContext, OpenOptions } from '../../connector.ts'
import { unreadable } from '../../file/failures.ts'
import { collectHeaders, flattenRecord, type JsonValue, pointer } from '../../json/cells.ts'
import type { HttpClient } from '../client/client.ts'
import { requestMaker } from '../client/source-request.ts'
import { endOfList, totalsOf } from './list-end.ts'
import { lastModifiedMs, type ListPage, readPage } from './list-page.ts'
import type { ListSettings } from './list-settings.ts'
import { nextPageAddress } from './next-page.ts'
import type { Spool } from './spool.ts'

/** The most cells of all records of a list together. */
export const maxCells = 500_000_000

/** A list that was fetched to its end. The spool holds its records, one JSON text per line. */
export type FetchedList = {
  readonly headers: readonly string[]
  /** How many records each page holds. */
  readonly counts: readonly number[]
  readonly bytes: number
  /** The digest of all pages, as hex. */
  readonly digest: string
  /** The value at `timePointer` in the first page. */
  readonly statedTime: JsonValue | undefined
  /** The earliest time in the header Last-Modified of all pages; NaN if a page has none. */
  readonly lastModifiedMs: number
  /** How the end of the list was recognised. */
  readonly end: string
}

/** What a list is fetched with. */
export type ListRequest = {
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

/** Fetches every page of a list. Refuses a list whose pages form a circle, or whose end is not certain. */
export async function fetchList(settings: ListSettings, request: ListRequest): Promise<FetchedList> {
  const { client, context, label } = request
  const makeRequest = await requestMaker({ ...settings, format: 'json' }, context)
  const list = new ListCollector(settings, request)
  const response = await client.fetch(makeRequest({ url: new URL(settings.url), label }))
  let page = await readPage(settings, response, label)
  await list.add(page)
  const statedTime = settings.timePointer === undefined ? undefined : pointer(page.content, settings.timePointer)
  const totals = totalsOf(settings, page)
  for (let number = 2; ; number += 1) {
    const next = nextPageAddress(settings, page)
    if (!next) break
    list.checkUnvisited(next, page.label)
    const nextLabel = `page ${number} of ${label}`
    page = await readPage(settings, await client.fetch(makeRequest({ url: next, label: nextLabel })), nextLabel)
    await list.add(page)
  }
  const end = endOfList(settings, { page, totals, ...list.totals() })
  return { ...list.finish(), statedTime, lastModifiedMs: lastModifiedMs(response.headers), end }
}

/** Spools the records of a list page by page, and collects what is known of them together. */
class ListCollector {
  readonly #settings: ListSettings
  readonly #spool: Spool
  readonly #name: string
  readonly #headers = new Set<string>()
  readonly #counts: number[] = []
  readonly #digest = createHash('sha256')
  readonly #visited: Set<string>
  readonly #pageDigests = new Set<string>()
  #bytes = 0
  #records = 0

  constructor(settings: ListSettings, { spool, name }: Pick<ListRequest, 'spool' | 'name'>) {
    this.#settings = settings
    this.#spool = spool
    this.#name = name
    this.#visited = new Set([new URL(settings.url).href])
  }

  /** Records the address of the next page. Refuses an address that was already visited, and more pages than `maxPages`. */
  checkUnvisited(url: URL, label: string): void {
    if (this.#visited.has(url.href)) throw circularPages(label)
    const { maxPages } = this.#settings
    if (this.#counts.length >= maxPages)
      throw unreadable(`${label} is not the last page, and maxPages is ${maxPages}`, 'check next, or raise maxPages')
    this.#visited.add(url.href)
  }

  /** Spools the records of a page. Refuses a page that equals an earlier one. */
  async add({ records, bytes, label }: ListPage): Promise<void> {
    this.#digest.update(bytes)
    this.#bytes += bytes.length
    const lines = records.map((record) => `${JSON.stringify(record)}\n`)
    this.#checkDifferent(lines, label)
    const origin = `${this.#name} page ${this.#counts.length + 1}`
    for (const record of records) collectHeaders(this.#headers, flattenRecord(record), origin)
    this.#records += records.length
    if (this.#records * this.#headers.size > maxCells)
      throw unreadable(`${label}: the records have more than ${maxCells} cells together`, 'check records')
    if (lines.length > 0) await this.#spool.append(lines.join(''))
    this.#counts.push(records.length)
  }

  /** How much was read so far. */
  totals(): { readonly records: number; readonly pages: number } {
    return { records: this.#records, pages: this.#counts.length }
  }

  finish(): Pick<FetchedList, 'headers' | 'counts' | 'bytes' | 'digest'> {
    return { headers: [...this.#headers], counts: this.#counts, bytes: this.#bytes, digest: this.#digest.digest('hex') }
  }

  // A server that does not understand the token sends the first page again and again, each time with another token.
  #checkDifferent(lines: readonly string[], label: string): void {
    if (lines.length === 0) return
    const hash = createHash('sha256')
    for (const line of lines) hash.update(line)
    const digest = hash.digest('base64')
    if (this.#pageDigests.has(digest)) throw circularPages(label)
    this.#pageDigests.add(digest)
  }
}

function circularPages(label: string): Error {
  return unreadable(`${label} leads back to a page that was read already`, 'check next and nextParameter')
}
