import type { Verdict } from '../change.ts'
import { namedAll } from './movements.ts'

/**
 * Whether the verdicts `now` find nothing that the `approved` ones did not. Both plans make the same changes, so comparing counts is enough
 * for guards that count changes. A verdict without a limit is compared by its text, changed keys pair by pair, and one that names everybody
 * person by person, because another configuration may pin other people. The store compares unreadable rows one by one.
 */
export function areCovered(now: readonly Verdict[], approved: readonly Verdict[]): boolean {
  const failedBefore = new Map(approved.filter(({ ok }) => !ok).map((verdict) => [verdict.name, verdict]))
  return now.every((verdict) => {
    // The approval of the same changes is one of these people too.
    if (verdict.ok || verdict.name === 'leftUnapproved') return true
    const before = failedBefore.get(verdict.name)
    if (before === undefined || verdict.actual > before.actual) return false
    return (
      (verdict.limit !== null || verdict.reason === before.reason) &&
      (verdict.name !== 'rekeyed' || areSame(verdict, before)) &&
      (!namedAll.has(verdict.name) || areAmong(verdict, before))
    )
  })
}

function areAmong({ people = [] }: Verdict, { people: before = [] }: Verdict): boolean {
  return people.every((identityId) => before.includes(identityId))
}

function areSame({ hints = [] }: Verdict, { hints: before = [] }: Verdict): boolean {
  return hints.length === before.length && hints.every((hint, at) => hint === before[at])
}

const ofFaults: ReadonlySet<string> = new Set(['rejectedRows', 'unlistedValues', 'unreadableKeys'])

/** Whether a guard judges unreadable rows, for which comparing counts is not enough. */
export function judgesFaults(guard: string): boolean {
  return ofFaults.has(guard)
}
