import type { FieldValue } from '../change.ts'
import type { FieldName, UnlistedValue } from '../record.ts'
import type { KeyChangeCandidate } from '../key-change-candidates.ts'
import type { LimitName } from './limits.ts'

/** The limits that count people by what becomes of them, beside those of the other fields. */
export const peopleLimits = [
  'leavers',
  'joiners',
  'returns',
  'redates',
  'contractorFlips',
  'emailChanges',
] as const satisfies readonly LimitName[]

/** How many people each of the limits counts; of other fields, for each of them. */
export type PeopleCounts = { readonly [K in (typeof peopleLimits)[number]]: number } & {
  /** The joiners among the leavers: people who join as left already. Left out in records of older versions. */
  readonly leftJoiners?: number
  readonly changed: FieldCounts
  readonly blanked: FieldCounts
}
/** By field; one that is left out counts nobody. */
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

/** A value that is replaced, or lost where `to` is null. */
export type Move = { readonly field: FieldName; readonly from: FieldValue; readonly to: FieldValue }

/** What may be new about a person besides the values of other fields. */
export type NewsKind =
  | (typeof peopleLimits)[number]
  | ('leftJoiners' | 'unnamedJoiners' | 'retractions' | 'pinned' | 'reusedKeys')

/** What is new about one person: in which limits the person counts besides those of single fields, and which values move. */
export type News = {
  readonly identityId: string
  readonly kinds: readonly NewsKind[]
  readonly moves: readonly Move[]
}
/** Nothing is new about a person. */
export const noNews: News = { identityId: '', kinds: [], moves: [] }

/** The most that any of the accepted runs had, and how many of them were looked at. */
export type Usual = { readonly runs: number; readonly most: PeopleCounts }

/** What the guards look at. Counts of changes hold what is new in this plan; what a former run accepted is not judged again. */
export type GuardFacts = PeopleCounts & {
  readonly mode: 'snapshot' | 'delta'
  readonly rows: number
  /** Against the last accepted snapshot; null where there is none to compare with, or where the size of its cells is not known. */
  readonly size: { readonly rows: Shrink; readonly bytes: Shrink | null } | null
  /** The snapshot lacks the last person of the accepted one before it who is still employed: its end may have been cut off. */
  readonly endMissing: boolean
  /** People employed according to the roster before this run. */
  readonly headcount: number
  /** The roster knows nobody yet. */
  readonly isFirst?: boolean
  /** Joiners who have left already. They are among the leavers. */
  readonly leftJoiners: number
  /** Joiners who are employed and lack a name or an e-mail address. */
  readonly unnamedJoiners: number
  /** The date on which the most joiners start, and that on which the most of those who have left did so. */
  readonly sameStart: SameDate
  readonly sameLeaving: SameDate
  /** What passed by the same feed within a day and no person approved: many small plans are no way around the limit of a large one. */
  readonly recent: PeopleCounts
  /** By what it passed; left out for events. */
  readonly recentBy?: string
  /** What accepted runs of the same feed had; null where there were none. */
  readonly usual: Usual | null
  readonly retractions: number
  /** People who would be separated or deleted although the connection pins them. */
  readonly pinned: number
  /** People who have left and whose key comes back with another name and another e-mail address. */
  readonly reusedKeys: number
  /** What the scope of the source leaves out; left out where it has none. */
  readonly scope?: {
    readonly rows: number
    /** Employed people who fall out of it. */
    readonly outOfScopeLeavers: readonly string[]
    readonly holds: boolean
  }
  /** Keys that are gone and keys that are new which look like one person each. */
  readonly keyChangeCandidates: readonly KeyChangeCandidate[]
  readonly rejected: number
  /** Rows that count but for a cell that could not be read. */
  readonly incomplete: number
  /** Of the rejected and the incomplete rows, those that an accepted export held already. */
  readonly knownFaulty: number
  /** The first of the values that a closed list lacks and no accepted plan held, how many there are, and how many others are known. */
  readonly unlisted: { readonly values: readonly UnlistedCount[]; readonly count: number; readonly known: number }
  /** Rejected rows whose key could not be read: no one knows which people they were about. */
  readonly unreadableKeys: number
  /** Those of them that an accepted export held already. Such a row stood beside the people who are absent now: it is about none of them. */
  readonly knownUnreadableKeys: number
  /** Employed people that the snapshot lacks. */
  readonly absent: number
  /** One sentence for each mapped column that the source lacks. */
  readonly missingColumns: readonly string[]
  readonly absence: 'separate' | 'hold' | 'ignore'
}

/** A value that a closed list lacks, with the number of rows that hold it and the line of one of them. */
export type UnlistedCount = UnlistedValue & { rows: number; readonly line: number }

/** What is wrong with the accepted exports of a connection already, so that it is not judged again. */
export type KnownFaults = {
  /** Rejects by fingerprint, each with the number of rows that had it. */
  readonly rejects: ReadonlyMap<string, number>
  /** Values of closed lists that were accepted without being classed, by their names. */
  readonly values: ReadonlySet<string>
}

/** The accepted exports have no faults. */
export const noKnownFaults: KnownFaults = { rejects: new Map(), values: new Set() }

/** Names a value of a closed list, however it is written. */
export function valueName({ field, value }: UnlistedValue): string {
  return `${field} ${value.toLowerCase()}`
}

/** How many there were before, and are now. */
export type Shrink = { readonly before: number; readonly now: number }

/** How many people have one date, `of` those who state any; null where nobody does. */
export type SameDate = { readonly date: string | null; readonly people: number; readonly of: number }
