import { inventJoiner, type Person } from './roster.ts'

/** How a system says that a client has to wait. */
export type Wait = 'seconds' | 'date' | 'reset' | 'nothing'

/** What goes wrong while a list is read. Pages are numbered from 1, in the order of their positions. */
export type Fault = {
  /** The page whose request is answered wrongly. */
  readonly page: number
  /** How often. Default: always. */
  readonly times?: number
} & FaultKind

type FaultKind =
  /** The text ends in the middle. */
  | { readonly kind: 'textCut' }
  /** The last record of the page is missing, and nothing says so. */
  | { readonly kind: 'recordsCut' }
  /** Every record of the page stands in it twice. */
  | { readonly kind: 'pageDoubled' }
  /** The records of the page and of the one behind it are exchanged. */
  | { readonly kind: 'pagesSwapped' }
  /** The page holds the records of the one before it. */
  | { readonly kind: 'pageRepeated' }
  | { readonly kind: 'pageEmpty' }
  /** The stated total is wrong from this page on. */
  | { readonly kind: 'totalOff'; readonly by: 1 | -1 }
  | { readonly kind: 'totalMissing' }
  /** Before the page is read, the first person disappears, so that the others move up. */
  | { readonly kind: 'personRemoved' }
  /** Before the page is read, somebody appears at the beginning, so that the others move down. */
  | { readonly kind: 'personAdded' }
  /** Before the page is read, the last person moves to the beginning, unless the list is in an order that never changes. */
  | { readonly kind: 'personMoved' }
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'tooManyRequests'; readonly wait: Wait; readonly seconds: number }
  | { readonly kind: 'html' }
  /** The request is redirected to a login page. */
  | { readonly kind: 'loginPage' }
  | { readonly kind: 'status'; readonly status: number }

/** What a list has by which a client can notice that it is not whole. */
type Evidence = { readonly total: 'records' | 'pages' | null; readonly maxPageSize: number | null }

/**
 * Whether a client can notice a fault of a list with this number of pages. Nobody can tell that the last page of a list is short if the
 * system states no total, nor that the only page is. People who come and go are a true change, so a list without them is no part.
 */
export function isNoticeable({ kind, page }: Fault, { total, maxPageSize }: Evidence, pageCount: number): boolean {
  const isLast = page >= pageCount
  switch (kind) {
    case 'recordsCut':
      return total === 'records' || (!isLast && maxPageSize !== null)
    case 'pageEmpty':
    case 'pageRepeated':
    case 'pagesSwapped':
      return maxPageSize !== null && (total === 'records' || !isLast)
    case 'totalOff':
    case 'totalMissing':
      return total === 'records'
    case 'personRemoved':
    case 'personAdded':
    case 'personMoved':
      return false
    default:
      return true
  }
}

/** Decides which faults apply to a request, and counts how often each has happened. */
export class FaultSchedule {
  readonly #faults: readonly Fault[]
  readonly #counts = new Map<Fault, number>()

  constructor(faults: readonly Fault[]) {
    this.#faults = faults
  }

  /** The faults of a page, which count as having happened. */
  take(page: number): readonly Fault[] {
    const due = this.#faults.filter((fault) => matches(fault, page) && this.#count(fault) < (fault.times ?? Infinity))
    for (const fault of due) this.#counts.set(fault, this.#count(fault) + 1)
    return due
  }

  /** How often each fault has happened, in their order. */
  get counts(): readonly number[] {
    return this.#faults.map((fault) => this.#count(fault))
  }

  #count(fault: Fault): number {
    return this.#counts.get(fault) ?? 0
  }
}

function matches(fault: Fault, page: number): boolean {
  if (fault.kind === 'totalOff' || fault.kind === 'totalMissing') return page >= fault.page
  if (fault.kind === 'pagesSwapped') return page === fault.page || page === fault.page + 1
  return page === fault.page
}

/** The people after a fault; the same list if it does not change them. */
export function peopleAfter({ kind }: Fault, people: readonly Person[]): readonly Person[] {
  if (kind === 'personRemoved') return people.slice(1)
  if (kind === 'personMoved') return [...people.slice(-1), ...people.slice(0, -1)]
  if (kind !== 'personAdded') return people
  const index = Math.max(-1, ...people.map((person) => person.index)) + 1
  return [inventJoiner(index, people[0] ?? null), ...people]
}

/** The people of a list and the bounds of one of its pages. */
export type PageBounds = {
  readonly people: readonly Person[]
  readonly skip: number
  readonly size: number
  readonly page: number
}

/** The people of a page with its faults. */
export function peopleOfPage(faults: readonly Fault[], { people, skip, size, page }: PageBounds): readonly Person[] {
  const at = (from: number) => people.slice(Math.max(0, from), Math.max(0, from + size))
  let chosen = at(skip)
  for (const fault of faults) {
    if (fault.kind === 'recordsCut') chosen = chosen.slice(0, -1)
    else if (fault.kind === 'pageDoubled') chosen = [...chosen, ...chosen]
    else if (fault.kind === 'pageEmpty') chosen = []
    else if (fault.kind === 'pageRepeated') chosen = at(skip - size)
    else if (fault.kind === 'pagesSwapped') chosen = at(page === fault.page ? skip + size : skip - size)
  }
  return chosen
}

/** The total that a page states with its faults. */
export function totalWith(faults: readonly Fault[], total: number): number | null {
  if (faults.some(({ kind }) => kind === 'totalMissing')) return null
  return faults.reduce((sum, fault) => (fault.kind === 'totalOff' ? sum + fault.by : sum), total)
}
