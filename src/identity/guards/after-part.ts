import type { ChangeKind, Verdict } from '../change.ts'
import type { KeyChangeCandidate } from '../key-change-candidates.ts'
import type { FieldName } from '../record.ts'
import { type PeopleCounts, peopleLimits } from './facts.ts'
import { leftUnapproved, rekeyed } from './judge.ts'
import { limitDefinitions } from './limits.ts'
import { namedAll } from './movements.ts'

/** What stays of a plan after a part of it was approved. */
type Remainder = {
  /** How many people of the part each limit counts. */
  readonly part: PeopleCounts
  /** How many people each limit counts of the rest. */
  readonly rest: PeopleCounts
  /** How many people change in the rest, by kind. */
  readonly kinds: Readonly<Partial<Record<ChangeKind, number>>>
  /** Those of the people named by the verdicts who are in the rest. */
  readonly people: ReadonlySet<string>
  readonly keyChangeCandidates: readonly KeyChangeCandidate[]
}

/**
 * The verdicts on a plan after a part of it was approved: guards that count people count those of the rest, and those about the export as a
 * whole stand. The rest is held however small it is, because whoever approved the part left it out.
 */
export function verdictsAfterPart(verdicts: readonly Verdict[], remainder: Remainder): Verdict[] {
  const judged = verdicts
    .filter(({ name }) => name !== 'leftUnapproved')
    .map((verdict) => withoutOthers(afterPart(verdict, remainder), remainder))
  return [...judged, ...leftUnapproved({ leftUnapproved: remainder.kinds })]
}

function afterPart(verdict: Verdict, remainder: Remainder): Verdict {
  const { name } = verdict
  const limit = peopleLimits.find((one) => one === name)
  if (limit !== undefined) return recount(verdict, verdict.actual - remainder.part[limit])
  if (name === 'fieldChanges' || name === 'blanks') return fieldsOfRest(verdict, name, remainder)
  if (verdict.ok) return verdict
  if (name === 'rekeyed') return rekeyed(remainder)
  if (name === 'retractions') return recount(verdict, remainder.kinds.retract ?? 0)
  if (namedAll.has(name))
    return recount(verdict, (verdict.people ?? []).filter((key) => remainder.people.has(key)).length)
  return verdict
}

/** The reason of a verdict begins with what it counts. */
const leadingCount = /^\d+/

function recount(verdict: Verdict, count: number): Verdict {
  const { name, limit, reason } = verdict
  const actual = Math.max(0, count)
  if (actual === verdict.actual) return verdict
  if (verdict.ok || actual <= (limit ?? 0)) return { name, actual, limit, ok: true }
  const { hints: _, ...rest } = verdict
  return { ...rest, actual, ...(reason !== undefined && { reason: reason.replace(leadingCount, String(actual)) }) }
}

/** Fields are counted one by one, so the number of the verdict may be that of another field now. */
function fieldsOfRest(verdict: Verdict, name: 'fieldChanges' | 'blanks', { part, rest }: Remainder): Verdict {
  const { limit } = verdict
  const fact = name === 'blanks' ? 'blanked' : 'changed'
  const isTouched = Object.values(part[fact]).some((people) => people > 0)
  if (!isTouched) return verdict
  const counts = Object.entries(rest[fact]).toSorted(([, a], [, b]) => b - a)
  const actual = counts[0]?.[1] ?? 0
  const over = counts.filter(([field, people]) => verdict.fields?.includes(field as FieldName) && people > (limit ?? 0))
  if (verdict.ok || over.length === 0) return { name, actual, limit, ok: true }
  const reasons = over.map(
    ([field, people]) => `${people} ${limitDefinitions[name].verdictText} ${field} (the limit is ${limit})`,
  )
  const { hints: _, ...other } = verdict
  return { ...other, actual, reason: reasons.join(', '), fields: over.map(([field]) => field as FieldName) }
}

/** The verdict, whose named people are only those in the rest. */
function withoutOthers({ people, ...verdict }: Verdict, remainder: Remainder): Verdict {
  const named = people?.filter((key) => remainder.people.has(key)) ?? []
  return { ...verdict, ...(named.length > 0 && { people: named }) }
}
