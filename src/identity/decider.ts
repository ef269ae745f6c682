import type { Change } from './change.ts'
import { type Decision, decide, decideInOrder, type PlanContext, type Seen, type WantedSide } from './decide.ts'
import { isEmployed } from './employment.ts'
import { type Tallied, tally } from './guards.ts'
import type { Origin, Reject, RosterEntry, Sighting } from './record.ts'

/** So many of the people named last are remembered, to find some among them that the plan leaves employed. */
const endKeysSought = 1000
/** So many people are kept: the last one of them who is still employed when the next snapshot comes has to be in it. */
const endKeysKept = 50

/** What is decided about one person: a new wanted side, a change to send, or both. */
export type PlannedPerson = {
  readonly identityId: string
  readonly entry: WantedSide | null
  readonly change: Change | null
  readonly origin: Origin | null
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

export type DeciderRules = {
  readonly context: PlanContext
  /** When the newest accepted snapshot was true; null if there is none. */
  readonly acceptedAsOf: string | null
  /** Rows stand in the order of their times, so that all rows of a person count, one after the other. */
  readonly inOrder: boolean
  /** People without a difference are sent as well. */
  readonly everybody: boolean
  /** So many rejects are kept one by one; all of them are counted. */
  readonly rejectsKept: number
}

/** The row that counts for a person so far. `counted` is what its decision added to the tally; null: no row of the person can be used. */
type Standing = { line: number; rank: string | undefined; counted: Tallied | null }

export type Decider = ReturnType<typeof createDecider>

/**
 * Decides about the people of one source while its rows stream by. Rows go in; pages of people come out, to be decided with the
 * roster's entries before more rows go in; people without a usable row follow at the end. Of several rows of one person the one of
 * the highest rank counts; rows without a rank, or of the same one, are rejected. What is kept of a person is an entry of the index.
 */
export function createDecider({ context, acceptedAsOf, inOrder, everybody, rejectsKept }: DeciderRules) {
  const index = new Map<string, Standing>()
  const passedOver = new Set<string>()
  const tallied = tally()
  const rejects: Reject[] = []
  const account = { records: 0, rejected: 0, older: 0 }
  const namedLast = lastOf(endKeysSought)
  // An accepted snapshot that speaks of everybody is kept once for the connection. Everything else is kept for each of its people.
  const isKeptOnce = context.mode === 'snapshot' && context.absence !== 'ignore' && !isStale(context, acceptedAsOf)
  let page = emptyPage()

  return {
    /** People with a row that counts, rejected rows, and rows that gave way to a newer one of the same person. */
    account: account as Readonly<typeof account>,
    /** The first rejects, in the order in which they were found. */
    rejects: rejects as readonly Reject[],
    counts: tallied.counts,
    facts: tallied.facts,
    /** True: everybody of the roster without a usable row is decided about. False: unfinished people alone are. */
    asksForEverybody: context.mode === 'snapshot' || everybody,

    see(sighting: Sighting): void {
      const { identityId, rank } = sighting
      const { line } = sighting.origin
      if (!sighting.left && sighting.leavingDate === null) namedLast.add(identityId)
      const before = index.get(identityId)
      if (before === undefined) {
        account.records++
        index.set(identityId, { line, rank, counted: 0 })
        page.told.set(identityId, [sighting])
      } else if (inOrder) {
        page.told.get(identityId)?.push(sighting)
      } else if (rank === undefined || before.rank === undefined || rank === before.rank) {
        setAside(identityId, before, { line, rank })
        note(twice(identityId, { line, other: before.line }))
      } else if (rank > before.rank) {
        replace(before, sighting)
      } else {
        account.older++
      }
    },

    reject(reject: Reject): void {
      note(reject)
      const { identityId, line } = reject
      if (identityId === null) return
      namedLast.add(identityId)
      // An event that cannot be understood does not take the others of its person along.
      if (inOrder) return
      const before = index.get(identityId)
      if (before === undefined) {
        index.set(identityId, { line, rank: undefined, counted: null })
        return
      }
      setAside(identityId, before, { line, rank: undefined })
    },

    /**
     * A row is about no person. If it was one after all, whose key says what a row of totals says, then the person is there and stays as
     * known.
     */
    passOver(identityId: string | null): void {
      if (identityId !== null) passedOver.add(identityId)
    },

    /** The page of the rows so far. Rows in order make one page, at the end. */
    nextPage: (): Page => (inOrder ? { withdrawn: [], told: [] } : takePage()),

    /** The page of what is left once there are no more rows. */
    lastPage: takePage,

    /** Decides about people of a page; `known` has the roster's entries of them. */
    decideTold(told: readonly Told[], known: ReadonlyMap<string, RosterEntry>): PlannedPerson[] {
      return told.flatMap(({ identityId, sightings }) => {
        const [first, last] = [sightings[0], sightings.at(-1)]
        const standing = index.get(identityId)
        if (!first || !last || !standing) return []
        const entry = known.get(identityId)
        const decision = decideInOrder(entry, sightings, context)
        standing.counted = tallied.add(decision, first)
        return planned(entry, decision, { identityId, origin: last.origin })
      })
    },

    /** Which of these keys no usable row named. */
    unseen: (keys: readonly string[]): string[] => keys.filter((key) => (index.get(key)?.counted ?? null) === null),

    /** Decides about people without a usable row: they are absent, or a row that cannot be used says that they are there. */
    decideUnseen(entries: Iterable<RosterEntry>): PlannedPerson[] {
      return [...entries].flatMap((entry) => {
        const { identityId } = entry
        const seen: Seen = isNamed(identityId) ? 'untouched' : 'absent'
        const decision = decide(entry, seen, context)
        tallied.add(decision, seen)
        return planned(entry, decision, { identityId, origin: null })
      })
    },

    /** Whether no row named this person. */
    lacks: (identityId: string): boolean => !isNamed(identityId),

    /** The people among those named last whose rows cannot be used, so that only the roster can say whether they are employed. */
    unusableEnd: (): string[] => namedLast.keys().filter(isUnusable),

    /** The last people in the source that the plan leaves employed; `known` has the roster's entries of `unusableEnd`. */
    endKeys: (known: ReadonlyMap<string, RosterEntry>): string[] =>
      namedLast
        .keys()
        .filter((key) => !isUnusable(key) || isEmployed(known.get(key)))
        .slice(-endKeysKept),
  }

  function isNamed(identityId: string): boolean {
    return index.has(identityId) || passedOver.has(identityId)
  }

  function takePage(): Page {
    const { withdrawn, told } = page
    page = emptyPage()
    return { withdrawn, told: [...told].map(([identityId, sightings]) => ({ identityId, sightings })) }
  }

  function isUnusable(identityId: string): boolean {
    return index.get(identityId)?.counted === null
  }

  function note(reject: Reject): void {
    account.rejected++
    tallied.reject(reject)
    if (rejects.length < rejectsKept) rejects.push(reject)
  }

  /** Another row of the person contradicts the one that counted: that one is rejected too. No row outranks one without a rank. */
  function setAside(identityId: string, before: Standing, { line, rank }: Pick<Standing, 'line' | 'rank'>): void {
    if (rank === undefined) before.rank = undefined
    if (before.counted === null) return
    account.records--
    withdraw(identityId, before.counted)
    page.told.delete(identityId)
    before.counted = null
    note(twice(identityId, { line: before.line, other: line }))
  }

  function replace(before: Standing, sighting: Sighting): void {
    const { identityId, rank } = sighting
    if (before.counted === null) {
      account.records++
    } else {
      account.older++
      withdraw(identityId, before.counted)
    }
    Object.assign(before, { line: sighting.origin.line, rank, counted: 0 } satisfies Standing)
    page.told.set(identityId, [sighting])
  }

  /** Takes a decision back. A person of the present page has none yet. */
  function withdraw(identityId: string, counted: Tallied): void {
    if (page.told.has(identityId)) return
    tallied.remove(counted)
    page.withdrawn.push(identityId)
  }

  function planned(
    entry: RosterEntry | undefined,
    decision: Decision,
    { identityId, origin }: Pick<PlannedPerson, 'identityId' | 'origin'>,
  ): PlannedPerson[] {
    const change = decision.change ?? (everybody ? resend(entry, decision) : null)
    const stored = isKeptOnce && !saysNews(entry, decision) ? null : decision.entry
    return stored || change ? [{ identityId, entry: stored, change, origin }] : []
  }
}

/** Whether a snapshot is older than the newest accepted one, so that it no longer speaks of everybody. */
export function isStale({ mode, asOf }: Pick<PlanContext, 'mode' | 'asOf'>, acceptedAsOf: string | null): boolean {
  return mode === 'snapshot' && acceptedAsOf !== null && Temporal.Instant.compare(asOf, acceptedAsOf) < 0
}

function emptyPage(): { readonly withdrawn: string[]; readonly told: Map<string, Sighting[]> } {
  return { withdrawn: [], told: new Map() }
}

/** Remembers the last keys that were added. */
function lastOf(count: number) {
  let keys: string[] = []
  return {
    add(key: string): void {
      keys.push(key)
      if (keys.length >= 2 * count) keys = keys.slice(-count)
    },
    keys: (): readonly string[] => keys,
  }
}

function twice(identityId: string, { line, other }: { line: number; other: number }): Reject {
  return { line, column: null, reason: `the key stands in this file more than once, also in line ${other}`, identityId }
}

/** Whether a decision says more than that the person was named, or missed, once more. */
function saysNews(entry: RosterEntry | undefined, { entry: side }: Decision): boolean {
  if (side === null) return false
  if (entry === undefined) return true
  return (
    side.wanted !== entry.wanted ||
    side.inferred !== entry.inferred ||
    side.deferredTo !== entry.deferredTo ||
    side.absences !== entry.absences
  )
}

/** The person as wanted, to be sent once more. */
function resend(entry: RosterEntry | undefined, decision: Decision): Change | null {
  const record = decision.entry?.wanted ?? entry?.wanted ?? null
  if (record === null || entry === undefined || entry.retracted !== null) return null
  return { kind: 'update', identityId: entry.identityId, record, fields: {}, inferred: false, carried: true }
}
