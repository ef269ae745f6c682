import { isEmployed } from '../employment.ts'
import { type KnownFaults, noKnownFaults } from '../guards/facts.ts'
import { type KeyChangeCandidate, noAnswers } from '../key-change-candidates.ts'
import type { Observation, RosterEntry } from '../record.ts'
import { collectContradictions } from './contradiction.ts'
import { type Decision, decide, decideInOrder, type PersonInput, type PlanContext } from './decide.ts'
import { type Decided, keepDecisions } from './decisions.ts'
import { departureOf } from './departure.ts'
import { keepFaults } from './faults.ts'
import { findingsOf } from './findings.ts'
import { findKeyChanges, type KeyChanges } from './key-changes.ts'
import type { PlannedPerson } from './planned.ts'
import { type OutOfScope, openRowBook, type PersonObservations, type UnchangedPeople } from './row-book.ts'
import type { RowModel } from './row-models.ts'
import { departuresOf } from './rows-in-order.ts'
import { type Sending, sendDifferences } from './sending.ts'
import { startSplitting } from './split.ts'
import { type Storing, storingFor } from './storing.ts'
import { tally } from './tally.ts'
import { type StatedOtherwise, type UnapprovedPeople, watchUnapproved } from './unapproved.ts'

/** How many of the last employed people we remember. If the last one still employed is missing next time, the file was cut. */
const maxLastEmployedKeys = 50

/** The context of a plan and the steps that it consists of. */
export type DeciderRules = {
  readonly context: PlanContext
  /** Which rows of a person apply: `exportRows` or `eventRows`. */
  readonly rows: RowModel
  /** Which changes the plan sends. Default: differences. */
  readonly sending?: Sending
  /** What the plan stores of each decision. Default: derived from the context. */
  readonly storing?: Storing
  /** Finds people whose key changed; `noKeyChanges` if nobody of the roster is employed. */
  readonly keyChanges?: KeyChanges
  /** Maximum number of rejects kept one by one, besides the first of each event; all of them are counted. */
  readonly rejectsKept: number
  /** Faults of the accepted exports. */
  readonly known?: KnownFaults
  /** People who are separated or deleted only by an approval that names them. */
  readonly pinned?: ReadonlySet<string>
  /** People who were left out when a part of a plan was approved, and of whom nobody has approved a change since. */
  readonly unapproved?: UnapprovedPeople
  readonly outOfScope?: OutOfScope
  /** People who are known to be unchanged. No row names them. */
  readonly unchanged?: UnchangedPeople
  /** Called with each decision, also with one that is discarded later. */
  readonly onDecided?: (decided: Decided) => void
}

/** An event that has no effect on a person, or only in part, because newer facts are known. */
export type OvertakenEvent = { readonly event: string; readonly identityId: string; readonly reason: string }

/** Decides about the people of one source; see `createDecider`. */
export type Decider = ReturnType<typeof createDecider>

type Parts = ReturnType<typeof openParts>
type Roster = ReadonlyMap<string, RosterEntry>

/**
 * Decides about the people of one source while its rows stream by. Rows go into its book, which returns pages of people. Each page is
 * decided with the roster's entries before more rows are added. People without a usable row follow at the end.
 */
export function createDecider(rules: DeciderRules) {
  const parts = openParts(rules)
  const { book, tallied, sending, context } = parts
  return {
    /** What the rows state, person by person. */
    book,
    ...findingsOf(parts),
    counts: tallied.counts,
    people: tallied.people,
    explain: tallied.explain,
    facts: tallied.facts,
    /** Whether everybody of the roster without a usable row is decided about, or only people with something unfinished. */
    decidesEverybody: context.mode === 'snapshot' || sending.includesEverybody,

    /** Counts people whose unchanged rows were not parsed. */
    addUnchanged(people: number): void {
      book.addUnchanged(people)
      tallied.addUnchanged(people)
    },

    ...decidingSteps(parts),
    ...keyChangeSteps(parts),
    ...startSplitting(parts.decisions),
    ...lastNamedSteps(parts),

    /** Whether a departure of the person was left out when a part of a plan was approved. */
    mayHaveLeft: parts.unapproved.mayHaveLeft,

    /** The changes that were left out of an approved part and that the plan makes again. Complete once everybody is decided about. */
    heldAgain: parts.unapproved.heldAgain,

    /** The changes that were left out, of people whom the source states without them. Complete once everybody is decided about. */
    statedOtherwise: (): StatedOtherwise[] => parts.unapproved.statedOtherwise(book.lacks),
  }
}

/** What the steps of a decider share. */
function openParts(rules: DeciderRules) {
  const { context, rows, sending = sendDifferences, storing = storingFor(context), pinned = new Set() } = rules
  const tallied = tally(rules.known ?? noKnownFaults)
  const faults = keepFaults(tallied, rules.rejectsKept)
  const { unchanged, outOfScope, onDecided } = rules
  const unapproved = watchUnapproved(rules.unapproved ?? new Map(), context)
  return {
    context,
    rows,
    sending,
    tallied,
    faults,
    book: openRowBook({ context, faults, severalRows: rows.severalRows, unchanged, outOfScope }),
    contradictions: collectContradictions(context),
    keyChanges: rules.keyChanges ?? findKeyChanges(context, noAnswers.differentPeople),
    unapproved,
    decisions: keepDecisions({ context, tally: tallied, pinned, unapproved, sending, storing, onDecided }),
  }
}

function decidingSteps(parts: Parts) {
  const { context, rows, book, contradictions, keyChanges, unapproved, decisions } = parts
  const overtaken: OvertakenEvent[] = []
  const outOfScopeLeavers: string[] = []

  function decideObserved({ identityId, observations }: PersonObservations, entry: RosterEntry | undefined) {
    const [first, last] = [observations[0], observations.at(-1)]
    if (!first || !last) return []
    if (book.isDeparture(identityId)) return decideDeparture(first, entry)
    const decision = decisions.withPin(identityId, countingDeparture(entry, observations, context))
    decisions.add({ identityId, entry, decision, input: first })
    unapproved.add(identityId, { entry, decision, rows: observations })
    contradictions.add(identityId, last, entry, decision)
    return planned(decision, entry, last)
  }

  /** Decides about a person whose departure is stated only by unusable rows or rows out of scope. */
  function decideDeparture(stated: Observation, entry: RosterEntry | undefined) {
    const observation = departureOf(entry, stated, context.today)
    if (observation === null) return []
    const { identityId } = observation
    book.useDeparture(identityId)
    const decision = decisions.withPin(identityId, decide(entry, observation, context))
    decisions.add({ identityId, entry, decision, input: 'untouched' })
    unapproved.add(identityId, { entry, decision, rows: 'untouched' })
    contradictions.add(identityId, null, entry, decision)
    const isLeaver = unapproved.counted(identityId, decision, entry).news.kinds.includes('leavers')
    if (isLeaver && book.isOutOfScope(identityId)) outOfScopeLeavers.push(identityId)
    return planned(decision, entry, observation)
  }

  function planned(decision: Decision, entry: RosterEntry | undefined, { identityId, origin }: Observation) {
    keyChanges.addObserved(entry, decision)
    overtaken.push(...overtakenEvents(identityId, decision))
    return decisions.planned(entry, decision, { identityId, origin })
  }

  function decideWithoutRow(entry: RosterEntry): PlannedPerson[] {
    const { identityId } = entry
    const input = inputWithoutRow(parts, identityId)
    const decision = decisions.withPin(identityId, decide(entry, input, context))
    if (!rows.findsLeaversWithoutRow && decision.news.kinds.includes('leavers')) return []
    decisions.addFinal({ identityId, entry, decision, input })
    unapproved.add(identityId, { entry, decision, rows: input })
    keyChanges.addUnobserved(entry, decision, input)
    return decisions.planned(entry, decision, { identityId, origin: null })
  }

  return {
    /** The keys of employed people who fall out of scope with this source, and would be separated. */
    outOfScopeLeavers: outOfScopeLeavers as readonly string[],
    /** The events that have no effect, or only in part. */
    overtaken: overtaken as readonly OvertakenEvent[],

    /** Takes back decisions whose rows turned out not to apply. Called before the people of the same page are decided about. */
    takeBack(identityIds: readonly string[]): void {
      decisions.takeBack(identityIds)
      for (const identityId of identityIds) keyChanges.forget(identityId)
    },

    /** Decides about people of a page; `known` has the roster's entries of them. */
    decideObserved: (people: readonly PersonObservations[], known: Roster): PlannedPerson[] =>
      people.flatMap((person) => decideObserved(person, known.get(person.identityId))),

    /** Decides about people without a usable row: they are absent, or only unusable rows name them. */
    decideUnobserved: (entries: Iterable<RosterEntry>): PlannedPerson[] => [...entries].flatMap(decideWithoutRow),

    /** Everybody with rows in order, and whether one of these guards counts something of the decision. */
    observedPeople: (guards: ReadonlySet<string>): (PersonObservations & { readonly isCounted: boolean })[] =>
      book
        .observedInOrder()
        .map((person) => ({ ...person, isCounted: decisions.isCountedBy(person.identityId, guards) })),
  }
}

function keyChangeSteps(parts: Parts) {
  const { context, book, keyChanges, decisions } = parts
  return {
    /** Looks for key changes among people of a page who are not decided here. */
    compareObserved(people: readonly PersonObservations[], known: Roster): void {
      for (const { identityId, observations } of people) {
        const entry = known.get(identityId)
        keyChanges.addObserved(entry, decideInOrder(entry, observations, context))
      }
    },

    /** Looks for key changes among people without a usable row who are not decided here. */
    compareUnobserved(entries: Iterable<RosterEntry>): void {
      for (const entry of entries) {
        const input = inputWithoutRow(parts, entry.identityId)
        keyChanges.addUnobserved(entry, decide(entry, input, context), input)
      }
    },

    /** The people whose key seems to have changed. Complete once everybody is decided about. */
    keyChangeCandidates: (): KeyChangeCandidate[] => keyChanges.candidates(),

    /** Counts the people of these candidates separately. */
    countKeyChanges(candidates: readonly KeyChangeCandidate[]): void {
      decisions.countKeyChanges(
        candidates.flatMap(({ former, identityId }) => [former, identityId]).filter(book.isUsable),
      )
    },
  }
}

function lastNamedSteps({ book, context }: Parts) {
  return {
    /** The last named people whose rows are unusable: only the roster knows whether they are employed. */
    lastUnusableKeys: (): string[] => book.lastNamed().filter(book.isUnusable),

    /** The last people in the source whom the plan leaves employed; `known` has the roster's entries of `lastUnusableKeys`. */
    lastEmployedKeys: (known: Roster): string[] =>
      book
        .lastNamed()
        .filter((key) => !book.isUnusable(key) || isEmployed(known.get(key), context.today))
        .slice(-maxLastEmployedKeys),
  }
}

function inputWithoutRow({ book }: Parts, identityId: string): Extract<PersonInput, string> {
  return book.lacks(identityId) ? 'absent' : 'untouched'
}

/** Decides in order. A person who leaves and is retracted by one plan counts as a leaver too: the departure is sent while the retraction waits. */
function countingDeparture(
  entry: RosterEntry | undefined,
  observations: readonly Observation[],
  context: PlanContext,
): Decision {
  const decision = decideInOrder(entry, observations, context)
  if (decision.change?.kind !== 'retract') return decision
  const departures = departuresOf(observations)
  if (departures.length === 0) return decision
  const { kinds } = decideInOrder(entry, departures, context).news
  if (!kinds.includes('leavers')) return decision
  return { ...decision, news: { ...decision.news, kinds: [...decision.news.kinds, 'leavers'] } }
}

function overtakenEvents(identityId: string, { overtaken = [] }: Decision): OvertakenEvent[] {
  return overtaken.flatMap(({ observation: { origin }, knownAsOf, countsInPart }) => {
    if (!('event' in origin)) return []
    const subject = countsInPart ? 'what it says of employment' : 'it'
    const reason = `older than what is known of ${identityId}, which is of ${knownAsOf}: nothing follows from ${subject}`
    return [{ event: origin.event, identityId, reason }]
  })
}
