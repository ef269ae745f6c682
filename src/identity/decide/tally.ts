import { changeKinds, type PlanCounts, type Verdict } from '../change.ts'
import {
  type GuardFacts,
  type KnownFaults,
  type News,
  noKnownFaults,
  type PeopleCounts,
  peopleLimits,
  type UnlistedCount,
  valueName,
} from '../guards/facts.ts'
import { isOtherField } from '../guards/limits.ts'
import { movements } from '../guards/movements.ts'
import type { FieldName, Reject } from '../record.ts'
import type { Decision, Seen } from './decide.ts'
import { joinersDates } from './joiners-dates.ts'

/**
 * What one decision added to a tally, so that it can be taken out again; 0 for nothing. A number, since there is one for each person: the
 * bits of its kinds and news, and above them the number of its moves among the different ones that the tally has seen.
 */
export type Tallied = number

/** What a tally knows; the rest of the facts is known elsewhere. */
type Known = Pick<
  GuardFacts,
  | ((typeof peopleLimits)[number] | 'changed' | 'blanked' | 'absent' | 'retractions')
  | ('pinned' | 'reusedKeys' | 'leftJoiners' | 'unnamedJoiners' | 'sameStart' | 'sameLeaving')
  | ('rejected' | 'incomplete' | 'knownFaulty' | 'unlisted' | 'unreadableKeys' | 'knownUnreadableKeys')
>

/** Counts a plan while its decisions stream by. */
export type Tally = {
  add(decision: Decision, seen: Seen): Tallied
  /** Takes a decision out again whose row turned out not to count. */
  remove(tallied: Tallied): void
  /** Counts so many people of whom rows say what is known and confirmed. */
  addUnchanged(people: number): void
  /** Counts a person among those who seem to have got a new key, which is known only after all decisions. */
  rekey(tallied: Tallied): Tallied
  reject(reject: Reject): void
  /** Counts a row by the cells of it that could not be read. */
  incomplete(cells: readonly Reject[]): void
  /** Counts a deletion that a person asked for. */
  retract(of: { readonly identityId: string; readonly isPinned: boolean }): void
  /** Whether a decision added something that one of these guards counts. */
  isCountedBy(tallied: Tallied, guards: ReadonlySet<string>): boolean
  counts(): PlanCounts
  /** The verdict, and where it failed, people that it concerns and how their values move. What was taken out again may be among them. */
  explain(verdict: Verdict): Verdict
  /** What the limits of people count. */
  people(): PeopleCounts
  facts(about: Omit<GuardFacts, keyof Known>): GuardFacts
}

/** Counts a plan. What is known to be wrong counts as new where more rows have it than before. */
export function tally(known: KnownFaults = noKnownFaults): Tally {
  const counts = {
    join: 0,
    update: 0,
    leave: 0,
    return: 0,
    correct: 0,
    retract: 0,
    unchanged: 0,
    rejected: 0,
    incomplete: 0,
  }
  const moved = movements()
  const unlisted = new Map<string, UnlistedCount>()
  const unlistedKnown = new Set<string>()
  const met = new Map<string, number>()
  const dates = joinersDates()
  const news = Object.fromEntries(countedNews.map((name) => [name, 0])) as Record<(typeof countedNews)[number], number>
  const changed: Record<string, number> = {}
  const blanked: Record<string, number> = {}
  const moves: Moves[] = [noMoves]
  const numbers = new Map<string, number>()
  const faults = { knownFaulty: 0, unreadableKeys: 0, knownUnreadableKeys: 0 }

  function count(tallied: Tallied, step: 1 | -1): void {
    for (const kind of countedKinds) if (tallied & bits[kind]) counts[kind] += step
    if (tallied < firstOfNews) return
    for (const fact of countedNews) if (tallied & bits[fact]) news[fact] += step
    const moves = movesOf(tallied)
    for (const field of moves.changed) countField(changed, field, step)
    for (const field of moves.blanked) countField(blanked, field, step)
  }

  function movesOf(tallied: Tallied): Moves {
    return moves[Math.floor(tallied / firstOfMoves)] ?? noMoves
  }

  /** The number of these moves: few plans have many different ones. */
  function numberOf(said: News['moves']): number {
    const counted = said.filter(({ field }) => isOtherField(field))
    if (counted.length === 0) return 0
    const name = counted.map(({ field, to }) => `${to === null ? '-' : '+'}${field}`).join()
    let number = numbers.get(name)
    if (number === undefined) {
      const { changed = [], blanked = [] } = Object.groupBy(counted, ({ to }) => (to === null ? 'blanked' : 'changed'))
      const fields = (some: News['moves']) => some.map(({ field }) => field)
      number = moves.push({ changed: fields(changed), blanked: fields(blanked) }) - 1
      numbers.set(name, number)
    }
    return number
  }

  /** Whether an accepted export held this fault, as often as it was met until now. */
  function isKnown({ fingerprint, unlisted: value }: Reject): boolean {
    const before = known.rejects.get(fingerprint) ?? 0
    if (before > 0) {
      const times = (met.get(fingerprint) ?? 0) + 1
      met.set(fingerprint, times)
      if (times <= before) return true
    }
    return value !== undefined && known.values.has(valueName(value))
  }

  function noteUnlisted({ unlisted: found, line }: Reject): void {
    if (found === undefined) return
    const name = valueName(found)
    const counted = unlisted.get(name)
    if (known.values.has(name)) unlistedKnown.add(name)
    else if (counted) counted.rows += 1
    else if (unlisted.size < unlistedCounted) unlisted.set(name, { ...found, rows: 1, line })
  }

  function isCounted(tallied: Tallied, guard: string): boolean {
    if (guard === 'fieldChanges') return movesOf(tallied).changed.length > 0
    if (guard === 'blanks') return movesOf(tallied).blanked.length > 0
    return countedNews.some((name) => name === guard && (tallied & bits[name]) !== 0)
  }

  function people(): PeopleCounts {
    const limits = Object.fromEntries(peopleLimits.map((name) => [name, news[name]])) as Pick<
      PeopleCounts,
      (typeof peopleLimits)[number]
    >
    const { leftJoiners } = news
    return { ...limits, ...(leftJoiners > 0 && { leftJoiners }), changed: { ...changed }, blanked: { ...blanked } }
  }

  return {
    add(decision, seen) {
      const { change, absent, news: said } = decision
      let tallied: Tallied = 0
      if (change !== null) tallied |= bits[change.kind]
      else if (typeof seen !== 'string') tallied |= bits.unchanged
      if (absent) tallied |= bits.absent
      for (const kind of said.kinds) tallied |= bits[kind]
      tallied += numberOf(said.moves) * firstOfMoves
      count(tallied, 1)
      if (tallied >= firstOfNews) moved.add(said)
      if (said.kinds.includes('joiners')) dates.add(decision)
      return tallied
    },
    remove: (tallied) => count(tallied, -1),
    addUnchanged(people) {
      counts.unchanged += people
    },
    rekey(tallied) {
      if (tallied & bits.rekeyed) return tallied
      count(bits.rekeyed, 1)
      return tallied + bits.rekeyed
    },
    reject(reject) {
      counts.rejected++
      const knownOne = isKnown(reject) ? 1 : 0
      faults.knownFaulty += knownOne
      if (reject.identityId === null) {
        faults.unreadableKeys++
        faults.knownUnreadableKeys += knownOne
      }
      noteUnlisted(reject)
    },
    incomplete(cells) {
      counts.incomplete++
      // Each of them is met, so that none is passed over.
      if (cells.filter(isKnown).length === cells.length) faults.knownFaulty++
      for (const cell of cells) noteUnlisted(cell)
    },
    retract({ identityId, isPinned }) {
      counts.retract++
      news.retractions++
      if (isPinned) news.pinned++
      moved.add({ identityId, kinds: isPinned ? ['retractions', 'pinned'] : ['retractions'], moves: [] })
    },
    isCountedBy: (tallied, guards) => guards.values().some((name) => isCounted(tallied, name)),
    counts: () => ({ ...counts }),
    explain: moved.explain,
    people,
    facts: (about) => ({
      ...about,
      ...people(),
      ...faults,
      absent: news.absent,
      retractions: news.retractions,
      pinned: news.pinned,
      reusedKeys: news.reusedKeys,
      leftJoiners: news.leftJoiners,
      unnamedJoiners: news.unnamedJoiners,
      ...dates.facts(),
      rejected: counts.rejected,
      incomplete: counts.incomplete,
      unlisted: {
        values: [...unlisted.values()].slice(0, unlistedShown),
        count: unlisted.size,
        known: unlistedKnown.size,
      },
    }),
  }
}

function countField(counts: Record<string, number>, field: FieldName, step: 1 | -1): void {
  const count = (counts[field] ?? 0) + step
  if (count === 0) delete counts[field]
  else counts[field] = count
}

/** The fields in which a person gets another value, or loses one. */
type Moves = { readonly changed: readonly FieldName[]; readonly blanked: readonly FieldName[] }
const noMoves: Moves = { changed: [], blanked: [] }

/** So many values that no list holds are named; a column that was mapped by mistake may hold a different one in each row. */
const unlistedShown = 10
const unlistedCounted = 1000

// One bit each, in a small integer: there is one of these numbers for each person.
const countedKinds = [...changeKinds, 'unchanged'] as const
const countedNews = [
  ...peopleLimits,
  ...(['leftJoiners', 'unnamedJoiners', 'absent', 'retractions', 'pinned', 'rekeyed', 'reusedKeys'] as const),
] as const
const firstOfNews = 1 << countedKinds.length
const firstOfMoves = 1 << (countedKinds.length + countedNews.length)
const bits = Object.fromEntries([...countedKinds, ...countedNews].map((name, at) => [name, 1 << at])) as Readonly<
  Record<(typeof countedKinds)[number] | (typeof countedNews)[number], number>
>

/** The guards that count people. */
export const guardsOfPeople: ReadonlySet<string> = new Set([...countedNews, 'fieldChanges', 'blanks'])
