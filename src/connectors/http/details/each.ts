import { pluralize } from '../../../identity/pluralize.ts'
import { unreadable } from '../../file/failures.ts'
import { isObject, type JsonObject, pointer } from '../../json/cells.ts'
import { templateLabel } from '../client/address-label.ts'
import { requestMaker } from '../client/source-request.ts'
import { endOfList, totalsOf } from '../lists/list-end.ts'
import { type ListPage, readAnswer } from '../lists/list-page.ts'
import type { ListSettings } from '../lists/list-settings.ts'
import type { Each } from '../settings/details.ts'
import type { HttpSource } from '../settings/settings.ts'
import { columnsIn, fillAddress, jsonTemplate } from './columns.ts'
import { type DetailSource, type DetailTools, foundDetails } from './detail-source.ts'

/** With these statuses a server says that it has nothing about a record. */
const absentStatuses = [204, 404, 410]

/** Sends a request for each record that is looked up. */
export async function openEach(
  source: HttpSource,
  { each, index }: { readonly each: Each; readonly index: number },
  { context, client }: DetailTools,
): Promise<DetailSource> {
  const { as, take } = each
  const at = `each.${index}.body`
  const body = each.body === undefined ? null : await jsonTemplate(each.body, at, context)
  const columns = [...columnsIn(each.url), ...(body?.columns ?? [])]
  const makeRequest = await requestMaker({ method: each.method, format: 'json', at }, context)
  const { ignoredStatements, maxPages, maxPageBytes } = source
  const settings: ListSettings = { ...each, at, pages: 'single', ignoredStatements, maxPages, maxPageBytes }
  // The address with the names of the columns: their values are personal.
  const address = templateLabel(context, { at: `each.${index}.url`, url: each.url })
  let requests = 0
  let bytes = 0
  return {
    as,
    take,
    find: async ({ cells, position }) => {
      const blank = columns.find((column) => (cells.get(column) ?? '').trim() === '')
      if (blank !== undefined) return { absence: `it has nothing in ${blank}` }
      const label = `${address} for ${position}`
      const url = fillAddress(each.url, cells)
      if (!url) throw unreadable(`${label}: its columns make no address`, 'check url of each')
      requests += 1
      const request = makeRequest({ url, label, body: body?.fill(cells) })
      const answer = await client.read({ ...request, acceptedStatuses: absentStatuses }, async (response) =>
        response.status === 200 ? await readAnswer(source, response, label) : response.status,
      )
      if (typeof answer === 'number') return { absence: `${address} answers with status ${answer}` }
      bytes += answer.bytes.length
      if (each.ok) checkOk(answer, each.ok)
      const details = detailsIn(answer, each.records)
      checkWhole(settings, { ...answer, records: details })
      return foundDetails(details, `${address} holds nothing about it`)
    },
    summarize: () => ({
      end: `${as} of ${address}: ${pluralize(requests, 'answer')}, each of them whole`,
      bytes,
      digest: '',
      warnings: [],
    }),
    [Symbol.asyncDispose]: async () => {},
  }
}

/** Refuses an answer that does not state its success, such as an error inside status 200. */
function checkOk({ content, label }: Pick<ListPage, 'content' | 'label'>, { at, is }: NonNullable<Each['ok']>): void {
  const value = pointer(content, at)
  const isStated = typeof value !== 'object' && String(value) === is
  if (!isStated) throw unreadable(`${label}: ${at} is not ${is}`, 'the system reports an error; or check ok of each')
}

/** The details at a pointer: one object, a list of objects, or none for null and an empty list. */
function detailsIn({ content, label }: Pick<ListPage, 'content' | 'label'>, path: string): readonly JsonObject[] {
  const value = pointer(content, path)
  if (value === null) return []
  const details: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (details.every(isJsonObject)) return details
  const location = path === '' ? 'as the whole answer' : `at ${path}`
  const actual = value === undefined ? 'nothing' : 'something else'
  throw unreadable(
    `${label}: expected an object or a list of objects ${location}, found ${actual}`,
    'check records of each',
  )
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value as JsonObject)
}

/** Refuses an answer that states that it is only a part. */
function checkWhole(settings: ListSettings, page: ListPage): void {
  const count = page.records.length
  const signs = { configured: [], signs: [], refuted: [] }
  const totals = totalsOf(settings, page)
  endOfList(settings, { by: 'single' }, { page, totals, records: count, pages: 1, counts: [count], ...signs })
}
