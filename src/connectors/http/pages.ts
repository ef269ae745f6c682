import { createHash } from 'node:crypto'
import type { SourceRow } from '../connector.ts'
import { type ExportFile, readBytes } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import { collectHeaders, flattenRecord, type JsonValue, pointer, readJson, rowReader } from '../json/cells.ts'
import { checkContentType } from './body.ts'
import type { HttpAnswer, HttpClient } from './fetch.ts'
import { endOfList, totalsOf } from './list-end.ts'
import type { HttpSource } from './settings.ts'
import type { Spool } from './spool.ts'

const cellLimit = 500_000_000
const addressLimit = 2000
const rowsInSlice = 1000
const cellsInSlice = 200_000
const lineFeed = 10

/** A list that was fetched to its end. The spool holds its records, one JSON text on each line. */
type Pages = {
  readonly headers: readonly string[]
  /** How many records each page holds. */
  readonly counts: readonly number[]
  readonly bytes: number
  /** The digest of all pages, as hex. */
  readonly digest: string
  /** The value at the pointer of asOf in the first page. */
  readonly stated: JsonValue | undefined
  /** How the end of the list was recognised. */
  readonly end: string
}

type Trip = {
  readonly client: HttpClient
  readonly spool: Spool
  readonly first: HttpAnswer
  /** The name of the list in origins. */
  readonly name: string
  /** The address in refusals. */
  readonly where: string
}

/** Fetches every page. The first one is already being answered. Refuses a list whose pages form a circle, or whose end is not certain. */
export async function fetchPages(source: HttpSource, { client, spool, first, name, where }: Trip): Promise<Pages> {
  const list = new PageList(source, { spool, name })
  let page = await list.add(first, where)
  const stated = source.asOf.from === 'pointer' ? pointer(page, source.asOf.pointer) : undefined
  let { url, headers } = first
  const totals = totalsOf(source, page, headers)
  for (;;) {
    const here = list.counts.length === 1 ? where : `page ${list.counts.length} of ${where}`
    const next = nextAddress(source, { page, url, where: here })
    if (!next) {
      const end = endOfList(source, { page, headers, ...list.read(), where: here, totals })
      return { ...list.finish(), stated, end }
    }
    list.visit(next, here)
    const there = `page ${list.counts.length + 1} of ${where}`
    const answer = await client.get(next, { where: there })
    page = await list.add(answer, there)
    ;({ url, headers } = answer)
  }
}

/** Collects the pages of a list. */
class PageList {
  readonly counts: number[] = []
  readonly #source: HttpSource
  readonly #spool: Spool
  readonly #name: string
  readonly #headers = new Set<string>()
  readonly #digest = createHash('sha256')
  readonly #visited: Set<string>
  readonly #seen = new Set<string>()
  #bytes = 0
  #records = 0

  constructor(source: HttpSource, { spool, name }: { readonly spool: Spool; readonly name: string }) {
    this.#source = source
    this.#spool = spool
    this.#name = name
    this.#visited = new Set([new URL(source.url).href])
  }

  /** Notes the address of the next page. Refuses an address that was already visited. */
  visit(url: URL, where: string): void {
    if (this.#visited.has(url.href)) throw circle(where)
    if (this.counts.length >= this.#source.maxPages)
      throw unreadable(
        `${where} is not the last page, and maxPages is ${this.#source.maxPages}`,
        'check next, or raise maxPages',
      )
    this.#visited.add(url.href)
  }

  /** Reads a page and spools its records. */
  async add(answer: HttpAnswer, where: string): Promise<JsonValue> {
    const number = this.counts.length + 1
    checkContentType(answer, { where, format: 'json' })
    const bytes = await wholeBody(answer, { where, maxPageBytes: this.#source.maxPageBytes })
    this.#digest.update(bytes)
    this.#bytes += bytes.length
    const page = readJson(bytes, { name: where })
    const records = recordsOf(page, this.#source.records, where)
    const lines = records.map((record) => `${JSON.stringify(record)}\n`)
    this.#checkNew(lines, where)
    for (const record of records) collectHeaders(this.#headers, flattenRecord(record), `${this.#name} page ${number}`)
    this.#records += records.length
    if (this.#records * this.#headers.size > cellLimit)
      throw unreadable(`${where}: the records have more than ${cellLimit} cells together`, 'check records')
    if (lines.length > 0) await this.#spool.append(lines.join(''))
    this.counts.push(records.length)
    return page
  }

  read(): { readonly records: number; readonly pages: number } {
    return { records: this.#records, pages: this.counts.length }
  }

  finish(): Pick<Pages, 'headers' | 'counts' | 'bytes' | 'digest'> {
    return { headers: [...this.#headers], counts: this.counts, bytes: this.#bytes, digest: this.#digest.digest('hex') }
  }

  // A server that does not understand the token sends the first page again and again, each time with another token.
  #checkNew(lines: readonly string[], where: string): void {
    if (lines.length === 0) return
    const hash = createHash('sha256')
    for (const line of lines) hash.update(line)
    const digest = hash.digest('base64')
    if (this.#seen.has(digest)) throw circle(where)
    this.#seen.add(digest)
  }
}

function circle(where: string): Error {
  return unreadable(`${where} leads back to a page that was read already`, 'check next and nextParameter')
}

async function wholeBody(
  { body }: HttpAnswer,
  { where, maxPageBytes }: { readonly where: string; readonly maxPageBytes: number },
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxPageBytes)
      throw unreadable(`${where} is longer than ${maxPageBytes} bytes`, 'ask for smaller pages, or raise maxPageBytes')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function recordsOf(page: JsonValue, path: string, where: string): readonly JsonValue[] {
  const records = pointer(page, path)
  if (Array.isArray(records)) return records
  const found = records === undefined ? 'nothing' : 'something else'
  throw unreadable(
    `${where}: expected a list of records ${path === '' ? 'as the whole answer' : `at ${path}`}, found ${found}`,
    'check records',
  )
}

type Place = { readonly page: JsonValue; readonly url: URL; readonly where: string }

function nextAddress({ url: start, next, nextParameter }: HttpSource, { page, url, where }: Place): URL | null {
  const stated = next === undefined ? null : pointer(page, next)
  if (stated === undefined || stated === null || stated === '' || stated === false) return null
  if (typeof stated !== 'string' || stated.length > addressLimit)
    throw unreadable(`${where} holds no address and no token at ${next}`, 'check next')
  if (nextParameter === undefined) return URL.parse(stated, url) ?? notAnAddress(where, next)
  const target = new URL(start)
  const pair = `${encodeURIComponent(nextParameter)}=${encodeURIComponent(stated)}`
  target.search = target.search === '' ? pair : `${target.search}&${pair}`
  return target
}

function notAnAddress(where: string, next: string | undefined): never {
  throw unreadable(`${where} holds no address at ${next}`, 'check next; a token needs nextParameter')
}

/** The rows of spooled pages, in slices. A record that cannot be trusted carries the reason as its fault. */
export async function* readRecords(
  file: ExportFile,
  { headers, counts }: Pick<Pages, 'headers' | 'counts'>,
  signal: AbortSignal,
): AsyncGenerator<readonly SourceRow[]> {
  const toRow = rowReader(headers)
  const most = Math.max(1, Math.min(rowsInSlice, Math.floor(cellsInSlice / Math.max(1, headers.length))))
  let rows: SourceRow[] = []
  let page = 0
  let line = 0
  for await (const text of linesOf(readBytes(file, signal))) {
    for (; line === counts[page]; page += 1) line = 0
    line += 1
    const record = flattenRecord(JSON.parse(text.toString()))
    rows.push(toRow(record, { file: `${file.name} page ${page + 1}`, line }))
    if (rows.length < most) continue
    yield rows
    rows = []
  }
  if (rows.length > 0) yield rows
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = []
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      yield Buffer.concat([...begun, chunk.subarray(from, end)])
      begun = []
      from = end + 1
    }
    begun.push(chunk.subarray(from))
  }
}
