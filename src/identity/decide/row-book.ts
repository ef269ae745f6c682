import { isHiredAgain, startsAfterLeaving } from '../employment.ts'
import type { Observation, Origin, Reject } from '../record.ts'
import { dateIn, type PlanContext } from './decide.ts'
import { type Departure, leavingIn, observationOf } from './departure.ts'
import type { Faults } from './faults.ts'
import { rememberLast } from './last-named.ts'

/** Sorts after every date. */
const afterAllDates = '~'

/** What rows state about one person: one observation, or all of them in the order of their times. */
export type PersonObservations = { readonly identityId: string; readonly observations: readonly Observation[] }

/** The result of the rows since the last page. */
export type Page = {
  /** People whose decision is discarded, because a later row replaces or contradicts the row behind it. */
  readonly withdrawn: readonly string[]
  /** People to decide about. */
  readonly observed: readonly PersonObservations[]
}

/** People whose unchanged rows were not parsed. Each has a number. */
export type UnchangedPeople = {
  readonly has: (identityId: string) => boolean
  readonly keyOf: (person: number) => string
}

/** The number of rows of a source so far, by their treatment. */
type RowCounts = {
  /** People with a row that applies. */
  readonly records: number
  /** Rows that are not in scope. */
  readonly outOfScope: number
  /** Rows that a newer row of the same person replaces. */
  readonly older: number
  /** Rows that are not used, because another row of the same person is used or contradicts them. */
  readonly further: number
  /** Rows that take effect on a later day. */
  readonly later: number
  /** Rows of people who start on or after their leaving date and were not hired again, with the line of the first one. */
  readonly startsAfterLeaving: { readonly count: number; readonly line: number }
}

/** The row that applies to a person so far. */
export type PersonRow = {
  line: number
  /** Decides between several rows of the person; undefined: no row outranks another. */
  rank: string | undefined
  /** Whether any row of the person can be used. */
  isUsable: boolean
  /** The departure that the row states. Without one: whether the row could mean one, e.g. with a future date or an unreadable cell. */
  leaving: Departure | boolean
  /** Which of the person's keys the row names: an alias adds a key with a higher number. */
  keyOrder: number
}

/** The facts of the rows so far, by key. */
export type Collected = {
  readonly people: Map<string, PersonRow>
  /** People with several rejected rows that all state a departure: one observation each, which states only that. */
  readonly departures: Map<string, Observation>
  readonly counts: { -readonly [K in keyof RowCounts]: RowCounts[K] }
  /** The page that is being filled. */
  page: { readonly withdrawn: Set<string>; readonly observed: Map<string, Observation[]> }
}

/** Combines several rows of one person. */
export type SeveralRows = {
  /** Takes another row of a person who already has one. */
  addFurther(earlier: PersonRow, observation: Observation): void
  /** Takes a row of a person that cannot be used. */
  reject(reject: Reject & { readonly identityId: string }): void
  /** The page of the rows so far. `isLast`: no more rows follow. */
  takePage(isLast: boolean): Page
  /** Everybody with rows in order, once there are no more rows. */
  observed(): readonly PersonObservations[]
}

/** What happens to a known person whose rows are all out of scope. `hold` plans like `separate`; a guard then holds the plan. */
export type OutOfScope = 'keep' | 'separate' | 'hold'

/** How the rows of a source are collected. */
export type BookRules = {
  readonly context: PlanContext
  readonly faults: Faults
  readonly severalRows: (collected: Collected, rules: { context: PlanContext; faults: Faults }) => SeveralRows
  readonly unchanged?: UnchangedPeople
  readonly outOfScope?: OutOfScope
}

/** The rows of one source, by person. */
export type RowBook = ReturnType<typeof openRowBook>

/** Collects the rows of one source while they stream by: which row applies to a person, and whom no row names. */
export function openRowBook({
  context,
  faults,
  severalRows,
  unchanged = nobodyUnchanged,
  outOfScope = 'hold',
}: BookRules) {
  const collected = emptyCollection()
  const { people, departures, counts } = collected
  const several = severalRows(collected, { context, faults })
  const skipped = new Set<string>()
  const outside = new Map<string, Origin>()
  const later: Observation[] = []
  const laterKeys = new Set<string>()
  const lastNamed = rememberLast(unchanged.keyOf)

  function countSwappedDates(line: number): void {
    const { count, line: first } = counts.startsAfterLeaving
    counts.startsAfterLeaving = { count: count + 1, line: count === 0 ? line : first }
  }

  function addLater(observation: Observation): void {
    counts.later++
    later.push(observation)
    laterKeys.add(observation.identityId)
  }

  return {
    ...queriesOf({ collected, several, unchanged, skipped, outside, later, laterKeys }),
    counts: counts as RowCounts,

    add(observation: Observation): void {
      if (observation.badCells) faults.addCells(observation.badCells)
      if (isLater(observation, context)) {
        addLater(observation)
        return
      }
      const { identityId, origin } = observation
      if (!observation.statesDeparture && (observation.leavingDate ?? afterAllDates) > context.today)
        lastNamed.add(identityId)
      if (startsAfterLeaving(observation) && !isHiredAgain(observation, context.today)) countSwappedDates(origin.line)
      const earlier = people.get(identityId)
      if (earlier === undefined) {
        counts.records++
        people.set(identityId, rowOf(observation, context))
        collected.page.observed.set(identityId, [observation])
      } else several.addFurther(earlier, observation)
    },

    reject(reject: Reject): void {
      faults.add(reject)
      const { identityId } = reject
      if (identityId === null) return
      lastNamed.add(identityId)
      several.reject({ ...reject, identityId })
    },

    /**
     * Skips a row that is not about a person. If a person has such a key after all, the person is present and unchanged.
     */
    skip(identityId: string | null): void {
      if (identityId !== null) skipped.add(identityId)
    },

    /** Takes a row that is out of scope. If another row of the person is in scope, that one applies. */
    addOutOfScope({ identityId, origin }: { readonly identityId: string | null; readonly origin: Origin }): void {
      counts.outOfScope++
      if (identityId !== null) outside.set(identityId, origin)
    },

    /** Counts people whose rows are unchanged. */
    addUnchanged(count: number): void {
      counts.records += count
    },

    /** Records an unchanged employed person among the people named last. */
    nameUnchanged: (person: number): void => lastNamed.add(person),

    /** The people named last, in order. */
    lastNamed: (): readonly string[] => lastNamed.keys(),

    /** The page of the rows so far. */
    nextPage: (): Page => several.takePage(false),

    /** The rest, once there are no more rows. */
    lastPage(): Page {
      for (const [identityId, origin] of outside) {
        if (people.has(identityId)) continue
        const { line } = origin
        people.set(identityId, unusableRow(line, false))
        if (outOfScope === 'keep') continue
        const departure = { line, leavingDate: undefined, statesDeparture: true, timeZone: undefined }
        departures.set(identityId, observationOf(departure, { identityId, origin }))
      }
      for (const [identityId, departure] of departures) collected.page.observed.set(identityId, [departure])
      return several.takePage(true)
    },
  }
}

type BookState = {
  readonly collected: Collected
  readonly several: SeveralRows
  readonly unchanged: UnchangedPeople
  /** Keys in rows that are not about a person. */
  readonly skipped: ReadonlySet<string>
  /** People with a row that is not in scope. */
  readonly outside: ReadonlyMap<string, Origin>
  readonly later: readonly Observation[]
  readonly laterKeys: ReadonlySet<string>
}

/** What the book knows of people. */
function queriesOf({ collected, several, unchanged, skipped, outside, later, laterKeys }: BookState) {
  const { people, departures } = collected

  function isNamed(identityId: string): boolean {
    return (
      people.has(identityId) ||
      laterKeys.has(identityId) ||
      skipped.has(identityId) ||
      outside.has(identityId) ||
      unchanged.has(identityId)
    )
  }

  return {
    /** Whether the person is a leaver because all rejected rows state it, or because no row is in scope. */
    isDeparture: (identityId: string): boolean => departures.has(identityId),
    /** Whether a row of the person is out of scope. */
    isOutOfScope: (identityId: string): boolean => outside.has(identityId),
    /** Whether there is any such leaver. */
    hasDepartures: (): boolean => departures.size > 0,

    /** Treats the departure of this person as a usable row from now on, because it was decided. */
    useDeparture(identityId: string): void {
      const row = people.get(identityId)
      if (row) row.isUsable = true
    },

    /** Everybody with rows in order, once there are no more rows; nobody if only one row of a person applies. */
    observedInOrder: (): readonly PersonObservations[] => several.observed(),

    /** The line of the row that applies to this person; null if there is none. */
    lineOf: (identityId: string): number | null => people.get(identityId)?.line ?? null,

    /** Whether a row of this person that has taken effect is usable. */
    isUsable: (identityId: string): boolean => people.get(identityId)?.isUsable ?? false,

    /** Whether rows name this person and none that has taken effect is usable. */
    isUnusable: (identityId: string): boolean => people.get(identityId)?.isUsable === false,

    /** Whether the row that applies to this person mentions a departure. */
    mentionsDeparture: (identityId: string): boolean => (people.get(identityId)?.leaving ?? false) !== false,

    /** Whether no row named this person. */
    lacks: (identityId: string): boolean => !isNamed(identityId),

    /** Which of these keys no usable row named. */
    unobserved: (keys: readonly string[]): string[] =>
      keys.filter((key) => !people.get(key)?.isUsable && !unchanged.has(key)),

    /** The keys whose rows in the source are all unusable or not about a person. */
    unusableKeys(): string[] {
      const unusable = people.entries().flatMap(([key, { isUsable }]) => (isUsable ? [] : [key]))
      return [...unusable, ...skipped]
    },

    /** The rows that take effect after the day of the source. A person without another row is unchanged until then. */
    later: (): readonly Observation[] => later,
  }
}

const nobodyUnchanged: UnchangedPeople = { has: () => false, keyOf: String }

function emptyCollection(): Collected {
  return {
    people: new Map(),
    departures: new Map(),
    counts: { records: 0, older: 0, further: 0, later: 0, outOfScope: 0, startsAfterLeaving: { count: 0, line: 0 } },
    page: emptyPage(),
  }
}

/** A page before its first row. */
export function emptyPage(): Collected['page'] {
  return { withdrawn: new Set(), observed: new Map() }
}

/** A usable row of a person. */
export function rowOf(observation: Observation, context: PlanContext): PersonRow {
  const { rank, keyOrder = 0, origin } = observation
  return { line: origin.line, rank, isUsable: true, leaving: leavingIn(observation, context), keyOrder }
}

/** The row of a person without a usable row. */
export function unusableRow(line: number, leaving: boolean): PersonRow {
  return { line, rank: undefined, isUsable: false, leaving, keyOrder: 0 }
}

/** Whether a row takes effect on a later day than that of its as-of time. */
export function isLater(
  { effectiveOn, timeZone }: Observation,
  { exportDate, asOf }: Pick<PlanContext, 'exportDate' | 'asOf'>,
): boolean {
  if (effectiveOn === undefined) return false
  return effectiveOn > (timeZone === undefined ? exportDate : dateIn(timeZone, asOf))
}
