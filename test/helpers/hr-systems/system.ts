import type { Authentication } from './authentication.ts'
import type { Page, PageRule } from './pages.ts'
import type { Reply, SystemRequest } from './protocol.ts'
import type { RateLimit } from './rate-limit.ts'
import type { Person } from './roster.ts'

/** A list of a system. */
export type SystemList = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** The record of one person. Some systems write only what the request names. */
  readonly shape: (person: Person, request: SystemRequest) => unknown
  /** Whether a person is in the list at all. Some systems leave leavers out unless the request asks for them. */
  readonly includes?: (person: Person, request: SystemRequest) => boolean
  readonly pages: PageRule
  /** Throws a refusal for a request that the system does not accept, besides its position and size. */
  readonly check?: (request: SystemRequest) => void
  readonly write: (page: Page) => Reply
}

/** An address that answers about one person, or about those whom the request names. */
export type SystemDetail = {
  readonly method: 'GET' | 'POST'
  /** Matches the path; its group is the key of the person in the address. */
  readonly path: RegExp
  readonly write: (request: SystemRequest, people: PeopleFinder) => Reply
}

/** Finds people for a detail. */
export type PeopleFinder = {
  /** The person whose key stands in the path. */
  readonly ofPath: Person | undefined
  readonly byKey: (key: string) => Person | undefined
}

/** Facts about a person that a system states. */
export type StatedFact =
  | 'email'
  | 'secondaryEmail'
  | 'jobTitle'
  | 'managerId'
  | 'managerName'
  | 'startedAt'
  | 'leavingDate'
  | 'isContractor'
  | 'status'

/** One HR API as it is documented. */
export type HrSystem = {
  /** The name of its recipe. */
  readonly name: string
  readonly authentication: Authentication
  /** The list of people, and further lists of the same people. Faults happen in the first one. */
  readonly lists: readonly [SystemList, ...SystemList[]]
  readonly details?: readonly SystemDetail[]
  readonly rateLimit?: RateLimit
  /** The key of a person in this system. */
  readonly keyOf: (person: Person) => string
  readonly facts: readonly StatedFact[]
  /** How the first list states the total; null if it states none. */
  readonly total: 'records' | 'pages' | null
  /** The size of its largest page; null if one answer holds everything. */
  readonly maxPageSize: number | null
  readonly needsTls?: boolean
}
