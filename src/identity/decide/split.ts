import type { RosterEntry, Observation } from '../record.ts'
import { decideInOrder } from './decide.ts'
import type { Decisions } from './decisions.ts'
import type { PlannedPerson } from './planned.ts'
import type { PersonObservations } from './row-book.ts'
import { departuresOf } from './rows-in-order.ts'
import { type Tally, tally } from './tally.ts'

/** What was decided about people that a guard or a held plan stops in part. */
type Split = {
  /** What goes on all the same: that they leave. */
  readonly proceeding: readonly PlannedPerson[]
  /** What waits, as a plan of its own. */
  readonly held: readonly PlannedPerson[]
  /** What was said that waits. */
  readonly heldObservations: readonly PersonObservations[]
}

/** The guards that say of a person that they may not leave: a hold about anything else delays no departure. */
const departureGuards: ReadonlySet<string> = new Set(['leavers', 'rekeyed', 'pinned'])

/** Splits people off a plan of events, and counts what waits. */
export function startSplitting(decisions: Decisions) {
  const waitingTally = tally()

  function decideSome(
    entry: RosterEntry | undefined,
    observations: readonly Observation[],
    into: Tally,
  ): PlannedPerson[] {
    const [first, last] = [observations[0], observations.at(-1)]
    if (!first || !last) return []
    const decision = decisions.withPin(first.identityId, decideInOrder(entry, observations, decisions.context))
    into.add(decision, first)
    return decisions.planned(entry, decision, { identityId: first.identityId, origin: last.origin })
  }

  return {
    /**
     * A departure goes on, unless a guard of departures stops it, with what its own row says; the rest waits. Of people who join another
     * plan nothing is decided for this one.
     */
    split(
      people: readonly (PersonObservations & { readonly joins: boolean })[],
      known: ReadonlyMap<string, RosterEntry>,
      stopped: ReadonlySet<string>,
    ): Split {
      const goesOn: PlannedPerson[] = []
      const waits: PlannedPerson[] = []
      const waiting: PersonObservations[] = []
      for (const { identityId, observations, joins } of people) {
        const entry = known.get(identityId)
        const mayNotLeave = decisions.isCountedBy(identityId, stopped.intersection(departureGuards))
        const departures = entry === undefined || mayNotLeave ? [] : departuresOf(observations)
        const rest = observations.filter((observation) => !departures.includes(observation))
        decisions.takeBack([identityId])
        goesOn.push(...decideSome(entry, departures, decisions.tally))
        if (!joins) waits.push(...decideSome(entry, rest, waitingTally))
        if (rest.length > 0) waiting.push({ identityId, observations: rest })
      }
      return { proceeding: goesOn, held: waits, heldObservations: waiting }
    },

    /** What waits of the people that were split off. */
    heldCounts: waitingTally.counts,
    heldPeople: waitingTally.people,
  }
}
