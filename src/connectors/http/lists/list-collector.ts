import { createHash, hash } from 'node:crypto'
import { unreadable } from '../../file/failures.ts'
import { collectHeaders, flattenRecord, type JsonValue, pointer } from '../../json/cells.ts'
import { maxCells } from '../../json/slices.ts'
import type { PageRule } from '../settings/page-rule.ts'
import { ListChange } from './list-change.ts'
import { type ListPage, lastModifiedMs } from './list-page.ts'
import type { ListSettings } from './list-settings.ts'
import type { PageTarget } from './pager.ts'
import type { Spool } from './spool.ts'

const digestBytes = 16

/** What was collected in one reading of a list. */
export type CollectedList = {
  readonly headers: readonly string[]
  /** How many records each page holds. */
  readonly counts: readonly number[]
  readonly bytes: number
  /** The digest of all pages, as hex. */
  readonly digest: string
  /** The earliest time in the header Last-Modified of all pages; NaN if a page has none. */
  readonly lastModifiedMs: number
  /** The digest of the keys of all records in their order. Equal readings found the same records. */
  readonly sequence: string
}

/** Where the records of a list go, and what names the list. */
export type SpoolTarget = { readonly spool: Spool; readonly name: string }

/** Spools the records of a list page by page, and collects what is known of them together. */
export class ListCollector {
  readonly #settings: ListSettings
  readonly #rule: PageRule
  readonly #target: SpoolTarget
  readonly #headers = new Set<string>()
  readonly #counts: number[] = []
  readonly #digest = createHash('sha256')
  readonly #sequence = createHash('sha256')
  readonly #visited = new Set<string>()
  readonly #pageDigests = new Set<string>()
  /** Digests of the keys of all records so far. They are a small part of the texts. */
  readonly #keyDigests = new Set<string>()
  #lastModifiedMs = Number.POSITIVE_INFINITY
  #bytes = 0
  #records = 0

  constructor(settings: ListSettings, rule: PageRule, target: SpoolTarget) {
    this.#settings = settings
    this.#rule = rule
    this.#target = target
  }

  /** Records that a page is requested. Refuses a request that was made already, and more pages than `maxPages`. `label`: the page before. */
  checkUnvisited({ url, body }: PageTarget, label: string): void {
    const address = body === undefined ? url.href : `${url.href} ${JSON.stringify(body)}`
    if (this.#visited.has(address)) throw circularPages(label, this.#rule)
    const { maxPages } = this.#settings
    if (this.#counts.length >= maxPages)
      throw unreadable(`${label} is not the last page, and maxPages is ${maxPages}`, 'check next, or raise maxPages')
    this.#visited.add(address)
  }

  /** Spools the records of a page. Refuses a page that equals an earlier one. */
  async add(page: ListPage): Promise<void> {
    const { records, bytes, label, headers } = page
    this.#digest.update(bytes)
    this.#bytes += bytes.length
    this.#lastModifiedMs = Math.min(this.#lastModifiedMs, lastModifiedMs(headers))
    const lines = records.map((record) => `${JSON.stringify(record)}\n`)
    const text = lines.join('')
    this.#checkDifferent(text, label)
    this.#collectKeys(page, lines)
    const origin = `${this.#target.name} page ${this.#counts.length + 1}`
    for (const record of records) collectHeaders(this.#headers, flattenRecord(record), origin)
    this.#records += records.length
    if (this.#records * this.#headers.size > maxCells)
      throw unreadable(`${label}: the records have more than ${maxCells} cells together`, 'check records')
    if (text !== '') await this.#target.spool.append(text)
    this.#counts.push(records.length)
  }

  /** Counts a response without a body as a page without records. */
  addEmpty(): void {
    this.#counts.push(0)
  }

  /** Whether all these records were read before. */
  hasAll(records: readonly JsonValue[]): boolean {
    return records.every((record) =>
      this.#keyDigests.has(digestOf(this.#keyOf(record) ?? `${JSON.stringify(record)}\n`)),
    )
  }

  /** How many records were read so far. */
  get records(): number {
    return this.#records
  }

  /** How many records each page holds. */
  get counts(): readonly number[] {
    return this.#counts
  }

  finish(): CollectedList {
    return {
      headers: [...this.#headers],
      counts: this.#counts,
      bytes: this.#bytes,
      digest: this.#digest.digest('hex'),
      lastModifiedMs: this.#lastModifiedMs,
      sequence: this.#sequence.digest('hex'),
    }
  }

  // A server that does not understand the token sends the first page again and again, each time with another token.
  #checkDifferent(text: string, label: string): void {
    if (text === '') return
    const digest = hash('sha256', text, 'base64')
    if (this.#pageDigests.has(digest)) throw circularPages(label, this.#rule)
    this.#pageDigests.add(digest)
  }

  /** Collects what identifies the records. Throws if one was read before: the list changed, so another one may be missing. */
  #collectKeys({ records, label }: ListPage, lines: readonly string[]): void {
    const { key, by } = this.#rule
    if (key === undefined && (by === 'undeclared' || by === 'single')) return
    const keys = records.map((record) => this.#keyOf(record))
    if (key !== undefined && records.length > 0 && keys.every((text) => text === null))
      throw unreadable(`${label}: no record holds a text or a number at ${key}`, 'check key below pages')
    for (const [index, line] of lines.entries()) {
      const digest = digestOf(keys[index] ?? line)
      if (this.#keyDigests.has(digest))
        throw new ListChange(`${label}: record ${index + 1} was read before`, helpForRepeated(this.#rule))
      this.#keyDigests.add(digest)
      this.#sequence.update(digest, 'latin1')
    }
  }

  #keyOf(record: JsonValue): string | null {
    const { key } = this.#rule
    const value = key === undefined ? null : pointer(record, key)
    return typeof value === 'string' && value !== '' ? value : null
  }
}

/** A part of the digest: it is short, and no two records have the same one by chance. */
function digestOf(text: string): string {
  return hash('sha256', text, 'buffer').toString('latin1', 0, digestBytes)
}

function helpForRepeated({ by, key, more, total }: PageRule): string {
  const help = `${key === undefined ? 'set' : 'check'} key, and let the server sort the list`
  if (by === 'undeclared' || by === 'single') return help
  return more === undefined && total === undefined
    ? `${help}; if the server repeats records behind its last page, set more or total`
    : help
}

function circularPages(label: string, { by, more, total }: PageRule): Error {
  const problem = `${label} leads back to a page that was read already`
  const setting = by === 'next' || by === 'cursor' ? 'check next and nextParameter' : 'check parameter'
  return unreadable(
    problem,
    more === undefined && total === undefined
      ? `${setting}; if this is the end of the list, set more or total`
      : setting,
  )
}
