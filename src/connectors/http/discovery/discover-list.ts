import { Failure } from '../../../errors.ts'
import type { ListStart } from '../../discovery.ts'
import { isObject, type JsonValue, pointer } from '../../json/cells.ts'
import { findList, isRecords } from '../../json/find-list.ts'
import { textOf } from '../../json/statement-text.ts'
import { tableOfRecords } from '../../json/table-of-records.ts'
import type { HttpClient } from '../client/client.ts'
import { type ListPage, readAnswer } from '../lists/list-page.ts'
import { isByPosition, namedPager, type PageTarget, positionPager } from '../lists/pager.ts'
import type { Pages } from '../settings/pages.ts'
import { endSettings, findKey, hasUsualSize, pageCandidates, statementsIn, statesMore } from './page-candidates.ts'

/** How servers answer a request whose parameter they do not know. Some fail. */
const refusedStatuses = [204, 400, 404, 422]
/** A server that fails may not know the parameter, or be in trouble. */
const failedStatus = 500

type DiscoveryInput = {
  readonly client: HttpClient
  /** A pointer to the list of records that a person gave. */
  readonly records: string | undefined
  /** How a person gives another pointer, as messages say it. */
  readonly recordsHelp: (pointer: string) => string
  readonly maxPageBytes: number
}

/** How a list is read, and its first records. */
type DiscoveredList = Omit<ListStart, 'name'> & {
  readonly settings: { readonly url: string; readonly records?: string; readonly pages?: Pages }
}

/** What a candidate was proved with. */
type ProvedPages = { readonly url: string; readonly pages: Pages; readonly second: readonly JsonValue[] }

/** Finds the list of records in an answer, and how its pages follow each other, for which it fetches a second page. */
export async function discoverList(answer: Omit<ListPage, 'records'>, input: DiscoveryInput): Promise<DiscoveredList> {
  const path = findList(answer.content, { label: answer.label, chosen: input.records, help: input.recordsHelp })
  const records = pointer(answer.content, path)
  if (!isRecords(records)) throw new Error('the list that was found holds no records')
  const page = { ...answer, records }
  const failed = new Set<string>()
  const proved = await provedPages(page, path, { ...input, onFailure: (tried) => failed.add(wordsFor(tried)) })
  const all = [...records, ...(proved?.second ?? [])]
  const table = tableOfRecords(all, page.label)
  const key = findKey(all.filter(isObject))
  const pages = proved && { ...proved.pages, ...endSettings(page, path), ...(key !== undefined && { key }) }
  return {
    settings: { url: proved?.url ?? page.url.href, ...(path !== '' && { records: path }), ...(pages && { pages }) },
    ...table,
    isWhole: table.isWhole && proved === null && !mayHaveMore(page, path),
    notes: [...table.notes, ...(proved === null ? notesOnFailures(failed) : []), ...notesOn(page, path, pages)],
  }
}

/** The first way of paging that leads to a second page of the same list; null if there is none. */
async function provedPages(
  page: ListPage,
  path: string,
  { client, maxPageBytes, onFailure }: DiscoveryInput & { readonly onFailure: (pages: Pages) => void },
): Promise<ProvedPages | null> {
  const readRecords = async ({ url }: PageTarget, pages: Pages): Promise<readonly JsonValue[]> => {
    const label = `page 2 of ${page.label}`
    try {
      const response = await askTwice(client, { url, label })
      if (response.status === failedStatus) onFailure(pages)
      if (response.status !== 200) return []
      const records = pointer((await readAnswer({ maxPageBytes }, response, label)).content, path)
      return isRecords(records) ? records : []
    } catch (error) {
      if (error instanceof Failure && error.code === 'source_unreadable') return []
      throw error
    }
  }
  for (const pages of pageCandidates(page, path)) {
    const url = withoutParameter(page.url, pages)
    const targets = targetsOf(pages, url, page)
    if (targets === null) continue
    const second = await readRecords(targets.second, pages)
    if (!isSecondPage(second, page.records)) continue
    // A server that counts from another number would give its second page as the first one.
    const first = targets.first === null ? page.records : await readRecords(targets.first, pages)
    if (JSON.stringify(first) === JSON.stringify(page.records)) return { url, pages, second }
  }
  return null
}

/** Asks once more if the server fails, so that a moment of trouble is not taken for a parameter that it does not know. */
async function askTwice(client: HttpClient, { url, label }: { readonly url: URL; readonly label: string }) {
  const request = { url, label, accept: 'application/json', acceptedStatuses: [...refusedStatuses, failedStatus] }
  const response = await client.fetch(request)
  return response.status === failedStatus ? await client.fetch(request) : response
}

type ProbeTargets = { readonly first: PageTarget | null; readonly second: PageTarget }

function targetsOf(pages: Pages, url: string, page: ListPage): ProbeTargets | null {
  if (isByPosition(pages)) {
    const pager = positionPager(pages, { url })
    const second = pager.at({ records: page.records.length, pages: 1 })
    return { first: pager.at({ records: 0, pages: 0 }), second }
  }
  const second = namedPager(pages, { url }).next(page)
  return second && { first: null, second }
}

/** The address without the parameter that the pages send, as the settings want it. */
function withoutParameter(url: URL, pages: Pages): string {
  const address = new URL(url)
  if ('parameter' in pages && address.searchParams.has(pages.parameter)) address.searchParams.delete(pages.parameter)
  return address.href
}

/** Whether records are further ones of the same list: none was in the first page, and they have members in common. */
function isSecondPage(second: readonly JsonValue[], first: readonly JsonValue[]): boolean {
  const records = second.filter(isObject)
  const [record] = records
  if (record === undefined) return false
  const texts = new Set(first.map((one) => JSON.stringify(one)))
  const names = new Set(first.filter(isObject).flatMap((one) => Object.keys(one)))
  return !records.some((one) => texts.has(JSON.stringify(one))) && Object.keys(record).some((name) => names.has(name))
}

function mayHaveMore(page: ListPage, path: string): boolean {
  const { length } = page.records
  return hasUsualSize(length) || statementsIn(page, path).some((statement) => statesMore(statement, length))
}

/** What a person should know if no second page was found and the server failed where one was looked for. `failed`: how it was asked for. */
function notesOnFailures(failed: ReadonlySet<string>): string[] {
  if (failed.size === 0) return []
  return [
    `The server failed (HTTP 500) when a second page was asked for with ${[...failed].join(', or ')}. If it has pages of this kind, they are not read: repeat this later, or set pages.`,
  ]
}

/** What a person should know of the list, and what nothing in it shows. */
function notesOn(page: ListPage, path: string, pages: Pages | null): string[] {
  const { length } = page.records
  const statements = statementsIn(page, path)
  const more = statements.find((statement) => statesMore(statement, length))
  const hasTotal = pages === null ? statements.some((one) => 'count' in one && one.isTotal) : pages.total !== undefined
  const notes = pages === null ? [] : [`The list has pages, and a second one was fetched with ${wordsFor(pages)}.`]
  if (pages === null && more !== undefined)
    notes.push(
      `No second page was found, although ${textOf(more, { records: length, pages: 1 })}. A run refuses the list until pages is set: docs/sources-http-pages.md explains it.`,
    )
  else if (pages === null && hasUsualSize(length) && !hasTotal)
    notes.push(
      `The answer holds ${length} records, as full pages often do, and nothing says that there is another page. Compare the number with HR.`,
    )
  if (!hasTotal)
    notes.push('Nothing states how many people the list has, so a list that is cut short may not be noticed.')
  return [
    ...notes,
    'Rollcall cannot tell whether the list includes people who have left. Check that it contains one of them.',
  ]
}

function wordsFor(pages: Pages): string {
  switch (pages.by) {
    case 'next':
      return `the address at ${pages.next}`
    case 'cursor':
      return `the token at ${pages.next}, sent as ${pages.parameter}`
    default:
      return 'parameter' in pages ? `its position, sent as ${pages.parameter}` : 'the address in the header Link'
  }
}
