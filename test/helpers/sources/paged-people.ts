import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import type { Pages } from '../../../src/connectors/http/settings/pages.ts'
import type { HttpSettings } from './hr-server.ts'

/** How a list is paged. */
export type Paging = z.input<typeof Pages>['by']

/** What the pages state besides their records. `stated`: a total that the settings do not point to. */
export type Statements = 'nothing' | 'total' | 'stated' | 'more'

export type PagedPeople = {
  readonly by: Paging
  readonly states: Statements
  readonly size: number
}

/** A page before it is sent. `number` counts from 1; it is no whole number if the page begins elsewhere than pages do. */
export type PeoplePage = {
  readonly number: number
  readonly records: readonly { readonly id: string }[]
  readonly meta: Readonly<Record<string, unknown>>
  readonly link?: string
}

/** Changes a page. `pageAt`: another page of the same list. A text is sent as it is; null is status 204. */
export type PageChange = (page: PeoplePage, pageAt: (number: number) => PeoplePage) => PeoplePage | string | null

/** The settings that read the list. */
export function settingsOf({ by, states, size }: PagedPeople): HttpSettings {
  const sent = { parameter: 'position', sizeParameter: 'limit', size }
  const end = { ...(states === 'total' && { total: '/meta/total' }), ...(states === 'more' && { more: '/meta/more' }) }
  const pages = {
    single: { by: 'single', ...end },
    next: { by: 'next', next: '/meta/next', ...end },
    link: { by: 'link', ...end },
    cursor: { by: 'cursor', next: '/meta/next', ...sent, ...end },
    offset: { by: 'offset', ...sent, ...end },
    startIndex: { by: 'startIndex', ...sent, ...end },
    page: { by: 'page', ...sent, ...end },
  } as const
  return { records: '/records', pages: pages[by] }
}

/**
 * Answers with the pages of `people`, as they are at the time of each request. By next, link and cursor, a page begins after the last ID of
 * the page before it, so nobody is missed if people are removed meanwhile.
 */
export function answerPages(
  { by, states, size }: PagedPeople,
  people: () => readonly string[],
  change: PageChange = (page) => page,
) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const position = new URL(request.url ?? '', 'http://hr').searchParams.get('position')
    const all = people()
    const list = isNamed(by) ? all.toSorted() : all
    const from = startOf({ by, size }, position, list)
    const pageFrom = (start: number) => pageOf({ by, states, size }, list, start)
    const changed = change(pageFrom(from), (number) => pageFrom((number - 1) * size))
    if (changed === null) response.writeHead(204).end()
    else if (typeof changed === 'string') send(response, changed, {})
    else {
      const { records, meta, link } = changed
      send(response, JSON.stringify({ records, meta }), link === undefined ? {} : { link })
    }
  }
}

function isNamed(by: Paging): boolean {
  return by === 'next' || by === 'link' || by === 'cursor'
}

/** The index of the first person of a page. */
function startOf(
  { by, size }: Pick<PagedPeople, 'by' | 'size'>,
  position: string | null,
  list: readonly string[],
): number {
  if (position === null) return 0
  if (isNamed(by)) {
    const index = list.findIndex((id) => id > position)
    return index === -1 ? list.length : index
  }
  const number = Number(position)
  return by === 'offset' ? number : by === 'startIndex' ? number - 1 : (number - 1) * size
}

function pageOf({ by, states, size }: PagedPeople, list: readonly string[], from: number): PeoplePage {
  const to = by === 'single' ? list.length : from + size
  const ids = list.slice(from, to)
  const isLast = to >= list.length
  const token = isLast ? null : (ids.at(-1) ?? null)
  const next = by === 'next' && token !== null ? `?position=${token}` : token
  const meta = {
    ...((by === 'next' || by === 'cursor') && { next }),
    ...((states === 'total' || states === 'stated') && { total: list.length }),
    ...(states === 'more' && { more: !isLast }),
  }
  const link = `</people>; rel="first"${token === null ? '' : `, <?position=${token}>; rel="next"`}`
  const number = from / size + 1
  return { number, records: ids.map((id) => ({ id })), meta, ...(by === 'link' && { link }) }
}

function send(response: ServerResponse, text: string, headers: Readonly<Record<string, string>>): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers })
  response.end(text)
}
