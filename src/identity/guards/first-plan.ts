import type { Verdict } from '../change.ts'
import { checkLimit } from './check-limit.ts'
import type { GuardFacts, SameDate } from './facts.ts'
import { type Guards, limitDefinitions } from './limits.ts'

/** The guards of the first plan of a connection, which can only be compared with itself. */
export function firstPlan(facts: GuardFacts, limits: Guards): Verdict[] {
  if (!facts.isFirst) return []
  const { joiners, leftJoiners, unnamedJoiners, sameStart, sameLeaving } = facts
  return [
    checkLimit('leftJoiners', limits.leftJoiners, {
      actual: leftJoiners,
      base: joiners,
      text: limitDefinitions.leftJoiners.verdictText,
    }),
    checkLimit('unnamedJoiners', limits.unnamedJoiners, {
      actual: unnamedJoiners,
      base: joiners - leftJoiners,
      text: limitDefinitions.unnamedJoiners.verdictText,
    }),
    onOneDate('sameStart', sameStart, limits),
    onOneDate('sameLeaving', sameLeaving, limits),
  ].map((verdict) => (verdict.ok ? verdict : { ...verdict, hints: [causes[verdict.name] ?? ''] }))
}

const causes: Readonly<Record<string, string>> = {
  leftJoiners: 'HR may write a date for people who have not left (blankWhen), or a status may mean the opposite',
  unnamedJoiners: 'the platform knows people by their address and name: a column may be blank, or be another one',
  sameStart: 'the date may be a placeholder (see blankWhen) or a default value, or this is the wrong column',
  sameLeaving: 'the date may be a placeholder (see blankWhen) or a default value, or this is the wrong column',
}

function onOneDate(name: 'sameStart' | 'sameLeaving', { date, people, base }: SameDate, limits: Guards): Verdict {
  return checkLimit(name, limits[name], { actual: people, base, text: `${limitDefinitions[name].verdictText} ${date}` })
}
