import { isHiredAgain, startsAfterLeaving } from '../employment.ts'
import type { Origin, Reject, Observation } from '../record.ts'
import { dateIn, type PlanContext } from './decide.ts'
import { type Departure, leavingIn, observationOf } from './departure.ts'
import type { Faults } from './faults.ts'
import { rememberLast } from './last-named.ts'

/** Follows every date, as text. */
const afterToday = '~'

/** What rows said about one person: one observation, or all of them where rows stand in the order of their times. */
export type PersonObservations = { readonly identityId: string; readonly observations: readonly Observation[] }

/** What the rows since the last page ask for. */
export type Page = {
  /** People whose decision no longer counts, because a later row replaces or contradicts what it rested on. */
  readonly withdrawn: readonly string[]
  /** People to decide about. */
  readonly observed: readonly PersonObservations[]
}

/** People whose rows were left out of the reading, since nothing follows from them. Each has a number. */
export type UnchangedPeople = {
  readonly has: (identityId: string) => boolean
  readonly keyOf: (person: number) => string
}

/** What became of the rows of a source so far. */
type Account = {
  /** People with a row that counts. */
  readonly records: number
  /** Rows that are not in scope. */
  readonly outOfScope: number
  /** Rows that gave way to a newer one of the same person. */
  readonly older: number
  /** Rows that take effect on a later day. */
  readonly later: number
  /** Rows whose start lies on or after their leaving date without being hired again by then, and the line of the first of them. */
  readonly startsAfterLeaving: { readonly count: number; readonly line: number }
}

/** The row that counts for a person so far. What contradicts itself says nothing. */
export type PersonRow = {
  line: number
  /** Decides between several rows of the person; undefined: none of them outranks another. */
  rank: string | undefined
  /** Whether any row of the person can be used. */
  isUsable: boolean
  /** A departure, or whether the row holds anything that could say so. */
  leaving: Departure | boolean
  /** Which of the person's keys the row names. */
  keyOrder: number
}

/** What the rows so far say of people, by key. */
export type Collected = {
  readonly people: Map<string, PersonRow>
  /** People with several rejected rows that all say that they have left: one observation each, which says so and no more. */
  readonly departures: Map<string, Observation>
  readonly account: { -readonly [K in keyof Account]: Account[K] }
  /** The page that is being filled. */
  page: { readonly withdrawn: Set<string>; readonly observed: Map<string, Observation[]> }
}

/** What is done about several rows of one person: they stand for one another, or happened one after the other. */
export type SeveralRows = {
  /** A further row of a person. */
  meet(before: PersonRow, observation: Observation): void
  /** A row of a person that cannot be used. */
  reject(reject: Reject & { readonly identityId: string }): void
  /** The page of the rows so far. `isLast`: no more rows follow. */
  takePage(isLast: boolean): Page
  /** All that was told in order, once there are no more rows. */
  observed(): readonly PersonObservations[]
}

export type BookRules = {
  readonly context: PlanContext
  readonly faults: Faults
  readonly severalRows: (collected: Collected, rules: { context: PlanContext; faults: Faults }) => SeveralRows
  readonly unchanged?: UnchangedPeople
  /** What follows for a person who is known and stands in a row that is not in scope. `hold` plans like `separate`. */
  readonly outOfScope?: 'keep' | 'separate' | 'hold'
}

export type RowBook = ReturnType<typeof openRowBook>

/** Collects the rows of one source while they stream by: which row counts for a person, and whom no row names. */
export function openRowBook({
  context,
  faults,
  severalRows,
  unchanged: settled = noneSettled,
  outOfScope = 'hold',
}: BookRules) {
  const collected = emptyCollection()
  const { people, departures, account } = collected
  const several = severalRows(collected, { context, faults })
  const passedOver = new Set<string>()
  const outside = new Map<string, Origin>()
  const later: Observation[] = []
  const laterKeys = new Set<string>()
  const lastNamed = rememberLast(settled.keyOf)

  function noteSwapped(line: number): void {
    const { count, line: first } = account.startsAfterLeaving
    account.startsAfterLeaving = { count: count + 1, line: count === 0 ? line : first }
  }

  function addLater(observation: Observation): void {
    account.later++
    later.push(observation)
    laterKeys.add(observation.identityId)
  }

  return {
    ...answersOf({ collected, several, settled, passedOver, outside, later, laterKeys }),
    account: account as Account,

    add(observation: Observation): void {
      if (observation.badCells) faults.addCells(observation.badCells)
      if (isLater(observation, context)) {
        addLater(observation)
        return
      }
      const { identityId, origin } = observation
      if (!observation.statesDeparture && (observation.leavingDate ?? afterToday) > context.today)
        lastNamed.add(identityId)
      if (startsAfterLeaving(observation) && !isHiredAgain(observation, context.today)) noteSwapped(origin.line)
      const before = people.get(identityId)
      if (before === undefined) {
        account.records++
        people.set(identityId, rowOf(observation, context))
        collected.page.observed.set(identityId, [observation])
      } else several.meet(before, observation)
    },

    reject(reject: Reject): void {
      faults.add(reject)
      const { identityId } = reject
      if (identityId === null) return
      lastNamed.add(identityId)
      several.reject({ ...reject, identityId })
    },

    /**
     * A row is about no person. If it was one after all, whose key says what a row of totals says, then the person is there and stays as
     * known.
     */
    skip(identityId: string | null): void {
      if (identityId !== null) passedOver.add(identityId)
    },

    /** A row is not in scope. If the person has another one that is, that one counts. */
    addOutOfScope({ identityId, origin }: { readonly identityId: string | null; readonly origin: Origin }): void {
      account.outOfScope++
      if (identityId !== null) outside.set(identityId, origin)
    },

    /** Counts people whose rows were left out of the reading. */
    addUnchanged(count: number): void {
      account.records += count
    },

    /** Takes into account where in the source the row of an employed person stands that was left out of the reading. */
    nameUnchanged: (person: number): void => lastNamed.add(person),

    /** The people named last, in order. */
    lastNamed: (): readonly string[] => lastNamed.keys(),

    /** The page of the rows so far. */
    nextPage: (): Page => several.takePage(false),

    /** The page of what is left once there are no more rows. */
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

type Noted = {
  readonly collected: Collected
  readonly several: SeveralRows
  readonly settled: UnchangedPeople
  /** Keys in rows that are about no person. */
  readonly passedOver: ReadonlySet<string>
  /** People with a row that is not in scope. */
  readonly outside: ReadonlyMap<string, Origin>
  readonly later: readonly Observation[]
  readonly laterKeys: ReadonlySet<string>
}

/** What the book answers about people. */
function answersOf({ collected, several, settled, passedOver, outside, later, laterKeys }: Noted) {
  const { people, departures } = collected

  function isNamed(identityId: string): boolean {
    return (
      people.has(identityId) ||
      laterKeys.has(identityId) ||
      passedOver.has(identityId) ||
      outside.has(identityId) ||
      settled.has(identityId)
    )
  }

  return {
    /** Whether the person leaves by rejected rows that all say so, or because no row of theirs is in scope. */
    isDeparture: (identityId: string): boolean => departures.has(identityId),
    isOutOfScope: (identityId: string): boolean => outside.has(identityId),
    hasDepartures: (): boolean => departures.size > 0,

    /** From here on the departure of this person counts as a row that can be used: it was decided about. */
    useDeparture(identityId: string): void {
      const row = people.get(identityId)
      if (row) row.isUsable = true
    },

    /** Everybody of whom rows in order told, once there are no more rows; nobody where one row of a person counts. */
    observedInOrder: (): readonly PersonObservations[] => several.observed(),

    /** The line of the row that counts for this person; null where none does. */
    lineOf: (identityId: string): number | null => people.get(identityId)?.line ?? null,

    /** Whether a row of this person that has taken effect could be used. */
    isUsable: (identityId: string): boolean => people.get(identityId)?.isUsable ?? false,

    /** Whether rows name this person, and none that has taken effect can be used. */
    isUnusable: (identityId: string): boolean => people.get(identityId)?.isUsable === false,

    /** Whether the row that counts for this person says anything of leaving. */
    mentionsDeparture: (identityId: string): boolean => (people.get(identityId)?.leaving ?? false) !== false,

    /** Whether no row named this person. */
    lacks: (identityId: string): boolean => !isNamed(identityId),

    /** Which of these keys no usable row named. */
    unobserved: (keys: readonly string[]): string[] =>
      keys.filter((key) => !people.get(key)?.isUsable && !settled.has(key)),

    /** The keys that stand in the source, though no row of them can be used or is about a person. */
    unusableKeys(): string[] {
      const unusable = people.entries().flatMap(([key, { isUsable }]) => (isUsable ? [] : [key]))
      return [...unusable, ...passedOver]
    },

    /** The rows that take effect on a later day than that of the source. A person with no other row stays as known until then. */
    later: (): readonly Observation[] => later,
  }
}

const noneSettled: UnchangedPeople = { has: () => false, keyOf: String }

function emptyCollection(): Collected {
  return {
    people: new Map(),
    departures: new Map(),
    account: { records: 0, older: 0, later: 0, outOfScope: 0, startsAfterLeaving: { count: 0, line: 0 } },
    page: emptyPage(),
  }
}

export function emptyPage(): Collected['page'] {
  return { withdrawn: new Set(), observed: new Map() }
}

/** A usable row as it stands for its person. */
export function rowOf(observation: Observation, context: PlanContext): PersonRow {
  const { rank, keyOrder = 0, origin } = observation
  return { line: origin.line, rank, isUsable: true, leaving: leavingIn(observation, context), keyOrder }
}

/** What stands for a person of whom no row can be used. */
export function unusableRow(line: number, leaving: boolean): PersonRow {
  return { line, rank: undefined, isUsable: false, leaving, keyOrder: 0 }
}

/** Whether a row takes effect on a later day than that on which its source was true. */
export function isLater(
  { effectiveOn, timeZone }: Observation,
  { exportDate, asOf }: Pick<PlanContext, 'exportDate' | 'asOf'>,
): boolean {
  if (effectiveOn === undefined) return false
  return effectiveOn > (timeZone === undefined ? exportDate : dateIn(timeZone, asOf))
}
