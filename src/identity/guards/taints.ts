import { type ChangeKind, changeKinds, type Verdict } from '../change.ts'
import type { FieldName } from '../record.ts'
import { ofOtherPeople } from './movements.ts'

/** The kinds of change that depend on whether and when people leave. A joiner may have left already. */
const ofEmployment: readonly ChangeKind[] = ['join', 'leave', 'return', 'correct']
/** The kinds of change with values of other columns. A departure can be sent without them. */
const ofOtherValues: readonly ChangeKind[] = ['join', 'update']

/**
 * The kinds of change that a failed guard puts in doubt: those whose decision reads a field of the guard. A guard that is not listed here
 * doubts all of them: by its size, keys, columns, rows or age, the export may be the wrong one.
 */
const doubted: Readonly<Record<string, readonly ChangeKind[]>> = {
  leavers: ofEmployment,
  returns: ofEmployment,
  redates: ofEmployment,
  // Leavers and joiners may be the same people with changed keys.
  joiners: ['leave', 'join'],
  absentUnderHold: ['leave'],
  contractorFlips: ofOtherValues,
  emailChanges: ofOtherValues,
  fieldChanges: ofOtherValues,
  blanks: ofOtherValues,
  retractions: ['retract'],
  reusedKeys: ['join', 'update', 'return'],
}

/** Fields that also decide about employment: a start clears an earlier leaving date and shows who was hired again. */
const decidesEmployment: ReadonlySet<string> = new Set(['startedAt'] satisfies FieldName[])

function doubtedBy({ name, fields = [], taints }: Verdict): readonly ChangeKind[] {
  if (taints) return taints
  const kinds = doubted[name] ?? changeKinds
  const isOfEmployment = fields.some((field) => decidesEmployment.has(field))
  return isOfEmployment ? changeKinds.filter((kind) => kinds.includes(kind) || ofEmployment.includes(kind)) : kinds
}

/** The guards that doubt only values of people. */
const ofValues: ReadonlySet<string> = new Set(['contractorFlips', 'emailChanges', 'fieldChanges', 'blanks'])

/** Adds to each failed verdict the kinds of change that it puts in doubt. */
export function withTaints(verdicts: readonly Verdict[]): Verdict[] {
  // One such field: its column may have been sorted alone. Two: the column of the keys was.
  const ofOthers = verdicts.flatMap(({ hints = [] }) => hints.filter((hint) => hint.includes(ofOtherPeople)))
  const keysDoubted = ofOthers.length > 1
  return verdicts.map((verdict) => {
    if (verdict.ok) return verdict
    const taints = keysDoubted && ofValues.has(verdict.name) ? changeKinds : doubtedBy(verdict)
    return { ...verdict, taints }
  })
}

/** Those of these kinds of change that no verdict puts in doubt. */
export function withoutTainted(verdicts: readonly Verdict[], kinds: readonly ChangeKind[]): ChangeKind[] {
  const tainted = new Set(verdicts.flatMap(({ ok, taints = changeKinds }) => (ok ? [] : taints)))
  return kinds.filter((kind) => !tainted.has(kind))
}

/** Whether a verdict doubts values of people: changes then proceed without these values. */
export function doubtsValues(verdicts: readonly Verdict[]): boolean {
  return verdicts.some(({ ok, name }) => !ok && ofValues.has(name))
}
