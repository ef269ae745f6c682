import { fixtureOf } from '../generated/fixtures/areas.ts'
import type { Company, Thing } from '../generated/fixtures/fixture.ts'
import { type NamedOperation, validCall } from '../generated/operations.ts'
import type { RawAnswer, RawClient } from './raw-requests.ts'

export type Query = Readonly<Record<string, unknown>>

export type Page = {
  readonly status: number
  readonly ids: readonly Thing[]
  readonly data: readonly unknown[]
  readonly cursor: string | undefined
  /** The whole object, to check which members are absent. */
  readonly pagination: Readonly<Record<string, unknown>>
}

/** Reads one list of a company page by page. */
export type Pages = {
  readonly page: (query: Query) => Promise<Page>
  /** Reads with a query text that is sent unchanged. */
  readonly raw: (query: string) => Promise<Page>
  /** The ids of every page of a walk; `during` runs while each page is fetched. */
  readonly walk: (query: Query, during?: (number: number) => Promise<void>) => Promise<Thing[][]>
}

const mostPages = 500

export function pagesOf(http: RawClient, company: Company, list: NamedOperation): Pages {
  const { params } = validCall(list, company.things)
  const { entryId = 'id' } = fixtureOf(list.name)
  const read = (answer: RawAnswer) => readPage(answer, entryId)
  const page = async (query: Query) => read(await http.ask(http.requestOf(list, { params, query }, company.key)))
  return {
    page,
    raw: async (query) => {
      const request = http.requestOf(list, { params, query: {} }, company.key)
      return read(await http.ask({ ...request, path: `${request.path}?${query}` }))
    },
    walk: async (query, during = async () => {}) => {
      const pages: Thing[][] = []
      let cursor: string | undefined
      do {
        const next = { ...query, ...(cursor !== undefined && { cursor }) }
        const [entries] = await Promise.all([page(next), during(pages.length)])
        if (entries.status !== 200)
          throw new Error(`page ${pages.length} of ${list.name} was answered with ${entries.status}`)
        pages.push([...entries.ids])
        cursor = entries.cursor
      } while (cursor !== undefined && pages.length < mostPages)
      return pages
    },
  }
}

function readPage({ status, body }: RawAnswer, entryId: string): Page {
  const { data = [], pagination = {} } = (body ?? {}) as {
    data?: readonly Readonly<Record<string, Thing>>[]
    pagination?: Readonly<Record<string, unknown>>
  }
  const cursor = typeof pagination.cursor === 'string' ? pagination.cursor : undefined
  return { status, data, ids: data.map((entry) => entry[entryId] ?? 0), cursor, pagination }
}
