import { type ChangeKind, changeKinds, type Verdict } from '../change.ts'
import { notKnown, ofOtherPeople } from './movements.ts'

/**
 * The kinds of change that a guard puts in doubt where it fails. A guard that is not named here doubts all of them: the size of an export,
 * its keys, columns, rows and age say that it may be another one than it should be.
 */
const doubted: Readonly<Record<string, readonly ChangeKind[]>> = {
  // People who leave and people who join are the same ones where HR has issued keys again.
  leavers: ['leave', 'join'],
  joiners: ['leave', 'join'],
  absentUnderHold: ['leave'],
  // What says when people leave says as well that they do.
  returns: ['leave', 'return', 'correct'],
  redates: ['leave', 'return', 'correct'],
  // A joiner has all values from the columns in doubt. A departure can be sent without them.
  contractorFlips: ['join', 'update'],
  emailChanges: ['join', 'update'],
  fieldChanges: ['join', 'update'],
  blanks: ['join', 'update'],
  retractions: ['retract'],
}

/** The guards that doubt values of people, and nothing else. */
const ofValues: ReadonlySet<string> = new Set(['contractorFlips', 'emailChanges', 'fieldChanges', 'blanks'])

/** Says with each verdict that failed which kinds of change it puts in doubt. */
export function withTaints(verdicts: readonly Verdict[]): Verdict[] {
  // One column may have been sorted by itself. Two of them say that it was the column of the keys. What is not known may be that.
  const mayBeOfOthers = (hint: string) => hint.includes(ofOtherPeople) || hint.includes(notKnown)
  const ofOthers = verdicts.flatMap(({ hints = [] }) => hints.filter(mayBeOfOthers))
  const keysDoubted = ofOthers.length > 1
  return verdicts.map((verdict) => {
    if (verdict.ok) return verdict
    const taints = keysDoubted && ofValues.has(verdict.name) ? changeKinds : (doubted[verdict.name] ?? changeKinds)
    return { ...verdict, taints }
  })
}

/** Of these kinds of change, those that no verdict puts in doubt. */
export function untainted(verdicts: readonly Verdict[], kinds: readonly ChangeKind[]): ChangeKind[] {
  const tainted = new Set(verdicts.flatMap(({ ok, taints = changeKinds }) => (ok ? [] : taints)))
  return kinds.filter((kind) => !tainted.has(kind))
}

/** Whether a verdict doubts values of people, so that what goes on goes without them. */
export function doubtsValues(verdicts: readonly Verdict[]): boolean {
  return verdicts.some(({ ok, name }) => !ok && ofValues.has(name))
}
