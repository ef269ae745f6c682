import type { ChangeKind, FieldValue } from '../change.ts'
import type { KeyChangeCandidate } from '../key-change-candidates.ts'
import type { FieldName, UnlistedValue } from '../record.ts'
import type { LimitName } from './limits.ts'

/** The limits that count people, without those of the other fields. */
export const peopleLimits = [
  'leavers',
  'joiners',
  'returns',
  'redates',
  'contractorFlips',
  'emailChanges',
] as const satisfies readonly LimitName[]

/** How many people each limit counts; other fields one by one. */
export type PeopleCounts = { readonly [K in (typeof peopleLimits)[number]]: number } & {
  /** The leavers among the joiners: people who join after they have left. Left out in records of older versions. */
  readonly leftJoiners?: number
  readonly changed: FieldCounts
  readonly blanked: FieldCounts
}
/** Counts by field; 0 for a field that is left out. */
export type FieldCounts = Readonly<Record<string, number>>

/** No limit counts anybody. */
export const noPeople: PeopleCounts = {
  leavers: 0,
  joiners: 0,
  returns: 0,
  redates: 0,
  contractorFlips: 0,
  emailChanges: 0,
  changed: {},
  blanked: {},
}

/** A value that is replaced, or lost if `to` is null. */
export type Move = { readonly field: FieldName; readonly from: FieldValue; readonly to: FieldValue }

/** The limits and guards that may count a person. */
export type NewsKind =
  | (typeof peopleLimits)[number]
  | ('leftJoiners' | 'unnamedJoiners' | 'retractions' | 'pinned' | 'reusedKeys' | 'leftUnapproved')

/** What is new about one person: the limits that count the person, and the values that move. */
export type News = {
  readonly identityId: string
  readonly kinds: readonly NewsKind[]
  readonly moves: readonly Move[]
}
/** Nothing is new about a person. */
export const noNews: News = { identityId: '', kinds: [], moves: [] }

/** The maximum of the accepted runs, and the number of runs examined. */
export type Usual = { readonly runs: number; readonly most: PeopleCounts }

/** The input of the guards. Changes are counted if they are new in this plan; those accepted by an earlier run are not judged again. */
export type GuardFacts = PeopleCounts & {
  readonly mode: 'snapshot' | 'delta'
  readonly rows: number
  /** Compared with the last accepted snapshot; null if there is none, or if the size of its cells is unknown. */
  readonly size: { readonly rows: Shrink; readonly bytes: Shrink | null } | null
  /** The snapshot lacks the last employed person of the previous accepted one: its end may have been cut off. */
  readonly endMissing: boolean
  /** People employed according to the roster before this run. */
  readonly headcount: number
  /** The roster knows nobody yet. */
  readonly isFirst?: boolean
  /** Joiners who have left already. They also count as leavers. */
  readonly leftJoiners: number
  /** Joiners who are employed and lack a name or an e-mail address. */
  readonly unnamedJoiners: number
  /** The most frequent start of joiners, and the most frequent leaving date of joiners who have left. */
  readonly sameStart: SameDate
  readonly sameLeaving: SameDate
  /** What the same feed changed within a day without an approval, so that many small plans cannot bypass a limit. */
  readonly recent: PeopleCounts
  /** The feed of `recent`, as messages name it; left out for events. */
  readonly recentBy?: string
  /** The maximum of the accepted runs of the same feed; null if there are none. */
  readonly usual: Usual | null
  readonly retractions: number
  /** People who would be separated or deleted although the connection pins them. */
  readonly pinned: number
  /** People who have left and whose key comes back with another name and another e-mail address. */
  readonly reusedKeys: number
  /** By kind of change: people who were left in a plan of which a part was approved. Left out if there are none. */
  readonly leftUnapproved?: Readonly<Partial<Record<ChangeKind, number>>>
  /** The rows and people out of scope; left out if the source has no scope. */
  readonly scope?: {
    readonly rows: number
    /** Employed people who fall out of scope. */
    readonly outOfScopeLeavers: readonly string[]
    readonly holds: boolean
  }
  /** Keys that are gone and keys that are new which look like one person each. */
  readonly keyChangeCandidates: readonly KeyChangeCandidate[]
  readonly rejected: number
  /** Rows that are used except for unreadable cells. */
  readonly incomplete: number
  /** The rejected and incomplete rows that an accepted export already had. */
  readonly knownFaulty: number
  /** Unlisted values that no accepted plan had: the first ones and their number; `known`: the number of other unlisted values. */
  readonly unlisted: { readonly values: readonly UnlistedCount[]; readonly count: number; readonly known: number }
  /** Rejected rows with an unreadable key: it is unknown whom they are about. */
  readonly unreadableKeys: number
  /** Those that an accepted export already had. It also had the people who are absent now, so such a row is about none of them. */
  readonly knownUnreadableKeys: number
  /** Employed people that the snapshot lacks. */
  readonly absent: number
  /** One sentence for each mapped column that the source lacks. */
  readonly missingColumns: readonly string[]
  readonly absence: 'separate' | 'hold' | 'ignore'
}

/** An unlisted value, with the number of its rows and the line of one of them. */
export type UnlistedCount = UnlistedValue & { rows: number; readonly line: number }

/** The faults of the accepted exports of a connection, which are not judged again. */
export type KnownFaults = {
  /** Rejects by fingerprint, each with the number of rows that had it. */
  readonly rejects: ReadonlyMap<string, number>
  /** Unlisted values that were accepted without being classified, by their names. */
  readonly values: ReadonlySet<string>
}

/** The accepted exports have no faults. */
export const noKnownFaults: KnownFaults = { rejects: new Map(), values: new Set() }

/** The name of a value of a closed list, without regard to case. */
export function valueName({ field, value }: UnlistedValue): string {
  return `${field} ${value.toLowerCase()}`
}

/** The number before and now. */
export type Shrink = { readonly before: number; readonly now: number }

/** A date, and how many people have it, out of `base` people with any date; null if nobody has one. */
export type SameDate = { readonly date: string | null; readonly people: number; readonly base: number }
