import type { Change, FieldChanges, FieldValue } from './change.ts'
import { isLeaver } from './employment.ts'
import { type FieldName, fieldsOf, type IdentityRecord } from './record.ts'

/** The state before a change. `removes`: leavers are removed from the platform. */
type Start = {
  readonly confirmed: IdentityRecord | null
  readonly inferred: boolean
  readonly carried: boolean
  readonly removes?: boolean
  /** The day of the run; left out if no leaving date differs. */
  readonly today?: string
  /** The previous desired record. Left out for a carried change, whose desired record did not change. */
  readonly desiredBefore?: IdentityRecord | null
}

/** The change from `confirmed` to `desired`; null if nothing differs. */
export function changeTo(
  desired: IdentityRecord,
  { confirmed, inferred, carried, removes = false, today, desiredBefore = null }: Start,
): Change | null {
  if (removes && isGone(desired) && (confirmed === null || isGone(confirmed))) return null
  const fields = differingFields(confirmed, desired, inferred, desiredBefore)
  const kind = confirmed === null ? 'join' : kindOf(fields, today)
  if (kind === null) return null

  const infersLeaving = fields.separatedAt?.inferred ?? false
  return { kind, identityId: desired.identityId, record: desired, fields, inferred: infersLeaving, carried }
}

function isGone({ separatedAt = null }: IdentityRecord): boolean {
  return separatedAt !== null
}

type StoredChange = {
  readonly kind: string
  readonly record: IdentityRecord | null
  readonly fields: unknown
  readonly inferred: boolean
}

/** The fields of a stored change. The fields of a joiner that follow from the record are not stored. */
export function storedFields({ kind, record, fields, inferred }: StoredChange): unknown {
  return kind === 'join' && fields === null && record !== null ? differingFields(null, record, inferred) : fields
}

/** Whether the fields of a change follow from its record. */
export function isJoinedByRecord({ kind, record, fields, inferred }: Exclude<Change, { kind: 'retract' }>): boolean {
  if (kind !== 'join') return false
  return fieldsOf(fields, record).every((field) => {
    const [change, to] = [fields[field], record[field]]
    if (!differs(null, to)) return change === undefined
    return (
      change?.from === null &&
      change.to === to &&
      change.inferred === (isInferred(field, to, inferred) || undefined) &&
      change.gone === undefined &&
      change.desiredBefore === undefined
    )
  })
}

/** Whether both are equal in every field. An absent field differs from null. */
export function sameRecord(a: IdentityRecord, b: IdentityRecord): boolean {
  if (a === b) return true
  for (const field of fieldsOf(a, b)) if (a[field] !== b[field]) return false
  return a.identityId === b.identityId
}

function differingFields(
  confirmed: IdentityRecord | null,
  desired: IdentityRecord,
  inferred: boolean,
  desiredBefore: IdentityRecord | null = null,
): FieldChanges {
  const fields: { -readonly [F in keyof FieldChanges]: FieldChanges[F] } = {}
  for (const field of fieldsOf(desired)) {
    const to = desired[field]
    const from = confirmed?.[field] ?? null
    if (!differs(from, to)) continue
    const before = desiredBefore?.[field]
    fields[field] = {
      from,
      to,
      ...(isInferred(field, to, inferred) && { inferred: true }),
      ...(before !== undefined && before !== from && { desiredBefore: before }),
    }
  }
  return fields
}

/** A field without a desired value is not mapped, so its value on the platform is ignored. */
function differs(from: FieldValue, to: FieldValue | undefined): to is FieldValue {
  return to !== undefined && to !== from
}

function isInferred(field: FieldName, to: FieldValue, inferred: boolean): boolean {
  return field === 'separatedAt' && inferred && to !== null
}

/** The kind of a change, as the guards count it: a future leaving date on the platform that becomes one that has come is a departure. */
function kindOf(fields: FieldChanges, today?: string): 'leave' | 'return' | 'correct' | 'update' | null {
  const { separatedAt } = fields
  if (separatedAt === undefined) return Object.keys(fields).length > 0 ? 'update' : null
  if (separatedAt.to === null) return 'return'
  if (separatedAt.from === null) return 'leave'
  if (today === undefined) return 'correct'
  const hasCome = (date: FieldValue, inferred = false) =>
    typeof date === 'string' && isLeaver({ separatedAt: date, inferred }, today)
  return !hasCome(separatedAt.from) && hasCome(separatedAt.to, separatedAt.inferred) ? 'leave' : 'correct'
}
