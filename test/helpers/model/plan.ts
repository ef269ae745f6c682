import type { Change, PlanCounts } from '../../../src/identity/change.ts'
import { isStale } from '../../../src/identity/decide/coverage.ts'
import type { DesiredState, PlanContext } from '../../../src/identity/decide/decide.ts'
import { createDecider, type DeciderRules } from '../../../src/identity/decide/decider.ts'
import type { PlannedPerson } from '../../../src/identity/decide/planned.ts'
import type { Page } from '../../../src/identity/decide/row-book.ts'
import { exportRows } from '../../../src/identity/decide/row-models.ts'
import { compareKeys } from '../../../src/identity/digest.ts'
import { type GuardFacts, noPeople, type PeopleCounts } from '../../../src/identity/guards/facts.ts'
import type { KeyChangeCandidate } from '../../../src/identity/key-change-candidates.ts'
import { isReject } from '../../../src/identity/mapping/rows.ts'
import type { Observation, Reject, RosterEntry } from '../../../src/identity/record.ts'
import { reject } from '../records.ts'
import type { Roster } from './roster.ts'

/** Everything that follows from one source. */
export type Plan = {
  /** Ordered by key. */
  readonly changes: readonly Change[]
  readonly entries: ReadonlyMap<string, DesiredState>
  readonly counts: PlanCounts
  /** What is new in it, for the guards. */
  readonly news: Pick<GuardFacts, 'leavers' | 'emailChanges' | 'retractions' | 'rejected' | 'unreadableKeys' | 'absent'>
  /** What the limits of people count. */
  readonly people: PeopleCounts
  readonly absent: number
  readonly records: number
  readonly older: number
  readonly rejects: readonly Reject[]
  readonly pairs: readonly KeyChangeCandidate[]
  /** The keys of pinned people whom it would take away. */
  readonly pinned: readonly string[]
  /** Its as-of time, if it states everybody once it is accepted. */
  readonly spokenAsOf: string | null
}

type Options = Partial<Omit<DeciderRules, 'context'>> & {
  /** How many rows come at once. */
  readonly slice?: number
}

const about = {
  mode: 'snapshot',
  rows: 0,
  size: null,
  endMissing: false,
  recent: noPeople,
  usual: null,
  headcount: 0,
  missingColumns: [],
  keyChangeCandidates: [],
  absence: 'separate',
} as const

/** What turns a roster into what a source says: the decider of a run between a roster and a plan that are kept in memory. */
export function planRows(
  rows: readonly (Observation | Reject)[],
  roster: Roster,
  context: PlanContext,
  { slice = 1000, ...rules }: Options = {},
): Plan {
  const decider = createDecider({ context, rows: exportRows, rejectsKept: 1000, ...rules })
  const staged = new Map<string, PlannedPerson>()
  const put = (planned: readonly PlannedPerson[]) => {
    for (const person of planned) {
      if (staged.has(person.identityId)) throw new Error(`${person.identityId} is decided about twice`)
      staged.set(person.identityId, person)
    }
  }
  const take = ({ withdrawn, observed }: Page) => {
    decider.takeBack(withdrawn)
    for (const key of withdrawn) staged.delete(key)
    put(
      decider.decideObserved(
        observed,
        entriesOf(
          roster,
          observed.map(({ identityId }) => identityId),
        ),
      ),
    )
  }

  for (let start = 0; start < rows.length; start += slice) {
    for (const row of rows.slice(start, start + slice)) {
      if (isReject(row)) decider.book.reject(row)
      else decider.book.add(row)
    }
    take(decider.book.nextPage())
  }
  take(decider.book.lastPage())
  const candidates = [...roster.values()].filter((entry) => decider.decidesEverybody || isUnfinished(entry))
  put(
    decider.decideUnobserved(
      entriesOf(roster, decider.book.unobserved(candidates.map(({ identityId }) => identityId))).values(),
    ),
  )

  const people = [...staged.values()].sort((a, b) => compareKeys(a.identityId, b.identityId))
  const { leavers, emailChanges, retractions, rejected, unreadableKeys, absent, pinned } = decider.facts(about)
  const speaks = context.mode === 'snapshot' && context.absence !== 'ignore' && !isStale(context)
  return {
    changes: people.flatMap(({ change }) => change ?? []),
    entries: new Map(people.flatMap(({ identityId, entry }) => (entry ? [[identityId, entry] as const] : []))),
    counts: decider.counts(),
    news: { leavers, emailChanges, retractions, rejected, unreadableKeys, absent },
    people: decider.people(),
    absent,
    records: decider.book.counts.records,
    older: decider.book.counts.older,
    rejects: decider.rejects(),
    pairs: decider.keyChangeCandidates(),
    pinned: decider.explain({ name: 'pinned', actual: pinned, limit: 0, ok: pinned === 0 }).people ?? [],
    spokenAsOf: speaks ? context.asOf : null,
  }
}

/** The same for observations that all can be used, and people whose row cannot. */
export function plan(
  observations: Iterable<Observation>,
  roster: Roster,
  context: PlanContext,
  untouched: ReadonlySet<string> = new Set(),
): Plan {
  return planRows([...observations, ...[...untouched].map(unusable)], roster, context, { slice: 2 })
}

/** A row of this person that cannot be used. */
export function unusable(identityId: string): Reject {
  return reject(identityId, { line: 100, column: 'Email', reason: 'is not an address' })
}

function entriesOf(roster: Roster, keys: readonly string[]): Map<string, RosterEntry> {
  return new Map(
    keys.flatMap((key) => {
      const entry = roster.get(key)
      return entry ? [[key, entry] as const] : []
    }),
  )
}

/** Whether something is left to do about a person, whatever a source says. */
function isUnfinished({ deferredTo, retracted, desired, confirmed }: RosterEntry): boolean {
  if (deferredTo !== null) return true
  return retracted === null ? desired !== null && desired !== confirmed : confirmed !== null
}
