import { type Tallied, tally } from '../../identity/guards.ts'
import { type Decision, decide, decideInOrder, type PlanContext, type Seen } from '../../identity/plan.ts'
import type { Reject, RosterEntry, Sighting } from '../../identity/record.ts'
import { type PlannedPerson, rejectsKept } from '../../store/plans/plans.ts'
import { rosterEntries, rosterKeys, unfinishedKeys } from '../../store/roster/roster.ts'
import type { Db } from '../../store/schema.ts'
import type { Stage } from './stage.ts'

/** How many people are looked up and staged together. */
const pageSize = 1000

/** Among so many of those named last, some are looked for whom the plan leaves employed. */
const endKeysSought = 1000
/** So many are kept: the last of them who is still employed when the next snapshot comes has to be in it. */
const endKeysKept = 50

/** The row that stands for a person so far. */
type Standing = { line: number; rank: string | undefined; counted: Tallied }

export type Decider = ReturnType<typeof createDecider>

/**
 * Decides about people as rows come in, page by page, and about those whom no row named at the end. Several rows of one person are
 * rejected, or the one of the highest rank counts; where rows stand `inOrder` of their times, all of them count one after the other.
 */
export function createDecider({
  db,
  connection,
  stage,
  everybody,
  inOrder,
  eachForItself,
  planContext,
}: {
  db: Db
  connection: string
  stage: Stage
  everybody: boolean
  inOrder: boolean
  /** What the source says is kept for each of its people, also where it says the same again: it does not speak of everybody. */
  eachForItself: boolean
  planContext: PlanContext
}) {
  const tallied = tally()
  const rejects: Reject[] = []
  const seen = new Map<string, Standing>()
  const untouched = new Set<string>()
  const doubled: string[] = []
  let namedLast: string[] = []
  let replaced: string[] = []
  let page = new Map<string, Sighting[]>()

  const state = {
    rows: 0,
    records: 0,
    rejected: 0,
    /** Rows that gave way to a newer one of the same person. */
    older: 0,
    rejects,
    tally: tallied,

    reject(reject: Reject): void {
      note(reject)
      const { identityId, line } = reject
      if (identityId === null) return
      nameLast(identityId)
      // An event that cannot be understood does not take the others of its person along.
      if (inOrder) return
      const before = seen.get(identityId)
      if (before === undefined) seen.set(identityId, { line, rank: undefined, counted: 0 })
      else doubt(identityId, { before: before.line, line })
      untouched.add(identityId)
    },

    see(sighting: Sighting): void {
      const { identityId, rank } = sighting
      const { line } = sighting.origin
      if (!sighting.left && sighting.leavingDate === null) nameLast(identityId)
      const before = seen.get(identityId)
      if (before === undefined) {
        state.records++
        seen.set(identityId, { line, rank, counted: 0 })
        page.set(identityId, [sighting])
      } else if (inOrder) page.get(identityId)?.push(sighting)
      else if (rank !== undefined && before.rank !== undefined && rank !== before.rank) {
        state.older++
        if (rank > before.rank) replace(sighting, before)
      } else {
        doubt(identityId, { before: before.line, line })
        untouched.add(identityId)
        note(twice(identityId, { line, other: before.line }))
      }
    },

    /** Whether no row named this person. */
    lacks: (identityId: string): boolean => !seen.has(identityId),

    /** The people named last of those whom the plan leaves employed: whom a file lacks whose end is cut off. */
    async endKeys(): Promise<string[]> {
      const doubtful = namedLast.filter((key) => untouched.has(key))
      const known = await rosterEntries(db, { connection, identityIds: doubtful })
      return namedLast.filter((key) => !untouched.has(key) || isEmployed(known.get(key))).slice(-endKeysKept)
    },

    /** Decides about whom the rows so far named; rows in order have to be all there first. */
    async decidePage(): Promise<void> {
      if (!inOrder) await decideAll()
    },

    /** Decides about everybody left: whom no usable row named, and in a delta whose day has come or who is still to be sent. */
    async decideRest(signal: AbortSignal): Promise<void> {
      await decideAll()
      await stage.drop(doubled)
      const keys =
        planContext.mode === 'snapshot' || everybody ? rosterKeys(db, connection) : unfinishedKeys(db, connection)
      for await (const some of keys) {
        signal.throwIfAborted()
        const rest = some.filter((key) => !seen.has(key) || untouched.has(key))
        for (let start = 0; start < rest.length; start += pageSize) {
          const slice = rest.slice(start, start + pageSize)
          const known = await rosterEntries(db, { connection, identityIds: slice })
          await stage.put([...known.values()].flatMap((entry) => planUnseen(entry)))
        }
      }
    },
  }
  return state

  async function decideAll(): Promise<void> {
    const people = [...page]
    page = new Map()
    await stage.drop(replaced)
    replaced = []
    for (let start = 0; start < people.length; start += pageSize) {
      const slice = people.slice(start, start + pageSize)
      const known = await rosterEntries(db, { connection, identityIds: slice.map(([identityId]) => identityId) })
      await stage.put(
        slice.flatMap(([identityId, sightings]) => planSeen(known.get(identityId), identityId, sightings)),
      )
    }
  }

  function nameLast(identityId: string): void {
    namedLast.push(identityId)
    if (namedLast.length >= 2 * endKeysSought) namedLast = namedLast.slice(-endKeysSought)
  }

  function note(reject: Reject): void {
    state.rejected++
    tallied.reject(reject)
    if (rejects.length < rejectsKept) rejects.push(reject)
  }

  function replace(sighting: Sighting, before: Standing): void {
    const { identityId, rank } = sighting
    if (untouched.has(identityId)) return
    if (!page.has(identityId)) {
      tallied.remove(before.counted)
      replaced.push(identityId)
    }
    seen.set(identityId, { line: sighting.origin.line, rank, counted: 0 })
    page.set(identityId, [sighting])
  }

  /** A second row of a key: what the first one had said does not count any more, and that row is rejected too. */
  function doubt(identityId: string, { before, line }: { before: number; line: number }): void {
    if (untouched.has(identityId)) return
    state.records--
    if (!page.delete(identityId)) {
      tallied.remove(seen.get(identityId)?.counted ?? 0)
      doubled.push(identityId)
    }
    note(twice(identityId, { line: before, other: line }))
  }

  function planSeen(entry: RosterEntry | undefined, identityId: string, sightings: readonly Sighting[]) {
    const decision = decideInOrder(entry, sightings, planContext)
    const standing = seen.get(identityId)
    const [first] = sightings
    const counted = first ? tallied.add(decision, first) : 0
    if (standing) standing.counted = counted
    const last = sightings.at(-1)
    return planned(entry, decision, { identityId, origin: last?.origin ?? null })
  }

  function planUnseen(entry: RosterEntry): PlannedPerson[] {
    const about: Seen = untouched.has(entry.identityId) || planContext.mode === 'delta' ? 'untouched' : 'absent'
    const decision = decide(entry, about, planContext)
    tallied.add(decision, about)
    return planned(entry, decision, { identityId: entry.identityId, origin: null })
  }

  function planned(
    entry: RosterEntry | undefined,
    decision: Decision,
    { identityId, origin }: Pick<PlannedPerson, 'identityId' | 'origin'>,
  ): PlannedPerson[] {
    const change = decision.change ?? (everybody ? resend(entry, decision) : null)
    const stored = eachForItself || sayingNews(entry, decision, planContext) ? decision.entry : null
    return stored || change ? [{ identityId, entry: stored, change, origin }] : []
  }
}

/** Whether accepted facts say so. */
export function isEmployed(entry: RosterEntry | null | undefined): boolean {
  return (entry?.wanted ?? null) !== null && (entry?.wanted?.separatedAt ?? null) === null
}

function twice(identityId: string, { line, other }: { line: number; other: number }): Reject {
  return { line, column: null, reason: `the key stands in this file more than once, also in line ${other}`, identityId }
}

// That an accepted snapshot said the same again is kept once for the connection, not for every person.
function sayingNews(entry: RosterEntry | undefined, { entry: side }: Decision, { mode }: PlanContext): boolean {
  if (side === null) return false
  if (entry === undefined || mode === 'delta') return true
  return (
    side.wanted !== entry.wanted ||
    side.inferred !== entry.inferred ||
    side.deferredTo !== entry.deferredTo ||
    side.absences !== entry.absences
  )
}

function resend(entry: RosterEntry | undefined, decision: Decision): PlannedPerson['change'] {
  const record = decision.entry?.wanted ?? entry?.wanted ?? null
  if (record === null || entry === undefined || entry.retracted !== null) return null
  return { kind: 'update', identityId: entry.identityId, record, fields: {}, inferred: false, carried: true }
}
