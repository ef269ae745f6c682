import type { RosterEntry } from '../record.ts'
import type { Decision, PersonInput, PlanContext } from './decide.ts'
import { type PlannedPerson, type PlanSteps, planned } from './planned.ts'
import { nothingTallied, type Tallied, type Tally } from './tally.ts'
import type { Unapproved } from './unapproved.ts'

/** A decision about one person and its input. */
export type Decided = {
  readonly identityId: string
  readonly entry: RosterEntry | undefined
  readonly decision: Decision
  readonly input: PersonInput
}

type DecisionRules = PlanSteps & {
  readonly context: PlanContext
  readonly tally: Tally
  /** People who are separated or deleted only by an approval that names them. */
  readonly pinned: ReadonlySet<string>
  readonly unapproved: Unapproved
  /** Called with each decision, also with one that is discarded later. */
  readonly onDecided?: (decided: Decided) => void
}

/** The decisions of a plan so far. */
export type Decisions = ReturnType<typeof keepDecisions>

/** Counts the decisions of a plan. A decision is discarded if its row turns out not to apply. */
export function keepDecisions({ context, tally, pinned, unapproved, onDecided, ...steps }: DecisionRules) {
  const tallied = new Map<string, Tallied>()

  function count(decided: Decided): Tallied {
    const added = tally.add(unapproved.counted(decided.identityId, decided.decision, decided.entry), decided.input)
    onDecided?.(decided)
    return added
  }

  return {
    context,
    tally,
    /** Adds the guard of pinned people to a decision that separates or deletes one of them. */
    withPin: (identityId: string, decision: Decision): Decision => withPin(identityId, decision, pinned),
    /** Counts a decision that follows from rows of the person. It can be discarded. */
    add(decided: Decided): void {
      tallied.set(decided.identityId, count(decided))
    },
    /** Counts a decision that follows from no usable row. It cannot be discarded, as no later row can replace it. */
    addFinal(decided: Decided): void {
      count(decided)
    },
    takeBack(identityIds: readonly string[]): void {
      for (const identityId of identityIds) {
        tally.remove(tallied.get(identityId) ?? nothingTallied)
        tallied.delete(identityId)
        unapproved.takeBack(identityId)
      }
    },
    /** Counts people whose key seems to have changed. */
    countKeyChanges(identityIds: readonly string[]): void {
      for (const identityId of identityIds)
        tallied.set(identityId, tally.countKeyChange(tallied.get(identityId) ?? nothingTallied))
    },
    /** Whether one of these guards counts something of what was decided about the person. */
    isCountedBy: (identityId: string, guards: ReadonlySet<string>): boolean =>
      tally.isCountedBy(tallied.get(identityId) ?? nothingTallied, guards),
    /** Whether a departure of the person is decided that was left out of an approved part. */
    holdsDeparture: unapproved.holdsDeparture,
    /** Whether values of a person are changed that were left out of an approved part. */
    holdsValues: unapproved.holdsValues,
    /** The entry in the plan that follows from a decision. */
    planned: (
      entry: RosterEntry | undefined,
      decision: Decision,
      person: Pick<PlannedPerson, 'identityId' | 'origin'>,
    ): PlannedPerson[] => planned(entry, decision, person, steps),
  }
}

/** Adds the guard of pinned people to a decision that separates or deletes one of them. */
export function withPin(identityId: string, decision: Decision, pinned: ReadonlySet<string>): Decision {
  const { news } = decision
  const isTaken = news.kinds.includes('leavers') || news.kinds.includes('retractions')
  if (!isTaken || !pinned.has(identityId)) return decision
  return { ...decision, news: { ...news, kinds: [...news.kinds, 'pinned'] } }
}
