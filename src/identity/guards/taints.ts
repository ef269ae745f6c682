import { type ChangeKind, changeKinds, type Verdict } from '../change.ts'
import type { FieldName } from '../record.ts'
import { ofOtherPeople } from './movements.ts'

/** The kinds of change that are decided by what says whether and when people leave. A joiner may have left already. */
const ofEmployment: readonly ChangeKind[] = ['join', 'leave', 'return', 'correct']
/** The kinds of change that hold a value of another column. A departure can be sent without it. */
const ofOtherValues: readonly ChangeKind[] = ['join', 'update']

/**
 * The kinds of change that a guard puts in doubt where it fails: those whose decision reads a field that it is about. A guard that is not
 * named here doubts all of them: the size of an export, its keys, columns, rows and age say that it may be another one than it should be.
 */
const doubted: Readonly<Record<string, readonly ChangeKind[]>> = {
  leavers: ofEmployment,
  returns: ofEmployment,
  redates: ofEmployment,
  // People who leave and people who join are the same ones where HR has issued keys again.
  joiners: ['leave', 'join'],
  absentUnderHold: ['leave'],
  contractorFlips: ofOtherValues,
  emailChanges: ofOtherValues,
  fieldChanges: ofOtherValues,
  blanks: ofOtherValues,
  retractions: ['retract'],
  reusedKeys: ['join', 'update', 'return'],
}

/** Fields of a limit on values that decide about employment as well: a start clears an earlier leaving date, and says who is hired again. */
const decidesEmployment: ReadonlySet<string> = new Set(['startedAt'] satisfies FieldName[])

function doubtedBy({ name, fields = [] }: Verdict): readonly ChangeKind[] {
  const kinds = doubted[name] ?? changeKinds
  const isOfEmployment = fields.some((field) => decidesEmployment.has(field))
  return isOfEmployment ? changeKinds.filter((kind) => kinds.includes(kind) || ofEmployment.includes(kind)) : kinds
}

/** The guards that doubt values of people, and nothing else. */
const ofValues: ReadonlySet<string> = new Set(['contractorFlips', 'emailChanges', 'fieldChanges', 'blanks'])

/** Says with each verdict that failed which kinds of change it puts in doubt. */
export function withTaints(verdicts: readonly Verdict[]): Verdict[] {
  // One column may have been sorted by itself. Two of them say that it was the column of the keys.
  const ofOthers = verdicts.flatMap(({ hints = [] }) => hints.filter((hint) => hint.includes(ofOtherPeople)))
  const keysDoubted = ofOthers.length > 1
  return verdicts.map((verdict) => {
    if (verdict.ok) return verdict
    const taints = keysDoubted && ofValues.has(verdict.name) ? changeKinds : doubtedBy(verdict)
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
