import { pluralize } from '../../../identity/pluralize.ts'
import { type JsonValue, pointer } from '../../json/cells.ts'
import type { CountStatement, Statement } from '../../json/statements.ts'
import type { HttpClient } from '../client/client.ts'
import type { RequestMaker } from '../client/source-request.ts'
import type { PageRule } from '../settings/page-rule.ts'
import { configuredTotal } from './configured-end.ts'
import { ListChange } from './list-change.ts'
import { ListCollector, type SpoolTarget } from './list-collector.ts'
import { totalsOf } from './list-end.ts'
import { type ListPage, readAnswer, readPage } from './list-page.ts'
import type { ListSettings } from './list-settings.ts'
import type { PageTarget } from './pager.ts'

const noContent = 204
const notFound = 404

/** What a reading of a list is made with. */
export type ReadingInput = {
  readonly settings: ListSettings
  readonly rule: PageRule
  readonly client: HttpClient
  readonly makeRequest: RequestMaker
  readonly target: SpoolTarget
  /** The address in failures. */
  readonly label: string
}

/** One reading of a list from its start. Fetches pages, collects their records, and compares the totals that they state. */
export class ListReading {
  readonly #input: ReadingInput
  readonly collector: ListCollector
  /** The total that the settings point to, as the first page states it. */
  total: CountStatement | null = null
  /** The totals that the first page states. */
  totals: readonly Statement[] = []
  /** The value at `timePointer` in the first page. */
  statedTime: JsonValue | undefined
  #label: string

  constructor(input: ReadingInput) {
    this.#input = input
    this.#label = input.label
    this.collector = new ListCollector(input.settings, input.rule, input.target)
  }

  /** The first page. */
  async fetchFirst(target: PageTarget): Promise<ListPage> {
    const { settings, rule, client, makeRequest, label } = this.#input
    this.collector.checkUnvisited(target, label)
    const page = await client.read(makeRequest({ ...target, label }), (response) => readPage(settings, response, label))
    this.total = configuredTotal(rule, page)
    this.totals = totalsOf(settings, page)
    this.statedTime = settings.timePointer === undefined ? undefined : pointer(page.content, settings.timePointer)
    await this.collector.add(page)
    return page
  }

  /** A page after the first one; null if the server answers that there is nothing. */
  async fetch(target: PageTarget): Promise<ListPage | null> {
    const { settings, client, makeRequest } = this.#input
    this.collector.checkUnvisited(target, this.#label)
    const label = this.#nextLabel()
    const request = makeRequest({ ...target, label })
    const page = await client.read({ ...request, acceptedStatuses: [noContent] }, async (response) =>
      response.status === noContent ? null : await readPage(settings, response, label),
    )
    this.#label = label
    if (page === null) {
      this.collector.addEmpty()
      return null
    }
    this.#checkSameTotal(page)
    await this.collector.add(page)
    return page
  }

  /** The records where the page after the last one would be, which belong to no page; null if the server has no such page. */
  async probe(target: PageTarget): Promise<readonly JsonValue[] | null> {
    const { settings, client, makeRequest } = this.#input
    const label = this.#nextLabel()
    const request = makeRequest({ ...target, label })
    const answer = await client.read({ ...request, acceptedStatuses: [noContent, notFound] }, async (response) =>
      response.status === 200 ? await readAnswer(settings, response, label) : null,
    )
    const records = answer && pointer(answer.content, settings.records)
    return Array.isArray(records) ? records : null
  }

  /** Whether the total that the settings point to is reached. */
  get isTotalReached(): boolean {
    const { total, collector } = this
    if (total === null) return false
    return total.count <= (total.kind === 'records' ? collector.records : collector.counts.length)
  }

  #nextLabel(): string {
    return `page ${this.collector.counts.length + 1} of ${this.#input.label}`
  }

  #checkSameTotal(page: ListPage): void {
    const total = configuredTotal(this.#input.rule, page)
    const first = this.total
    if (total === null || first === null || total.count === first.count) return
    const change = `${pluralize(first.count, first.kind.slice(0, -1))}, and now ${total.count}`
    throw new ListChange(`${page.label}: the first page stated ${change}`, 'check total below pages')
  }
}
