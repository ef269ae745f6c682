import type { Change } from '../change.ts'
import { changeTo } from '../difference.ts'
import { type FieldName, fieldsOf, type IdentityRecord, type RosterEntry, timedFieldsOf } from '../record.ts'
import type { DesiredState } from './decide.ts'

/** A decision about a person, split in two: employment, and everything else. */
type SplitDecision = {
  readonly first: { readonly entry: DesiredState | null; readonly change: Change }
  /** The remaining change once the first part was sent; null if there is none. */
  readonly rest: Change | null
}

/**
 * Separates the change of a known person's employment from the change of other values, so that a departure need not wait while the values
 * are in doubt. Returns null if employment does not change, or nothing else does.
 */
export function splitEmployment(
  known: RosterEntry,
  change: Exclude<Change, { kind: 'retract' }>,
  entry: DesiredState | null,
  { removes }: { removes: boolean },
): SplitDecision | null {
  const others = fieldsOf(change.fields).filter(
    (field) => field !== 'separatedAt' && change.fields[field] !== undefined,
  )
  if (others.length === 0) return null
  const record = withKnown(change.record, known.desired, others)
  const { inferred } = change
  const { confirmed, desired: desiredBefore } = known
  const first = changeTo(record, {
    ...{ confirmed, inferred, carried: change.carried, removes },
    ...(!change.carried && { desiredBefore }),
  })
  if (first === null) return null
  return {
    first: {
      change: { ...first, kind: change.kind } as typeof first,
      entry: entry && { ...entry, desired: record, fieldTimes: timesOf(entry, known, others) },
    },
    rest: changeTo(change.record, { confirmed: record, inferred, carried: change.carried, removes }),
  }
}

/** The record with the previously accepted values in these fields. Fields without one are left out. */
function withKnown(record: IdentityRecord, known: IdentityRecord | null, fields: readonly FieldName[]): IdentityRecord {
  const kept: { -readonly [K in keyof IdentityRecord]: IdentityRecord[K] } = { ...record }
  for (const field of fields) {
    if (known?.[field] === undefined) delete kept[field]
    else Object.assign(kept, { [field]: known[field] })
  }
  return kept
}

/** The field times, with the previous times of these fields. */
function timesOf(entry: DesiredState, known: RosterEntry, fields: readonly string[]): DesiredState['fieldTimes'] {
  const older = timedFieldsOf(entry.desired).flatMap((field) =>
    fields.includes(field) ? [[field, known.fieldTimes?.[field] ?? known.asOf] as const] : [],
  )
  return { ...entry.fieldTimes, ...Object.fromEntries(older) }
}
