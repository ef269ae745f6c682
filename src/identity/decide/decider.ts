import { isEmployed } from '../employment.ts'
import { type KnownFaults, noKnownFaults } from '../guards/facts.ts'
import type { RosterEntry, Observation } from '../record.ts'
import { noAnswers, type KeyChangeCandidate } from '../key-change-candidates.ts'
import { noteContradictions } from './contradictions.ts'
import { type Decision, decide, decideInOrder, type PlanContext, type PersonInput } from './decide.ts'
import { type Decided, keepDecisions } from './decisions.ts'
import { mayDepart } from './departure.ts'
import { keepFaults } from './faults.ts'
import { findingsOf } from './findings.ts'
import { watchKeyChanges } from './key-changes.ts'
import type { PlannedPerson } from './planned.ts'
import { rankedRows } from './ranked-rows.ts'
import { type BookRules, openRowBook, type UnchangedPeople, type PersonObservations } from './row-book.ts'
import { departuresOf, rowsInOrder } from './rows-in-order.ts'
import { startSplitting } from './split.ts'
import { tally } from './tally.ts'

/** How many people are kept: the last one of them who is still employed when the next snapshot comes has to be in it. */
const endKeysKept = 50

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
  /** Pairs of keys that are two people, by `candidateName`. */
  readonly differentPeople?: ReadonlySet<string>
  /** People who are neither separated nor deleted without an approval that names them. */
  readonly pinned?: ReadonlySet<string>
  readonly outOfScope?: BookRules['outOfScope']
  /** The roster knows no one yet, so that no key of it can have been issued again. */
  readonly isFirst?: boolean
  /** The plan is about some people alone, so that what was said of them is kept with each of them. */
  readonly ofSome?: boolean
  readonly unchanged?: UnchangedPeople
  /** Called with each decision, also with one that is taken back later. */
  readonly onDecided?: ((decided: Decided) => void) | undefined
}

/** An event of which something has no effect on a person, because newer facts are known. */
export type OvertakenEvent = { readonly event: string; readonly identityId: string; readonly reason: string }

export type Decider = ReturnType<typeof createDecider>

/**
 * Decides about the people of one source while its rows stream by. Rows go into its book; pages of people come out, to be decided with the
 * roster's entries before more rows go in; people without a usable row follow at the end.
 */
export function createDecider(rules: DeciderRules) {
  const { context, inOrder, everybody, pinned = new Set(), onDecided } = rules
  const tallied = tally(rules.known ?? noKnownFaults)
  const faults = keepFaults(tallied, rules.rejectsKept)
  const severalRows = inOrder ? rowsInOrder : rankedRows
  const { unchanged: settled, outOfScope } = rules
  const book = openRowBook({ context, faults, severalRows, unchanged: settled, outOfScope })
  const contradictions = noteContradictions(context)
  const keyChanges = rules.isFirst ? null : watchKeyChanges(context, rules.differentPeople ?? noAnswers.differentPeople)
  // An accepted snapshot that speaks of everybody is kept once for the connection. Everything else is kept for each of its people.
  const isKeptOnce = !rules.ofSome && coversEverybody(context)
  const decisions = keepDecisions({ context, tally: tallied, pinned, everybody, isKeptOnce, onDecided })
  const overtaken: OvertakenEvent[] = []
  const outOfScopeLeavers: string[] = []

  function seenOf(identityId: string): PersonInput {
    return book.lacks(identityId) ? 'absent' : 'untouched'
  }

  function decideOne(
    { identityId, observations }: PersonObservations,
    entry: RosterEntry | undefined,
  ): PlannedPerson[] {
    const [first, last] = [observations[0], observations.at(-1)]
    if (!first || !last) return []
    const isRejected = book.isDeparture(identityId)
    if (isRejected && !mayDepart(entry, context.today)) return []
    if (isRejected) book.useDeparture(identityId)
    const decided = countingDeparture(entry, observations, {
      decision: decideInOrder(entry, observations, context),
      context,
    })
    const decision = decisions.withPin(identityId, decided)
    decisions.add({ identityId, entry, decision, input: isRejected ? 'untouched' : first })
    contradictions.note(identityId, isRejected ? null : last, entry, decision)
    keyChanges?.told(entry, decision)
    overtaken.push(...overtakenIn(identityId, decision))
    if (isRejected && book.isOutOfScope(identityId) && decision.news.kinds.includes('leavers'))
      outOfScopeLeavers.push(identityId)
    return decisions.planned(entry, decision, { identityId, origin: last.origin })
  }

  function decideAbsence(entry: RosterEntry): PlannedPerson[] {
    const { identityId } = entry
    const seen = seenOf(identityId)
    const decision = decisions.withPin(identityId, decide(entry, seen, context))
    // A leaving date whose day has come waits for no event, and is no reason to stop one: the run of the roster sends it.
    if (inOrder && decision.news.kinds.includes('leavers')) return []
    decisions.addFinal({ identityId, entry, decision, input: seen })
    keyChanges?.unseen(entry, decision, seen)
    return decisions.planned(entry, decision, { identityId, origin: null })
  }

  return {
    /** What the rows say, person by person. */
    book,
    ...findingsOf({ book, faults, contradictions, inOrder }),
    counts: tallied.counts,
    people: tallied.people,
    explain: tallied.explain,
    facts: tallied.facts,
    /** True: everybody of the roster without a usable row is decided about. False: unfinished people alone are. */
    decidesEverybody: context.mode === 'snapshot' || everybody,
    /** The keys of employed people who fall out of scope with this source, and would be separated. */
    outOfScopeLeavers: outOfScopeLeavers as readonly string[],
    overtaken: overtaken as readonly OvertakenEvent[],

    /** Counts people whose rows were left out of the reading. */
    addUnchanged(people: number): void {
      book.addUnchanged(people)
      tallied.addUnchanged(people)
    },

    /** Takes back decisions whose rows turned out not to count. Called before the people of the same page are decided about. */
    takeBack(identityIds: readonly string[]): void {
      decisions.takeBack(identityIds)
      for (const identityId of identityIds) keyChanges?.forget(identityId)
    },

    /** Decides about people of a page; `known` has the roster's entries of them. */
    decideObserved: (told: readonly PersonObservations[], known: ReadonlyMap<string, RosterEntry>): PlannedPerson[] =>
      told.flatMap((one) => decideOne(one, known.get(one.identityId))),

    /** Decides about people without a usable row: they are absent, or a row that cannot be used says that they are there. */
    decideUnobserved: (entries: Iterable<RosterEntry>): PlannedPerson[] => [...entries].flatMap(decideAbsence),

    /** Looks at people of a page who are not decided about, to find those who seem to have got a new key. */
    compareObserved(told: readonly PersonObservations[], known: ReadonlyMap<string, RosterEntry>): void {
      for (const { identityId, observations } of told) {
        const entry = known.get(identityId)
        keyChanges?.told(entry, decideInOrder(entry, observations, context))
      }
    },
    compareUnobserved(entries: Iterable<RosterEntry>): void {
      for (const entry of entries) {
        const seen = seenOf(entry.identityId)
        keyChanges?.unseen(entry, decide(entry, seen, context), seen)
      }
    },

    /** The people who seem to have got a new key. Complete once everybody is decided about. */
    keyChangeCandidates: (): KeyChangeCandidate[] => keyChanges?.candidates() ?? [],

    /** Counts the people of these pairs, so that they can be told from the others. */
    countKeyChanges(pairs: readonly KeyChangeCandidate[]): void {
      decisions.rekey(pairs.flatMap(({ former, identityId }) => [former, identityId]).filter(book.isUsable))
    },

    /** Everybody of whom rows in order told, and whether one of these guards counts something of what was decided. */
    observedPeople: (guards: ReadonlySet<string>): (PersonObservations & { readonly isCounted: boolean })[] =>
      book.observedInOrder().map((told) => ({ ...told, isCounted: decisions.isCountedBy(told.identityId, guards) })),

    ...startSplitting(decisions),

    /** The people among those named last whose rows cannot be used, so that only the roster can say whether they are employed. */
    lastUnusableKeys: (): string[] => book.lastNamed().filter(book.isUnusable),

    /** The last people in the source that the plan leaves employed; `known` has the roster's entries of `unusableEnd`. */
    lastEmployedKeys: (known: ReadonlyMap<string, RosterEntry>): string[] =>
      book
        .lastNamed()
        .filter((key) => !book.isUnusable(key) || isEmployed(known.get(key), context.today))
        .slice(-endKeysKept),
  }
}

/** A person who leaves and is taken back by one plan counts as a leaver too: the departure goes on while the retraction waits. */
function countingDeparture(
  entry: RosterEntry | undefined,
  observations: readonly Observation[],
  { decision, context }: { readonly decision: Decision; readonly context: PlanContext },
): Decision {
  if (decision.change?.kind !== 'retract') return decision
  const departures = departuresOf(observations)
  if (departures.length === 0) return decision
  const { kinds } = decideInOrder(entry, departures, context).news
  if (!kinds.includes('leavers')) return decision
  return { ...decision, news: { ...decision.news, kinds: [...decision.news.kinds, 'leavers'] } }
}

function overtakenIn(identityId: string, { overtaken = [] }: Decision): OvertakenEvent[] {
  return overtaken.flatMap(({ observation: { origin }, knownAsOf, countsInPart }) => {
    if (!('event' in origin)) return []
    const what = countsInPart ? 'what it says of employment' : 'it'
    const reason = `older than what is known of ${identityId}, which is of ${knownAsOf}: nothing follows from ${what}`
    return [{ event: origin.event, identityId, reason }]
  })
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
export function coversEverybody(context: Pick<PlanContext, 'mode' | 'asOf' | 'acceptedAsOf' | 'absence'>): boolean {
  return context.mode === 'snapshot' && context.absence !== 'ignore' && !isStale(context)
}
