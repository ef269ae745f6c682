import type { Verdict } from '../change.ts'
import { namedAll } from './movements.ts'

type JudgedPlan = {
  readonly feed: string
  readonly mode: 'snapshot' | 'delta' | null
  readonly guards: readonly Verdict[]
}

/**
 * Whom other guards name in a plan that a guard stops for people who were left out when a part of an earlier plan was approved. If all of them
 * are such people, they alone are held and all others go on. Null: the plan is held as a whole, or by no guard.
 */
export function namedBesidesLeftOut({ feed, mode, guards }: JudgedPlan): ReadonlySet<string> | null {
  const failed = guards.filter(({ ok }) => !ok)
  // What an export with only changes states is not stated again.
  const isRepeated = feed === 'roster' || (feed === 'source' && mode === 'snapshot')
  if (!isRepeated || failed.length === 0) return null
  const others = failed.filter(({ name }) => name !== 'leftUnapproved')
  if (others.some(({ name }) => !namedAll.has(name))) return null
  return new Set(others.flatMap(({ people = [] }) => people))
}
