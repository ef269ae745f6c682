import type { Change } from '../change.ts'
import { fingerprint } from '../digest.ts'
import { hasLeft, isEmployed, isHiredAgain, startsAfterLeaving } from '../employment.ts'
import { sameTimes } from '../field-times.ts'
import { type KnownFaults, noKnownFaults } from '../guards/facts.ts'
import type { IdentityRecord, Origin, Reject, RosterEntry, Sighting } from '../record.ts'
import { noAnswers, type Pair, watchKeys } from '../rekeyed.ts'
import { type Contradiction, contradictionIn, contradictionReject } from './contradiction.ts'
import {
  type Decision,
  dateIn,
  decide,
  decideInOrder,
  type PlanContext,
  type Seen,
  sameHeld,
  type WantedSide,
} from './decide.ts'
import { bothLeave, type Departure, leavingIn, mayDepart, sightingOf } from './departure.ts'
import { type Tallied, tally } from './tally.ts'

/** So many of the people named last are remembered, to find some among them that the plan leaves employed. */
const endKeysSought = 1000
/** Follows every date, as text. */
const afterToday = '~'
/** So many people are kept: the last one of them who is still employed when the next snapshot comes has to be in it. */
const endKeysKept = 50

/** What is decided about one person: a new wanted side, a change to send, or both. */
export type PlannedPerson = {
  readonly identityId: string
  readonly entry: WantedSide | null
  readonly change: Change | null
  readonly origin: Origin | null
  /** The entry says no more than that what the change sends was true when the source was. */
  readonly follows?: boolean
}

/** What rows said about one person: one sighting, or all of them where rows stand in the order of their times. */
export type Told = { readonly identityId: string; readonly sightings: readonly Sighting[] }

/** What the rows since the last page ask for. */
export type Page = {
  /** People whose decision no longer counts, because a later row replaces or contradicts what it rested on. */
  readonly withdrawn: readonly string[]
  /** People to decide about. */
  readonly told: readonly Told[]
}

/** What was decided about people that a guard or a held plan stops in part. */
type Split = {
  /** What goes on all the same: that they leave. */
  readonly goesOn: readonly PlannedPerson[]
  /** What waits, as a plan of its own. */
  readonly waits: readonly PlannedPerson[]
  /** What was said that waits. */
  readonly waiting: readonly Told[]
}

/** People whose rows were left out of the reading, since nothing follows from them. Each has a number. */
export type SettledPeople = {
  readonly has: (identityId: string) => boolean
  readonly keyOf: (person: number) => string
}

/** What was decided about one person, by what. */
export type Decided = {
  readonly identityId: string
  readonly entry: RosterEntry | undefined
  readonly decision: Decision
  readonly seen: Seen
}

export type DeciderRules = {
  readonly context: PlanContext
  /** Rows stand in the order of their times, so that all rows of a person count, one after the other. */
  readonly inOrder: boolean
  /** People without a difference are sent as well. */
  readonly everybody: boolean
  /** Maximum number of rejects kept one by one, besides the first of each event; all of them are counted. */
  readonly rejectsKept: number
  /** What is wrong with the accepted exports already. */
  readonly known?: KnownFaults
  /** Pairs of keys that are two people, by `pairName`. */
  readonly twoPeople?: ReadonlySet<string>
  /** People who are neither separated nor deleted without an approval that names them. */
  readonly pinned?: ReadonlySet<string>
  /** What follows for a person who is known and stands in a row that is not in scope. `hold` plans like `separate`. */
  readonly outOfScope?: 'keep' | 'separate' | 'hold'
  /** The roster knows no one yet, so that no key of it can have been issued again. */
  readonly isFirst?: boolean
  /** The plan is about some people alone, so that what was said of them is kept with each of them. */
  readonly ofSome?: boolean
  readonly settled?: SettledPeople | undefined
  /** Is told each decision, also of a row that turns out later not to count. */
  readonly onDecided?: ((decided: Decided) => void) | undefined
}

/** A reject as it is known again in the next export. */
export type StandingReject = Reject & {
  /** How many rows have this fault. */
  readonly times: number
  /** The person, or the row of an unknown one, is not served as the source says. False where a newer row of the person counts. */
  readonly unserved: boolean
}

/** So many different faults of one source are known again; what is beyond counts as new each time. */
export const standingKept = 100_000

/**
 * The row that counts for a person so far. `counted` is what its decision added to the tally; null: no row of the person can be used.
 * `leaving`: a departure, or whether the row holds anything that could say so. What contradicts itself says nothing.
 */
type Standing = {
  line: number
  rank: string | undefined
  counted: Tallied | null
  leaving: Departure | boolean
  /** Which of the person's keys the row names. */
  keyOrder: number
}

/** What became of the rows of a source so far. */
type Account = {
  /** People with a row that counts. */
  readonly records: number
  readonly rejected: number
  /** Rows that are not in scope. */
  readonly outOfScope: number
  /** Rows that gave way to a newer one of the same person. */
  readonly older: number
  /** Rows that take effect on a later day. */
  readonly later: number
  /** Rows whose start lies on or after their leaving date without being hired again by then, and the line of the first of them. */
  readonly startsAfterLeaving: { readonly count: number; readonly line: number }
}

/** An event of which something has no effect on a person, because newer facts are known. */
export type OvertakenEvent = { readonly event: string; readonly identityId: string; readonly reason: string }

export type Decider = ReturnType<typeof createDecider>

/**
 * Decides about the people of one source while its rows stream by. Rows go in; pages of people come out, to be decided with the
 * roster's entries before more rows go in; people without a usable row follow at the end. Of several rows of one person the one of
 * the highest rank counts; rows without a rank, or of the same one, are rejected, and say no more than that a person has left, if all of
 * them say so. What is kept of a person is an entry of the index.
 */
export function createDecider({
  context,
  inOrder,
  everybody,
  rejectsKept,
  known: knownFaults = noKnownFaults,
  twoPeople = noAnswers.twoPeople,
  pinned = nobody,
  outOfScope = 'hold',
  isFirst = false,
  ofSome = false,
  settled = noneSettled,
  onDecided,
}: DeciderRules) {
  const index = new Map<string, Standing>()
  const passedOver = new Set<string>()
  /** People with several rejected rows that all say that they have left: one sighting each, which says so and no more. */
  const departures = new Map<string, Sighting>()
  /** People with a row that is not in scope. */
  const outside = new Map<string, Origin>()
  const fallenOut: string[] = []
  /** Rows that take effect after the day of the export, and their people. */
  const later: Sighting[] = []
  const laterKeys = new Set<string>()
  const tallied = tally(knownFaults)
  const rejects: Reject[] = []
  /** Where in `rejects` the first one of each event is. */
  const firstOfEvents = new Map<string, number>()
  const standing = new Map<string, { reject: Reject; times: number }>()
  const contradictions = new Map<string, Contradiction>()
  const overtaken: OvertakenEvent[] = []
  const account: { -readonly [K in keyof Account]: Account[K] } = {
    records: 0,
    rejected: 0,
    older: 0,
    later: 0,
    outOfScope: 0,
    startsAfterLeaving: { count: 0, line: 0 },
  }
  const namedLast = lastOf(endKeysSought, settled.keyOf)
  const waitingTally = tally()
  const keysWatched = isFirst ? null : watchKeys({ twoPeople })
  // An accepted snapshot that speaks of everybody is kept once for the connection. Everything else is kept for each of its people.
  const isKeptOnce = !ofSome && speaksOfAll(context)
  let page = emptyPage()
  /** All that was told in order, by person. */
  let toldInOrder: ReadonlyMap<string, readonly Sighting[]> = page.told

  return {
    account: account as Account,
    /** The first rejects and the first of each event, in the order in which they were found. */
    get rejects(): readonly Reject[] {
      return departures.size === 0 ? rejects : rejects.map(withDeparture)
    },
    /** The different rejects, as far as they are known again. Complete once there are no more rows. */
    standing: (): StandingReject[] => [
      ...[...standing.values()].map(({ reject, times }) => ({
        ...withDeparture(reject),
        times,
        unserved: isUnserved(reject),
      })),
      ...contradicted().map(([identityId, found]) => ({
        ...contradictionReject(identityId, found),
        times: 1,
        unserved: true,
      })),
    ],
    /** The people whose rows that count contradict themselves. Complete once there are no more rows. */
    contradicted,
    counts: tallied.counts,
    people: tallied.people,
    explain: tallied.explain,
    facts: tallied.facts,
    /** True: everybody of the roster without a usable row is decided about. False: unfinished people alone are. */
    asksForEverybody: context.mode === 'snapshot' || everybody,

    see(sighting: Sighting): void {
      if (isLater(sighting, context)) {
        if (sighting.badCells) noteBadCells(sighting.badCells)
        account.later++
        later.push(sighting)
        laterKeys.add(sighting.identityId)
        return
      }
      const { identityId, rank, keyOrder = 0 } = sighting
      const { line } = sighting.origin
      if (!sighting.left && (sighting.leavingDate ?? afterToday) > context.today) namedLast.add(identityId)
      if (startsAfterLeaving(sighting) && !isHiredAgain(sighting, context.today)) noteSwapped(line)
      if (sighting.badCells) noteBadCells(sighting.badCells)
      const before = index.get(identityId)
      if (before === undefined) {
        account.records++
        index.set(identityId, { line, rank, counted: 0, leaving: leavingIn(sighting, context), keyOrder })
        page.told.set(identityId, [sighting])
      } else if (inOrder) {
        page.told.get(identityId)?.push(sighting)
      } else if (before.counted !== null && before.keyOrder !== keyOrder && isOver(before, sighting)) {
        // HR keeps the row of a key that it no longer uses.
        if (before.keyOrder < keyOrder) replace(before, sighting)
        else account.older++
      } else if (rank === undefined || before.rank === undefined || rank === before.rank) {
        repeat(before, sighting)
      } else if (rank > before.rank) {
        replace(before, sighting)
      } else {
        account.older++
      }
    },

    /** Counts people whose rows were left out. */
    addSettled(people: number): void {
      account.records += people
      tallied.addUnchanged(people)
    },

    /** Takes into account where in the source the row of an employed person stands that was left out. */
    nameSettled: (person: number): void => namedLast.add(person),

    reject(reject: Reject): void {
      note(reject)
      const { identityId, line } = reject
      if (identityId === null) return
      namedLast.add(identityId)
      // An event that cannot be understood does not take the others of its person along.
      if (inOrder) return
      const before = index.get(identityId)
      if (before === undefined) {
        index.set(identityId, { line, rank: undefined, counted: null, leaving: reject.mayLeave, keyOrder: 0 })
        return
      }
      setAside(identityId, before, { line, rank: undefined })
      before.leaving = false
      departures.delete(identityId)
    },

    /**
     * A row is about no person. If it was one after all, whose key says what a row of totals says, then the person is there and stays as
     * known.
     */
    passOver(identityId: string | null): void {
      if (identityId !== null) passedOver.add(identityId)
    },

    /** A row is not in scope. If the person has another one that is, that one counts. */
    leaveOut({ identityId, origin }: { readonly identityId: string | null; readonly origin: Origin }): void {
      account.outOfScope++
      if (identityId !== null) outside.set(identityId, origin)
    },

    /** The keys of employed people who fall out of scope with this source, and would be separated. */
    fallenOut: fallenOut as readonly string[],

    /** The page of the rows so far. Rows in order make one page, at the end. */
    nextPage: (): Page => (inOrder ? { withdrawn: [], told: [] } : takePage()),

    /** The page of what is left once there are no more rows. */
    lastPage(): Page {
      for (const [identityId, origin] of outside) {
        if (index.has(identityId)) continue
        const { line } = origin
        index.set(identityId, { line, rank: undefined, counted: null, leaving: false, keyOrder: 0 })
        if (outOfScope === 'keep') continue
        const departure = { line, leavingDate: undefined, left: true, timeZone: undefined }
        departures.set(identityId, sightingOf(departure, { identityId, origin }))
      }
      for (const [identityId, departure] of departures) page.told.set(identityId, [departure])
      return takePage()
    },

    /** Decides about people of a page; `known` has the roster's entries of them. */
    decideTold(told: readonly Told[], known: ReadonlyMap<string, RosterEntry>): PlannedPerson[] {
      return told.flatMap(({ identityId, sightings }) => {
        const [first, last] = [sightings[0], sightings.at(-1)]
        const standing = index.get(identityId)
        if (!first || !last || !standing) return []
        const entry = known.get(identityId)
        const isRejected = departures.has(identityId)
        if (isRejected && !mayDepart(entry, context.today)) return []
        const decided = countingDeparture(entry, sightings, decideInOrder(entry, sightings, context))
        const decision = withPin(identityId, decided, pinned)
        standing.counted = tallied.add(decision, isRejected ? 'untouched' : first)
        noteContradiction(last, { entry, decision, isRejected })
        watchTold(entry, decision)
        overtaken.push(...overtakenIn(identityId, decision))
        onDecided?.({ identityId, entry, decision, seen: isRejected ? 'untouched' : first })
        if (isRejected && outside.has(identityId) && decision.news.kinds.includes('leavers')) fallenOut.push(identityId)
        return planned(entry, decision, { identityId, origin: last.origin })
      })
    },

    /** Which of these keys no usable row named. */
    unseen: (keys: readonly string[]): string[] =>
      keys.filter((key) => (index.get(key)?.counted ?? null) === null && !settled.has(key)),

    /** The keys that stand in the source, though no row of them can be used or is about a person. */
    namedInVain(): string[] {
      const unusable = index.entries().flatMap(([key, { counted }]) => (counted === null ? [key] : []))
      return [...unusable, ...passedOver]
    },

    /** Decides about people without a usable row: they are absent, or a row that cannot be used says that they are there. */
    decideUnseen(entries: Iterable<RosterEntry>): PlannedPerson[] {
      return [...entries].flatMap((entry) => {
        const { identityId } = entry
        const seen: Seen = isNamed(identityId) ? 'untouched' : 'absent'
        const decision = withPin(identityId, decide(entry, seen, context), pinned)
        // A leaving date whose day has come waits for no event, and is no reason to stop one: the run of the roster sends it.
        if (inOrder && decision.news.kinds.includes('leavers')) return []
        tallied.add(decision, seen)
        watchUnseen(entry, { decision, seen })
        onDecided?.({ identityId, entry, decision, seen })
        return planned(entry, decision, { identityId, origin: null })
      })
    },

    /** Looks at people of a page who are not decided about, to find those who seem to have got a new key. */
    compareTold(told: readonly Told[], known: ReadonlyMap<string, RosterEntry>): void {
      for (const { identityId, sightings } of told) {
        const entry = known.get(identityId)
        watchTold(entry, decideInOrder(entry, sightings, context))
      }
    },
    compareUnseen(entries: Iterable<RosterEntry>): void {
      for (const entry of entries) {
        const seen: Seen = isNamed(entry.identityId) ? 'untouched' : 'absent'
        watchUnseen(entry, { decision: decide(entry, seen, context), seen })
      }
    },

    overtaken: overtaken as readonly OvertakenEvent[],

    /** The people who seem to have got a new key. Complete once everybody is decided about. */
    pairs: (): Pair[] => keysWatched?.pairs() ?? [],

    /** Counts the people of these pairs, so that they can be told from the others. */
    countPairs(pairs: readonly Pair[]): void {
      for (const key of pairs.flatMap(({ former, identityId }) => [former, identityId])) {
        const standing = index.get(key)
        if (standing && standing.counted !== null) standing.counted = tallied.rekey(standing.counted)
      }
    },

    /** Everybody of whom rows in order told, and whether one of these guards counts something of what was decided. */
    toldBy: (guards: ReadonlySet<string>): (Told & { readonly isCounted: boolean })[] =>
      [...toldInOrder].map(([identityId, sightings]) => {
        const isCounted = tallied.isCountedBy(index.get(identityId)?.counted ?? 0, guards)
        return { identityId, sightings, isCounted }
      }),

    /**
     * Splits people off the plan. A departure goes on, unless a guard of departures stops it, with what its own row says; the rest waits.
     * Of people who join another plan nothing is decided for this one.
     */
    split(
      people: readonly (Told & { readonly joins: boolean })[],
      known: ReadonlyMap<string, RosterEntry>,
      stopped: ReadonlySet<string>,
    ): Split {
      const goesOn: PlannedPerson[] = []
      const waits: PlannedPerson[] = []
      const waiting: Told[] = []
      for (const { identityId, sightings, joins } of people) {
        const entry = known.get(identityId)
        const counted = index.get(identityId)?.counted ?? 0
        const mayNotLeave = tallied.isCountedBy(counted, stopped.intersection(departureGuards))
        const departures = entry === undefined || mayNotLeave ? [] : departuresOf(sightings)
        const rest = sightings.filter((sighting) => !departures.includes(sighting))
        tallied.remove(counted)
        goesOn.push(...decideSome(entry, departures, tallied))
        if (!joins) waits.push(...decideSome(entry, rest, waitingTally))
        if (rest.length > 0) waiting.push({ identityId, sightings: rest })
      }
      return { goesOn, waits, waiting }
    },

    /** What waits of the people that were split off. */
    waitingCounts: waitingTally.counts,
    waitingPeople: waitingTally.people,

    /** The rows that take effect on a later day than that of the source. A person with no other row stays as known until then. */
    later: (): readonly Sighting[] => later,

    /** Whether a row of this person that has taken effect could be used. */
    isUsable: (identityId: string): boolean => (index.get(identityId)?.counted ?? null) !== null,

    /** Whether the row that counts for this person says anything of leaving. */
    speaksOfLeaving: (identityId: string): boolean => (index.get(identityId)?.leaving ?? false) !== false,

    /** Whether no row named this person. */
    lacks: (identityId: string): boolean => !isNamed(identityId),

    /** The people among those named last whose rows cannot be used, so that only the roster can say whether they are employed. */
    unusableEnd: (): string[] => namedLast.keys().filter(isUnusable),

    /** The last people in the source that the plan leaves employed; `known` has the roster's entries of `unusableEnd`. */
    endKeys: (known: ReadonlyMap<string, RosterEntry>): string[] =>
      namedLast
        .keys()
        .filter((key) => !isUnusable(key) || isEmployed(known.get(key), context.today))
        .slice(-endKeysKept),
  }

  /** A person who leaves and is taken back by one plan counts as a leaver too: the departure goes on while the retraction waits. */
  function countingDeparture(
    entry: RosterEntry | undefined,
    sightings: readonly Sighting[],
    decision: Decision,
  ): Decision {
    if (decision.change?.kind !== 'retract') return decision
    const departures = departuresOf(sightings)
    if (departures.length === 0) return decision
    const { kinds } = decideInOrder(entry, departures, context).news
    if (!kinds.includes('leavers')) return decision
    return { ...decision, news: { ...decision.news, kinds: [...decision.news.kinds, 'leavers'] } }
  }

  function watchTold(entry: RosterEntry | undefined, { entry: side, news: { kinds } }: Decision): void {
    const known = recordOf(entry)
    if (kinds.includes('joiners')) {
      const joined = side?.wanted ?? null
      if (joined !== null && !hasLeft(joined, context.today)) keysWatched?.joins(joined.identityId, joined)
    } else if (known !== null && (kinds.includes('leavers') || isAnnounced(entry, side))) {
      keysWatched?.leaves(known.identityId, known)
    }
  }

  function watchUnseen(entry: RosterEntry, { decision, seen }: { decision: Decision; seen: Seen }): void {
    const known = recordOf(entry)
    if (known === null || context.mode !== 'snapshot' || seen !== 'absent') return
    // Where absence means nothing, a person who is not there is not gone. Under a new key they may be there all the same.
    const isMissing = context.absence === 'ignore' && isEmployed(entry, context.today)
    const { absent, news } = decision
    if (absent || isMissing || news.kinds.includes('leavers')) keysWatched?.vanishes(entry.identityId, known)
  }

  function isNamed(identityId: string): boolean {
    return (
      index.has(identityId) ||
      laterKeys.has(identityId) ||
      passedOver.has(identityId) ||
      outside.has(identityId) ||
      settled.has(identityId)
    )
  }

  function takePage(): Page {
    const { withdrawn, told } = page
    const people = [...told].map(([identityId, sightings]): Told => ({ identityId, sightings: lastKeys(sightings) }))
    if (inOrder) toldInOrder = new Map(people.map(({ identityId, sightings }) => [identityId, sightings]))
    page = emptyPage()
    return { withdrawn, told: people }
  }

  function decideSome(
    entry: RosterEntry | undefined,
    sightings: readonly Sighting[],
    into: ReturnType<typeof tally>,
  ): PlannedPerson[] {
    const [first, last] = [sightings[0], sightings.at(-1)]
    if (!first || !last) return []
    const decision = withPin(first.identityId, decideInOrder(entry, sightings, context), pinned)
    into.add(decision, first)
    return planned(entry, decision, { identityId: first.identityId, origin: last.origin })
  }

  function isUnusable(identityId: string): boolean {
    return index.get(identityId)?.counted === null
  }

  /** Whether, of two rows under different keys of one person, the older key's row says that it leaves: the key then, and no person. */
  function isOver(before: Standing, sighting: Sighting): boolean {
    return before.keyOrder < (sighting.keyOrder ?? 0)
      ? before.leaving !== false
      : leavingIn(sighting, context) !== false
  }

  function noteSwapped(line: number): void {
    const { count, line: first } = account.startsAfterLeaving
    account.startsAfterLeaving = { count: count + 1, line: count === 0 ? line : first }
  }

  function note(reject: Reject): void {
    account.rejected++
    tallied.reject(reject)
    keep([reject])
  }

  function noteBadCells(cells: readonly Reject[]): void {
    tallied.incomplete(cells)
    keep(cells)
  }

  function keep(found: readonly Reject[]): void {
    for (const reject of found) {
      // Of each event the first is kept, however many there are: an event without one counts as understood.
      const first = reject.event === undefined ? undefined : firstOfEvents.get(reject.event)
      const isFirstOfEvent = reject.event !== undefined && first === undefined
      if (isFirstOfEvent) firstOfEvents.set(reject.event, rejects.length)
      if (isFirstOfEvent || rejects.length < rejectsKept) rejects.push(reject)
      else if (first !== undefined) hastenFirst(first, reject)
      const before = standing.get(reject.fingerprint)
      if (before) {
        before.times++
        // Of several rows with this fault, one that may say that the person has left is enough.
        if (reject.mayLeave) before.reject = { ...before.reject, mayLeave: true }
      } else if (standing.size < standingKept) standing.set(reject.fingerprint, { reject, times: 1 })
    }
  }

  /** An event is read again at the earliest time that one of its rejects names, also if that one is not kept. */
  function hastenFirst(at: number, { retryAt }: Reject): void {
    const first = rejects[at]
    if (first === undefined || retryAt === undefined) return
    const isEarlier = first.retryAt === undefined || Date.parse(retryAt) < Date.parse(first.retryAt)
    if (isEarlier) rejects[at] = { ...first, retryAt }
  }

  function noteContradiction(
    last: Sighting,
    { entry, decision, isRejected }: { entry: RosterEntry | undefined; decision: Decision; isRejected: boolean },
  ): void {
    const known = { wanted: (decision.entry ?? entry)?.wanted ?? null, retracted: entry?.retracted ?? null }
    const found = isRejected ? null : contradictionIn(last, known, context)
    if (found === null) contradictions.delete(last.identityId)
    else if (contradictions.size < standingKept) contradictions.set(last.identityId, found)
  }

  function contradicted(): [string, Contradiction][] {
    return [...contradictions].filter(([identityId, { line }]) => {
      const row = index.get(identityId)
      return row !== undefined && row.counted !== null && (inOrder || row.line === line)
    })
  }

  function isUnserved({ identityId, cellOnly, line }: Reject): boolean {
    return identityId === null || !cellOnly || inOrder || index.get(identityId)?.line === line
  }

  /** Another row of the person contradicts the one that counted: that one is rejected too. No row outranks one without a rank. */
  function setAside(
    identityId: string,
    before: Standing,
    { line, rank, underTwoKeys = false }: Pick<Standing, 'line' | 'rank'> & { underTwoKeys?: boolean },
  ): void {
    if (rank === undefined) before.rank = undefined
    if (before.counted === null) return
    account.records--
    withdraw(identityId, before.counted)
    page.told.delete(identityId)
    before.counted = null
    note(twice(identityId, { line: before.line, other: line, mayLeave: before.leaving !== false, underTwoKeys }))
  }

  /** Two rows of a person of which neither outranks the other are both rejected. What alone counts of them is that both say "left". */
  function repeat(before: Standing, sighting: Sighting): void {
    const { identityId, rank, origin } = sighting
    const { line } = origin
    const leaving = leavingIn(sighting, context)
    const departure = rank === before.rank ? bothLeave(before.leaving, leaving, context) : null
    const underTwoKeys = before.keyOrder !== (sighting.keyOrder ?? 0)
    setAside(identityId, before, { line, rank, underTwoKeys })
    note(twice(identityId, { line, other: before.line, mayLeave: leaving !== false, underTwoKeys }))
    before.leaving = departure ?? false
    if (departure) departures.set(identityId, sightingOf(departure, { identityId, origin }))
    else departures.delete(identityId)
  }

  /** What the operator is told of a rejected row: also that a departure was taken from it. */
  function withDeparture(reject: Reject): Reject {
    const { identityId, cellOnly, reason } = reject
    if (identityId === null || cellOnly || !departures.has(identityId)) return reject
    return {
      ...reject,
      reason: `${reason}; all of its rows say that the person has left, and nothing else of them counts`,
    }
  }

  function replace(before: Standing, sighting: Sighting): void {
    const { identityId, rank } = sighting
    if (before.counted === null) {
      account.records++
    } else {
      account.older++
      withdraw(identityId, before.counted)
    }
    Object.assign(before, {
      line: sighting.origin.line,
      rank,
      counted: 0,
      leaving: leavingIn(sighting, context),
      keyOrder: sighting.keyOrder ?? 0,
    } satisfies Standing)
    departures.delete(identityId)
    page.told.set(identityId, [sighting])
  }

  /** Takes a decision back. A person of the present page has none yet. */
  function withdraw(identityId: string, counted: Tallied): void {
    if (page.told.has(identityId)) return
    tallied.remove(counted)
    keysWatched?.forget(identityId)
    page.withdrawn.push(identityId)
  }

  function planned(
    entry: RosterEntry | undefined,
    decision: Decision,
    { identityId, origin }: Pick<PlannedPerson, 'identityId' | 'origin'>,
  ): PlannedPerson[] {
    const change = decision.change ?? (everybody ? resend(entry, decision) : null)
    const stored = isKeptOnce && !saysNews(entry, decision) ? null : decision.entry
    if (!stored && !change) return []
    const follows = isKeptOnce && stored !== null && followsFrom(change, stored, context)
    return [{ identityId, entry: stored, change, origin, follows }]
  }
}

/** The guards that say of a person that they may not leave: a hold about anything else delays no departure. */
const departureGuards: ReadonlySet<string> = new Set(['leavers', 'rekeyed', 'pinned'])
const nobody: ReadonlySet<string> = new Set()
const noneSettled: SettledPeople = { has: () => false, keyOf: String }

/** Rows in order without those by which a former key leaves, beside a newer one that speaks of employment: the key goes, and no person. */
function lastKeys(sightings: readonly Sighting[]): readonly Sighting[] {
  if (sightings.every(({ keyOrder }) => keyOrder === sightings[0]?.keyOrder)) return sightings
  const speaking = sightings.filter((sighting) => sighting.statesEmployment || saysLeaving(sighting))
  const last = Math.max(...speaking.map(({ keyOrder = 0 }) => keyOrder))
  return sightings.filter((sighting) => !saysLeaving(sighting) || (sighting.keyOrder ?? 0) >= last)
}

function overtakenIn(identityId: string, { overtaken = [] }: Decision): OvertakenEvent[] {
  return overtaken.flatMap(({ sighting: { origin }, knownAsOf, countsInPart }) => {
    if (!('event' in origin)) return []
    const what = countsInPart ? 'what it says of employment' : 'it'
    const reason = `older than what is known of ${identityId}, which is of ${knownAsOf}: nothing follows from ${what}`
    return [{ event: origin.event, identityId, reason }]
  })
}

function recordOf(entry: RosterEntry | undefined): IdentityRecord | null {
  return entry?.wanted ?? entry?.confirmed ?? null
}

/** Whether a leaving date that lies ahead is stated for the first time. */
function isAnnounced(entry: RosterEntry | undefined, side: Decision['entry']): boolean {
  return side !== null && side.deferredTo !== null && (entry?.deferredTo ?? null) === null
}

/** The rows that say that a person leaves, unless a later one says that they do not. */
function departuresOf(sightings: readonly Sighting[]): readonly Sighting[] {
  const last = sightings.findLast((sighting) => saysLeaving(sighting) || sighting.statesEmployment)
  return last !== undefined && saysLeaving(last) ? sightings.filter(saysLeaving) : []
}

function saysLeaving({ action, left, leavingDate }: Sighting): boolean {
  return action !== 'retract' && (left || typeof leavingDate === 'string')
}

/** Whether a snapshot is older than the newest accepted one, so that it no longer speaks of everybody. */
export function isStale({
  mode,
  asOf,
  acceptedAsOf = null,
}: Pick<PlanContext, 'mode' | 'asOf' | 'acceptedAsOf'>): boolean {
  return mode === 'snapshot' && acceptedAsOf !== null && Temporal.Instant.compare(asOf, acceptedAsOf) < 0
}

/** Whether a reading says of everybody who is known, and not only of the people whom it names, what was true at its time. */
export function speaksOfAll(context: Pick<PlanContext, 'mode' | 'asOf' | 'acceptedAsOf' | 'absence'>): boolean {
  return context.mode === 'snapshot' && context.absence !== 'ignore' && !isStale(context)
}

function emptyPage(): { readonly withdrawn: string[]; readonly told: Map<string, Sighting[]> } {
  return { withdrawn: [], told: new Map() }
}

/** Remembers the last people that were added, by their keys or numbers. */
function lastOf(count: number, keyOf: (person: number) => string) {
  let people: (string | number)[] = []
  return {
    add(person: string | number): void {
      people.push(person)
      if (people.length >= 2 * count) people = people.slice(-count)
    },
    keys: (): readonly string[] => people.map((person) => (typeof person === 'number' ? keyOf(person) : person)),
  }
}

/** The key's place in the file does not matter to the fingerprint: a key that is repeated every night is the same fault. */
function twice(
  identityId: string,
  { line, other, mayLeave, underTwoKeys }: { line: number; other: number; mayLeave: boolean; underTwoKeys: boolean },
): Reject {
  const reason = underTwoKeys
    ? `the person stands in this file under two keys, also in line ${other}, and an alias says that both are theirs`
    : `the key stands in this file more than once, also in line ${other}`
  return {
    line,
    column: null,
    reason,
    identityId,
    cellOnly: false,
    mayLeave,
    fingerprint: fingerprint('twice', identityId),
  }
}

/** Has the guard of pins count the person, if the decision takes a pinned one away. */
export function withPin(identityId: string, decision: Decision, pinned: ReadonlySet<string>): Decision {
  const { news } = decision
  const isTaken = news.kinds.includes('leavers') || news.kinds.includes('retractions')
  if (!isTaken || !pinned.has(identityId)) return decision
  return { ...decision, news: { ...news, kinds: [...news.kinds, 'pinned'] } }
}

/** Whether a decision says more than that the person was named, or missed, once more. */
function saysNews(entry: RosterEntry | undefined, { entry: side }: Decision): boolean {
  if (side === null) return false
  if (entry === undefined) return true
  return (
    side.wanted !== entry.wanted ||
    side.inferred !== entry.inferred ||
    side.deferredTo !== entry.deferredTo ||
    side.clearedDate !== entry.clearedDate ||
    side.deferredZone !== entry.deferredZone ||
    !sameHeld(side.heldLeaving, entry.heldLeaving) ||
    side.absences !== entry.absences ||
    side.exportIsSilent !== entry.exportIsSilent ||
    // The time of the export does not hold for them.
    (side.exportIsSilent && (side.asOf !== entry.asOf || !sameTimes(side.fieldTimes, entry.fieldTimes)))
  )
}

/** Whether a wanted side says no more than that what a change sends was true when the source was. */
function followsFrom(change: Change | null, side: WantedSide, { asOf }: PlanContext): boolean {
  return (
    change !== null &&
    change.kind !== 'retract' &&
    side.wanted === change.record &&
    side.inferred === change.inferred &&
    side.deferredTo === null &&
    side.clearedDate === null &&
    side.heldLeaving === null &&
    side.asOf === asOf &&
    side.employmentAsOf === asOf &&
    !side.exportIsSilent &&
    side.fieldTimes === null &&
    side.absences === 0
  )
}

/** The person as wanted, to be sent once more. */
function resend(entry: RosterEntry | undefined, decision: Decision): Change | null {
  const record = decision.entry?.wanted ?? entry?.wanted ?? null
  if (record === null || entry === undefined || entry.retracted !== null) return null
  return { kind: 'update', identityId: entry.identityId, record, fields: {}, inferred: false, carried: true }
}

/** Whether a row takes effect on a later day than that on which its source was true. */
export function isLater(
  { effectiveOn, timeZone }: Sighting,
  { exportDate, asOf }: Pick<PlanContext, 'exportDate' | 'asOf'>,
): boolean {
  if (effectiveOn === undefined) return false
  return effectiveOn > (timeZone === undefined ? exportDate : dateIn(timeZone, asOf))
}
