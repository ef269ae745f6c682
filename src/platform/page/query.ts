import { EmploymentStatus } from '../../contract/platform/personnel.ts'

/** The path of the Personnel page. */
export const pagePrefix = '/personnel'

/** Where the status of a person comes from: an HRIS connection by its id, an operator's hand, or nowhere. */
export type Source = number | 'by-hand' | 'none'

/** Which people the page is asked for, as its address says it. */
export type PeopleQuery = {
  /** Null where none is chosen. */
  readonly account: number | null
  readonly search: string
  readonly status: EmploymentStatus | null
  readonly source: Source | null
  /** The user after which, or before which, the page of the list begins. */
  readonly after: number | null
  readonly before: number | null
  /** Whether to reload while a sync runs. */
  readonly watch: boolean
}

/** The filters of the list of people. */
export type Filter = Pick<PeopleQuery, 'search' | 'status' | 'source'>

/** An id that no row has. */
export const nobodysId = 0
const maxSearchLength = 200
const everybody: PeopleQuery = {
  account: null,
  search: '',
  status: null,
  source: null,
  after: null,
  before: null,
  watch: false,
}

/** Reads an address; it leaves out what has no meaning. An account that cannot be read becomes one that does not exist. */
export function readQuery(search: string): PeopleQuery {
  const given = new URLSearchParams(search)
  const account = given.get('account')
  const source = given.get('source')
  const status = EmploymentStatus.safeParse(given.get('status'))
  return {
    account: account === null ? null : (readId(account) ?? nobodysId),
    search: (given.get('q') ?? '').trim().slice(0, maxSearchLength),
    status: status.success ? status.data : null,
    source: source === 'by-hand' || source === 'none' ? source : readId(source),
    after: readId(given.get('after')),
    before: readId(given.get('before')),
    watch: given.get('watch') === '1',
  }
}

/** The part of an address that `readQuery` reads back. */
export function writeQuery(query: Partial<PeopleQuery>): string {
  const { account, search, status, source, after, before, watch } = { ...everybody, ...query }
  const given = { account, q: search || null, status, source, after, before, watch: watch ? 1 : null }
  const entries = Object.entries(given).flatMap(([name, value]) => (value === null ? [] : [[name, String(value)]]))
  return new URLSearchParams(entries).toString()
}

/** The address of a list of people. */
export function peopleHref(query: Partial<PeopleQuery>): string {
  const search = writeQuery(query)
  return search === '' ? pagePrefix : `${pagePrefix}?${search}`
}

/** The id in a text, or null if the text is not a positive integer. */
export function readId(text: string | null | undefined): number | null {
  return text && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : null
}
