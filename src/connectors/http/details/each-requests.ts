import { pluralize } from '../../../identity/pluralize.ts'
import { unreadable } from '../../file/failures.ts'
import { isObject, type JsonObject, type JsonValue, pointer } from '../../json/cells.ts'
import { withMember } from '../../json/members.ts'
import { templateLabel } from '../client/address-label.ts'
import type { ConfiguredJson } from '../client/secrets.ts'
import { requestMaker } from '../client/source-request.ts'
import { endOfList, totalsOf } from '../lists/list-end.ts'
import { type ListPage, readAnswer } from '../lists/list-page.ts'
import type { ListSettings } from '../lists/list-settings.ts'
import type { Each } from '../settings/details.ts'
import type { HttpSource } from '../settings/settings.ts'
import { columnsIn, fillAddress, jsonTemplate } from './columns.ts'
import type { DetailRequest, DetailSummary, DetailTools } from './detail-source.ts'

/** An answer with status 200. */
type Answer = Omit<ListPage, 'records'>

type SendOptions = {
  /** The entries that the list of a batch gets. */
  readonly batch?: { readonly list: string; readonly entries: readonly ConfiguredJson[] }
  /** Statuses besides 200 that are an answer. */
  readonly acceptedStatuses?: readonly number[]
  /** The request in failures. */
  readonly label: string
}

/** Sends the requests of one `each`, and reads what they answer. */
export type EachRequester = {
  readonly each: Each
  /** The address with the names of the columns in place of their values, which are personal. */
  readonly address: string
  /** The name of a column without which nothing can be asked about a record; null if it has all of them. */
  readonly blankColumn: (cells: DetailRequest['cells']) => string | null
  /** The body of the request about a record. */
  readonly bodyFor: (cells: DetailRequest['cells']) => ConfiguredJson | undefined
  readonly send: (cells: DetailRequest['cells'], options: SendOptions) => Promise<Answer | number>
  /** Refuses an answer that states that it is only a part of its records. */
  readonly checkWhole: (page: ListPage) => void
  readonly summarize: () => DetailSummary
}

/** What sends the requests of the `each` at `index` of a source. */
export async function openRequester(
  source: HttpSource,
  { each, index }: { readonly each: Each; readonly index: number },
  { context, client }: DetailTools,
): Promise<EachRequester> {
  const at = `each.${index}.body`
  const body = each.body === undefined ? null : await jsonTemplate(each.body, at, context)
  const columns = [...columnsIn(each.url), ...(body?.columns ?? []), ...(each.batch ? [each.batch.with] : [])]
  const makeRequest = await requestMaker({ method: each.method, format: 'json', at }, context)
  const records = each.batch?.answers ?? each.records
  const { ignoredStatements, maxPages, maxPageBytes } = source
  const settings: ListSettings = { ...each, records, at, pages: 'single', ignoredStatements, maxPages, maxPageBytes }
  const address = templateLabel(context, { at: `each.${index}.url`, url: each.url })
  const bodyFor = (cells: DetailRequest['cells']) => body?.fill(cells)
  let requests = 0
  let bytes = 0
  return {
    each,
    address,
    blankColumn: (cells) => columns.find((column) => (cells.get(column) ?? '').trim() === '') ?? null,
    bodyFor,
    send: async (cells, { batch, acceptedStatuses, label }) => {
      const url = fillAddress(each.url, cells)
      if (!url) throw unreadable(`${label}: its columns make no address`, 'check url of each')
      requests += 1
      const filled = bodyFor(cells)
      const sent = batch ? withMember(filled ?? {}, batch.list, [...batch.entries]) : filled
      const request = { ...makeRequest({ url, label, body: sent }), acceptedStatuses }
      const answer = await client.read(request, async (response) =>
        response.status === 200 ? await readAnswer(source, response, label) : response.status,
      )
      if (typeof answer !== 'number') bytes += answer.bytes.length
      return answer
    },
    checkWhole: (page) => checkWhole(settings, page),
    summarize: () => ({
      end: `${each.as} of ${address}: ${pluralize(requests, 'answer')}, each of them whole`,
      bytes,
      digest: '',
      warnings: [],
    }),
  }
}

function checkWhole(settings: ListSettings, page: ListPage): void {
  const count = page.records.length
  const signs = { configured: [], signs: [], refuted: [] }
  const totals = totalsOf(settings, page)
  endOfList(settings, { by: 'single' }, { page, totals, records: count, pages: 1, counts: [count], ...signs })
}

/** The details that an answer, or one of several in it, holds about a record. Refuses one that does not state its success. */
export function detailsIn(content: JsonValue, { ok, records }: Each, label: string): readonly JsonObject[] {
  if (ok) checkOk(content, ok, label)
  const value = pointer(content, records)
  if (value === null) return []
  const details: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (details.every(isJsonObject)) return details
  const location = records === '' ? 'as the whole answer' : `at ${records}`
  const actual = value === undefined ? 'nothing' : 'something else'
  throw unreadable(
    `${label}: expected an object or a list of objects ${location}, found ${actual}`,
    'check records of each',
  )
}

/** Refuses an answer such as an error inside status 200. */
function checkOk(content: JsonValue, { at, is }: NonNullable<Each['ok']>, label: string): void {
  const value = pointer(content, at)
  const isStated = typeof value !== 'object' && String(value) === is
  if (!isStated) throw unreadable(`${label}: ${at} is not ${is}`, 'the system reports an error; or check ok of each')
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value as JsonObject)
}
