import type { Verdict } from '../change.ts'
import type { Decision } from '../decide.ts'
import type { GuardFacts, SameDate } from './facts.ts'
import { limited } from './limited.ts'
import { type Guards, limitRows } from './limits.ts'

/** What is odd about a plan of which nothing was known before. There is nothing to compare it with but itself. */
export function firstPlan(facts: GuardFacts, limits: Guards): Verdict[] {
  if (!facts.isFirst) return []
  const { joiners, leftJoiners, unnamedJoiners, sameStart, sameLeaving } = facts
  return [
    limited('leftJoiners', limits.leftJoiners, {
      actual: leftJoiners,
      base: joiners,
      of: limitRows.leftJoiners.said,
    }),
    limited('unnamedJoiners', limits.unnamedJoiners, {
      actual: unnamedJoiners,
      base: joiners - leftJoiners,
      of: limitRows.unnamedJoiners.said,
    }),
    onOneDate('sameStart', sameStart, limits),
    onOneDate('sameLeaving', sameLeaving, limits),
  ].map((verdict) => (verdict.ok ? verdict : { ...verdict, hints: [causes[verdict.name] ?? ''] }))
}

const causes: Readonly<Record<string, string>> = {
  leftJoiners: 'HR may write a date for people who have not left (blankWhen), or a status may mean the opposite',
  unnamedJoiners: 'the platform knows people by their address and name: a column may be blank, or be another one',
  sameStart: 'the date may stand for none (blankWhen), or the column may hold a default or be another one',
  sameLeaving: 'the date may stand for none (blankWhen), or the column may hold a default or be another one',
}

function onOneDate(name: 'sameStart' | 'sameLeaving', { date, people, of: base }: SameDate, limits: Guards): Verdict {
  return limited(name, limits[name], { actual: people, base, of: `${limitRows[name].said} ${date}` })
}

/** Counts the dates of joiners. A joiner whose row turns out not to count stays counted. */
export function joinersDates() {
  const starts = new Map<string, number>()
  const leavings = new Map<string, number>()
  return {
    add({ entry, news: { kinds } }: Decision): void {
      const { startedAt, separatedAt } = entry?.wanted ?? {}
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
  let of = 0
  for (const [date, people] of dates) {
    of += people
    if (people > most.people) most = { date, people, of }
  }
  return { ...most, of }
}

const noDate: SameDate = { date: null, people: 0, of: 0 }
