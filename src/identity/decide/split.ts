import type { Observation, RosterEntry } from '../record.ts'
import { decideInOrder, type PlanContext, unknownPerson } from './decide.ts'
import type { Decisions } from './decisions.ts'
import type { PlannedPerson } from './planned.ts'
import type { PersonObservations } from './row-book.ts'
import { departuresOf } from './rows-in-order.ts'
import { type Tally, tally } from './tally.ts'

/** The decisions about people who are held by a guard or a held plan. */
type Split = {
  /** Departures that are not held. */
  readonly proceeding: readonly PlannedPerson[]
  /** What is held in a plan of its own. */
  readonly held: readonly PlannedPerson[]
  /** The observations that are held. */
  readonly heldObservations: readonly PersonObservations[]
}

/** A person to split off. `joins`: the person joins a plan that is already held, so nothing is decided for this plan. */
type SplitPerson = PersonObservations & { readonly joins: boolean }

/** The guards that judge whether a person may leave. No other guard delays a departure, but one that was left out of an approved part waits. */
const departureGuards: ReadonlySet<string> = new Set(['leavers', 'rekeyed', 'pinned'])

/** Splits people off a plan of events, and counts what is held. */
export function startSplitting(decisions: Decisions) {
  const heldTally = tally()

  function decidePart(entry: RosterEntry | undefined, observations: readonly Observation[], into: Tally) {
    const [first, last] = [observations[0], observations.at(-1)]
    if (!first || !last) return []
    const decision = decisions.withPin(first.identityId, decideInOrder(entry, observations, decisions.context))
    into.add(decision, first)
    return decisions.planned(entry, decision, { identityId: first.identityId, origin: last.origin })
  }

  return {
    /**
     * Holds these people. Their departures proceed, each with what its own row states, unless one of `failedGuards` that judges departures
     * counts the person, or the departure was left out of an approved part. Values that were left out do not proceed with a departure.
     */
    split(
      people: readonly SplitPerson[],
      known: ReadonlyMap<string, RosterEntry>,
      failedGuards: ReadonlySet<string>,
    ): Split {
      const proceeding: PlannedPerson[] = []
      const held: PlannedPerson[] = []
      const heldObservations: PersonObservations[] = []
      for (const { identityId, observations, joins } of people) {
        const entry = known.get(identityId)
        const mayNotLeave =
          decisions.holdsDeparture(identityId) ||
          decisions.isCountedBy(identityId, failedGuards.intersection(departureGuards))
        const leaving = entry === undefined || mayNotLeave ? [] : departuresOf(observations)
        const { departures, rest } = decisions.holdsValues(identityId)
          ? withoutValues(entry, { observations, leaving }, decisions.context)
          : { departures: leaving, rest: observations.filter((observation) => !leaving.includes(observation)) }
        decisions.takeBack([identityId])
        proceeding.push(...decidePart(entry, departures, decisions.tally))
        if (!joins) held.push(...decidePart(entry, rest, heldTally))
        if (rest.length > 0) heldObservations.push({ identityId, observations: rest })
      }
      return { proceeding, held, heldObservations }
    },

    /** The changes that are held, by kind. */
    heldCounts: heldTally.counts,
    /** How many of the held people each limit counts. */
    heldPeople: heldTally.people,
  }
}

type Leaving = { readonly observations: readonly Observation[]; readonly leaving: readonly Observation[] }

/**
 * Takes the departures out of rows whose values are held. A start may clear the leaving date of its row: departures that are others without
 * their values wait with them.
 */
function withoutValues(entry: RosterEntry | undefined, { observations, leaving }: Leaving, context: PlanContext) {
  const departures = leaving.map((observation) => ({ ...observation, fields: {} }))
  if (employmentAfter(entry, departures, context) !== employmentAfter(entry, leaving, context))
    return { departures: [], rest: observations }
  const employed = { leavingDate: undefined, statesDeparture: false, hasEmploymentCell: false }
  const rest = observations.flatMap((observation) => {
    if (!leaving.includes(observation)) return [observation]
    return Object.keys(observation.fields).length > 0 ? [{ ...observation, ...employed }] : []
  })
  return { departures, rest }
}

/** What follows of a person's employment from rows, for a comparison. */
function employmentAfter(entry: RosterEntry | undefined, rows: readonly Observation[], context: PlanContext): string {
  const after = rows.length === 0 ? undefined : decideInOrder(entry, rows, context).entry
  const { desired, inferred, deferredTo, clearedDate, heldDeparture } = after ?? entry ?? unknownPerson('', context)
  return JSON.stringify([desired?.separatedAt ?? null, inferred, deferredTo, clearedDate, heldDeparture])
}
