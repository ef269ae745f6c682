import type { Change } from '../change.ts'
import { changeTo } from '../difference.ts'
import { type FieldName, fieldsOf, type IdentityRecord, type RosterEntry, timedFieldsOf } from '../record.ts'
import type { DesiredState } from './decide.ts'

/** What is decided about a person, parted in two: what is said about employment, and all the rest. */
type Parted = {
  readonly first: { readonly entry: DesiredState | null; readonly change: Change }
  /** What is left once the first part was sent; null: nothing. */
  readonly rest: Change | null
}

/**
 * Parts what a plan says about a known person's employment from what it says about their values, so that a departure need not wait
 * where the values are in doubt. Null where there is nothing to part.
 */
export function partEmployment(
  known: RosterEntry,
  change: Exclude<Change, { kind: 'retract' }>,
  entry: DesiredState | null,
  { removes }: { removes: boolean },
): Parted | null {
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

/** The record with what was accepted before in these fields. A field that was not mapped then is left out. */
function withKnown(record: IdentityRecord, known: IdentityRecord | null, fields: readonly FieldName[]): IdentityRecord {
  const kept: { -readonly [K in keyof IdentityRecord]: IdentityRecord[K] } = { ...record }
  for (const field of fields) {
    if (known?.[field] === undefined) delete kept[field]
    else Object.assign(kept, { [field]: known[field] })
  }
  return kept
}

/** These fields are as old as they were. */
function timesOf(entry: DesiredState, known: RosterEntry, fields: readonly string[]): DesiredState['fieldTimes'] {
  const older = timedFieldsOf(entry.desired).flatMap((field) =>
    fields.includes(field) ? [[field, known.fieldTimes?.[field] ?? known.asOf] as const] : [],
  )
  return { ...entry.fieldTimes, ...Object.fromEntries(older) }
}
