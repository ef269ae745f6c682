import { isObject, type JsonObject, type JsonValue, pointer } from '../../json/cells.ts'
import { pointerTo } from '../../json/find-list.ts'
import { plainName, type Statement, statedByMembers } from '../../json/statements.ts'
import { statedByHeaders } from '../lists/header-statements.ts'
import { nextLinks } from '../lists/link-header.ts'
import type { ListPage } from '../lists/list-page.ts'
import type { Pages } from '../settings/pages.ts'

const maxDepth = 4
const cursorParameters = ['cursor', 'page_token', 'pageToken', 'after', 'starting_after', 'after_id', 'offset', 'page']
/** Members that hold the position of the page itself. Their names are often those of the parameters. */
const positionNames: Readonly<Record<string, Position['by']>> = {
  ...{ offset: 'offset', skip: 'offset', start: 'offset', from: 'offset', startindex: 'startIndex' },
  ...{ page: 'page', pagenumber: 'page', currentpage: 'page', pageno: 'page', pageindex: 'page' },
}
const positions: readonly Position[] = [
  { by: 'offset', parameter: 'offset', first: 0 },
  { by: 'page', parameter: 'page', first: 1 },
  { by: 'offset', parameter: 'skip', first: 0 },
  { by: 'startIndex', parameter: 'startIndex', first: 1 },
]
/** Sizes that servers use for a page. A list of this length may be the first page of several. */
const usualSizes = new Set(['10', '15', '20', '25', '30', '50', '100', '200', '250', '500', '1000'])
const keyNames = ['id', 'uuid', 'employeeid', 'workerid', 'personid', 'userid', 'employeenumber'] as const

type Position = { readonly by: 'offset' | 'startIndex' | 'page'; readonly parameter: string; readonly first: number }

/** What a page states besides its records. */
export function statementsIn({ content, headers }: Pick<ListPage, 'content' | 'headers'>, path: string): Statement[] {
  return [...statedByMembers(content, path), ...statedByHeaders(headers)]
}

/** Whether a statement says that there are more records than those of the first page. */
export function statesMore(statement: Statement, records: number): boolean {
  const { kind } = statement
  if (kind === 'records') return statement.isTotal && statement.count > records
  return kind === 'pages' ? statement.count > 1 : kind === 'next' || kind === 'more'
}

/** Whether a list is as long as pages often are. */
export function hasUsualSize(records: number): boolean {
  return usualSizes.has(String(records))
}

/** How pages could follow the first one, the likeliest first. Empty if it seems to be the only page. */
export function pageCandidates(page: ListPage, path: string): readonly Pages[] {
  const statements = statementsIn(page, path)
  const stated = statements.filter((statement) => statesMore(statement, page.records.length))
  const named = [
    ...(nextLinks(page.headers.link)?.length ? [{ by: 'link' } as const] : []),
    ...stated.flatMap(({ kind, location }) =>
      kind === 'next' && location.startsWith('/') ? byNext(page, location) : [],
    ),
    ...(stated.some(({ kind }) => kind === 'more') ? byLastCursor(page, path) : []),
  ]
  if (stated.length === 0 && !hasUsualSize(page.records.length)) return []
  return [...named, ...byPosition(page, path)]
}

function byNext({ content }: ListPage, next: string): Pages[] {
  const value = pointer(content, next)
  if (typeof value !== 'string') return []
  if (/^(?:https?:|\/|\?)|\?.*=/.test(value)) return [{ by: 'next', next }]
  const name = next.split('/').at(-1) ?? ''
  const own = name.replace(/^next[_-]?/i, '').replace(/^[A-Z]/, (letter) => letter.toLowerCase())
  return byCursor(next, own === '' ? [] : [own])
}

/** A cursor that the last page has as well, so that only another member says whether there is more. */
function byLastCursor({ content }: ListPage, path: string): Pages[] {
  const cursor = members(content, path).find(({ name }) => /^(end|last|after)?cursor$/.test(plainName(name)))
  return cursor === undefined || typeof cursor.value !== 'string' ? [] : byCursor(cursor.location, [])
}

function byCursor(next: string, own: readonly string[]): Pages[] {
  const parameters = new Set([...own, ...cursorParameters])
  return [...parameters].map((parameter) => ({ by: 'cursor', next, parameter, in: 'query' }))
}

function byPosition({ content, url }: ListPage, path: string): Pages[] {
  const stated = members(content, path).flatMap(({ name, value }): Position[] => {
    const by = positionNames[plainName(name)]
    if (by === undefined || typeof value !== 'string' || !/^\d{1,9}$/.test(value)) return []
    return [{ by, parameter: name, first: Number(value) }]
  })
  const inAddress = [...url.searchParams].flatMap(([parameter, value]): Position[] => {
    const by = positionNames[plainName(parameter)]
    return by === undefined || !/^\d{1,9}$/.test(value) ? [] : [{ by, parameter, first: Number(value) }]
  })
  const all = [...inAddress, ...stated, ...positions].map((position) => ({ ...position, in: 'query' as const }))
  return [...new Map(all.toReversed().map((position) => [position.parameter, position])).values()].toReversed()
}

type Member = { readonly name: string; readonly location: string; readonly value: JsonValue }

/** The members of a page outside its records. */
function members(value: JsonValue, records: string, path = '', depth = 0): readonly Member[] {
  if (!isObject(value) || depth > maxDepth) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const location = `${path}${pointerTo(name)}`
    if (location === records) return []
    return [{ name, location, value: member }, ...members(member, records, location, depth + 1)]
  })
}

/** What the first page states that shows the end of a list of pages, as settings. */
export function endSettings(page: ListPage, path: string): Pick<Pages, 'total' | 'more'> {
  const statements = statementsIn(page, path).filter((statement) => statesMore(statement, page.records.length))
  const at = ({ location }: Statement) => (location.startsWith('/') ? location : { header: location })
  const records = statements.find(({ kind }) => kind === 'records')
  const pages = statements.find(({ kind }) => kind === 'pages')
  const more = statements.find(({ kind, location }) => kind === 'more' && pointer(page.content, location) === true)
  return {
    ...(records ? { total: at(records) } : pages && { total: { pages: at(pages) } }),
    ...(more && { more: more.location }),
  }
}

/** A pointer to a member that all records have with different values; undefined if none of the usual names is one. */
export function findKey(records: readonly JsonObject[]): string | undefined {
  const names = Object.keys(records[0] ?? {})
  const key = keyNames
    .flatMap((known) => names.filter((name) => plainName(name) === known))
    .find((name) => {
      const values = records.map((record) => record[name])
      return (
        values.every((value) => typeof value === 'string' && value !== '') && new Set(values).size === values.length
      )
    })
  return key === undefined ? undefined : pointerTo(key)
}
