import type { FieldName, IdentityFields, IdentityRecord, KnownField, OwnFields, UnlistedValue } from './record.ts'

/** The kinds of change that a plan may hold. `correct` moves a leaving date; `retract` deletes. */
export const changeKinds = ['join', 'update', 'leave', 'return', 'correct', 'retract'] as const
/** One of `changeKinds`. */
export type ChangeKind = (typeof changeKinds)[number]

/** The value of a field: a text, or a boolean; null for none. */
export type FieldValue = IdentityFields[KnownField]
/** How one field differs between the platform (`from`) and HR (`to`). */
export type FieldChange = {
  readonly from: FieldValue
  readonly to: FieldValue
  /** What an earlier run desired there, if the platform never acknowledged it. */
  readonly desiredBefore?: FieldValue
  readonly inferred?: true /** The values are no longer kept. */
  readonly gone?: true
}
/** The fields that differ, by name. */
export type FieldChanges = { readonly [F in KnownField]?: FieldChange } & OwnFields<FieldChange>

/**
 * One person's difference between what the platform acknowledged and what HR says.
 * `carried` marks a difference that an earlier accepted run already contained and could not deliver: guards judge new facts only.
 */
export type Change =
  | {
      readonly kind: 'join' | 'update' | 'leave' | 'return' | 'correct'
      readonly identityId: string
      readonly record: IdentityRecord
      readonly fields: FieldChanges
      readonly inferred: boolean
      readonly carried: boolean
    }
  | { readonly kind: 'retract'; readonly identityId: string; readonly reason: string; readonly carried: boolean }

/** `rejected`: rows that could not become a record. `incomplete`: rows that did, but for a cell that could not be read. */
export type PlanCounts = { readonly [K in ChangeKind | 'unchanged' | 'rejected' | 'incomplete']: number }

/** A guard's judgement of a plan. `limit` null: the guard has no number to exceed. `reason` says what was found, in counts. */
export type Verdict = {
  readonly name: string
  readonly actual: number
  readonly limit: number | null
  readonly ok: boolean
  readonly reason?: string
  /** Where it failed: the keys of the first people that it concerns, in the plan's order. */
  readonly people?: readonly string[]
  /** Where it failed: how the values of a field move, and what usually causes that. No values of people. */
  readonly hints?: readonly string[]
  /** Where it failed because of values that no list holds: the first of them. */
  readonly unlisted?: readonly UnlistedValue[]
  /** Where it failed because of values: the fields of which too many change or go. */
  readonly fields?: readonly FieldName[]
  /** Where it failed: the kinds of change that it puts in doubt; left out: all of them. */
  readonly taints?: readonly ChangeKind[]
}
