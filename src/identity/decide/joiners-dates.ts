import type { SameDate } from '../guards/facts.ts'
import type { Decision } from './decide.ts'

/** Counts the dates of joiners. A joiner whose row turns out not to apply stays counted. */
export function joinersDates() {
  const starts = new Map<string, number>()
  const leavings = new Map<string, number>()
  return {
    add({ entry, news: { kinds } }: Decision): void {
      const { startedAt, separatedAt } = entry?.desired ?? {}
      if (typeof startedAt === 'string') count(starts, startedAt)
      const isStated = kinds.includes('leftJoiners') && entry?.inferred === false
      if (isStated && typeof separatedAt === 'string') count(leavings, separatedAt)
    },
    facts: () => ({ sameStart: mostFrequent(starts), sameLeaving: mostFrequent(leavings) }),
  }
}

function count(dates: Map<string, number>, instant: string): void {
  const date = instant.slice(0, 'yyyy-mm-dd'.length)
  dates.set(date, (dates.get(date) ?? 0) + 1)
}

function mostFrequent(dates: ReadonlyMap<string, number>): SameDate {
  let most: SameDate = noDate
  let base = 0
  for (const [date, people] of dates) {
    base += people
    if (people > most.people) most = { date, people, base }
  }
  return { ...most, base }
}

const noDate: SameDate = { date: null, people: 0, base: 0 }
