import { EmploymentStatus } from '../../contract/platform/personnel.ts'

/** The path of the Personnel page. */
export const pagePrefix = '/personnel'

/** The source of a person's status: an HRIS connection by id, an operator, or none. */
export type Source = number | 'by-hand' | 'none'

/** The query of the list of people, as in the URL. */
export type PeopleQuery = {
  /** Null if none is chosen. */
  readonly account: number | null
  readonly search: string
  readonly status: EmploymentStatus | null
  readonly source: Source | null
  readonly group: number | null
  /** The cursor of the page: the user after which it begins, or before which it ends. */
  readonly after: number | null
  readonly before: number | null
  /** Whether the page reloads while a sync runs. */
  readonly watch: boolean
}

/** The filters of the list of people. */
export type Filter = Pick<PeopleQuery, 'search' | 'status' | 'source' | 'group'>

/** An id that no row has. */
export const nobodysId = 0
const maxSearchLength = 200
const everybody: PeopleQuery = {
  account: null,
  search: '',
  status: null,
  source: null,
  group: null,
  after: null,
  before: null,
  watch: false,
}

/** Reads a query string; invalid parameters are ignored, except that an invalid account becomes one that does not exist. */
export function readQuery(search: string): PeopleQuery {
  const params = new URLSearchParams(search)
  const account = params.get('account')
  const source = params.get('source')
  const status = EmploymentStatus.safeParse(params.get('status'))
  return {
    account: account === null ? null : (readId(account) ?? nobodysId),
    search: (params.get('q') ?? '').trim().slice(0, maxSearchLength),
    status: status.success ? status.data : null,
    source: source === 'by-hand' || source === 'none' ? source : readId(source),
    group: readId(params.get('group')),
    after: readId(params.get('after')),
    before: readId(params.get('before')),
    watch: params.get('watch') === '1',
  }
}

/** The path of the file of a document. */
export function documentHref(accountId: number, documentId: number): string {
  return `${pagePrefix}/document?account=${accountId}&document=${documentId}`
}

/** The query string that `readQuery` reads. */
export function writeQuery(query: Partial<PeopleQuery>): string {
  const { account, search, status, source, group, after, before, watch } = { ...everybody, ...query }
  const params = { account, q: search || null, status, source, group, after, before, watch: watch ? 1 : null }
  const entries = Object.entries(params).flatMap(([name, value]) => (value === null ? [] : [[name, String(value)]]))
  return new URLSearchParams(entries).toString()
}

/** The URL of a list of people. */
export function peopleHref(query: Partial<PeopleQuery>): string {
  const search = writeQuery(query)
  return search === '' ? pagePrefix : `${pagePrefix}?${search}`
}

/** The URL of the page of one person. */
export function personHref(accountId: number, personnelId: number): string {
  return `${pagePrefix}/person?account=${accountId}&person=${personnelId}`
}

/** The id in a text, or null if the text is not a positive integer. */
export function readId(text: string | null | undefined): number | null {
  return text && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : null
}
