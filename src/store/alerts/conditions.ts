import type { Db } from '../schema.ts'
import { type Condition, type ConditionKind, type ConditionSettings, conditionKinds, type Find } from './condition.ts'
import { hrMail, paused, settingsDiffer, stale } from './connection-conditions.ts'
import { blocked, overdue, problems, repeated } from './delivery-conditions.ts'
import {
  blockedLeavers,
  directoryCondition,
  foreign,
  leaverLate,
  notEffective,
  unaccounted,
} from './people-conditions.ts'
import { expiring, held, runFailed } from './run-conditions.ts'
import { emergency, statedDepartures } from './stated-conditions.ts'

/** How the conditions of each kind are found. */
const finders: Readonly<Record<ConditionKind, Find>> = {
  blocked,
  overdue,
  repeated,
  held,
  expiring,
  run_failed: runFailed,
  problems,
  unaccounted,
  blockedPeople: blockedLeavers,
  foreign,
  leaver_late: leaverLate,
  emergency,
  stated_departures: statedDepartures,
  not_effective: notEffective,
  directory: directoryCondition,
  stale,
  paused,
  hr_mail: hrMail,
  settings_differ: settingsDiffer,
}

/** The current conditions, and the kinds that could not be checked. */
type ConditionsResult = {
  readonly current: readonly Condition[]
  readonly failures: readonly { readonly kind: ConditionKind; readonly error: unknown }[]
}

/**
 * Finds all current conditions, by connection and kind. They are derived from the store, so no event can be missed. A check that fails
 * does not hide the others.
 */
export async function findConditions(db: Db, settings: ConditionSettings): Promise<ConditionsResult> {
  const current: Condition[] = []
  const failures: { kind: ConditionKind; error: unknown }[] = []
  for (const kind of conditionKinds) {
    try {
      current.push(...(await finders[kind](db, settings)))
    } catch (error) {
      failures.push({ kind, error })
    }
  }
  const order = (a: Condition, b: Condition) =>
    byName(a.connection, b.connection) || conditionKinds.indexOf(a.kind) - conditionKinds.indexOf(b.kind)
  return { current: current.toSorted(order), failures }
}

/** As `findConditions`, but throws if one check fails, because the list would look complete. */
export async function conditions(db: Db, settings: ConditionSettings): Promise<Condition[]> {
  const { current, failures } = await findConditions(db, settings)
  const [failure] = failures
  if (failure) throw failure.error
  return [...current]
}

function byName(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
