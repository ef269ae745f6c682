import type { FieldName, IdentityFields, IdentityRecord, KnownField, OwnFields, UnlistedValue } from './record.ts'

/** The kinds of change in a plan. `correct` changes a leaving date; `retract` deletes. */
export const changeKinds = ['join', 'update', 'leave', 'return', 'correct', 'retract'] as const
/** One of `changeKinds`. */
export type ChangeKind = (typeof changeKinds)[number]

/** The value of a field: a text, or a boolean; null for none. */
export type FieldValue = IdentityFields[KnownField]
/** How one field differs between the platform (`from`) and HR (`to`). */
export type FieldChange = {
  readonly from: FieldValue
  readonly to: FieldValue
  /** The value that an earlier run desired, if the platform never acknowledged it. */
  readonly desiredBefore?: FieldValue
  readonly inferred?: true
  /** The values are no longer stored. */
  readonly gone?: true
}
/** The fields that differ, by name. */
export type FieldChanges = { readonly [F in KnownField]?: FieldChange } & OwnFields<FieldChange>

/**
 * The difference between what the platform acknowledged and what HR states about one person.
 * `carried` marks a difference that an earlier accepted run contained and could not deliver: guards judge only new facts.
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

/** `rejected`: rows that cannot be used. `incomplete`: rows that are used except for unreadable cells. */
export type PlanCounts = { readonly [K in ChangeKind | 'unchanged' | 'rejected' | 'incomplete']: number }

/** The result of a guard for a plan. `limit` null: the guard has no limit. `reason`: the cause, in counts. */
export type Verdict = {
  readonly name: string
  readonly actual: number
  readonly limit: number | null
  readonly ok: boolean
  readonly reason?: string
  /** If it failed: the keys of the first people concerned, in the plan's order. */
  readonly people?: readonly string[]
  /** If it failed: how the values of a field change, and the usual cause. No values of people. */
  readonly hints?: readonly string[]
  /** If it failed because of unlisted values: the first of them. */
  readonly unlisted?: readonly UnlistedValue[]
  /** If it failed because of values: the fields with too many changes or losses. */
  readonly fields?: readonly FieldName[]
  /** If it failed: the kinds of change that are in doubt; left out: all of them. */
  readonly taints?: readonly ChangeKind[]
}
