import type { Change, FieldChanges, FieldValue } from './change.ts'
import { isLeaver } from './employment.ts'
import { type FieldName, fieldsOf, type IdentityRecord } from './record.ts'

/** What a change starts from. `removes`: who has left is taken off the platform, which then holds nothing of them. */
type Start = {
  readonly confirmed: IdentityRecord | null
  readonly inferred: boolean
  readonly carried: boolean
  readonly removes?: boolean
  /** The day on which the run happens; left out where no leaving date differs. */
  readonly today?: string
  /** What was desired before. Of a carried change it is the same, and left out. */
  readonly desiredBefore?: IdentityRecord | null
}

/** The change that brings the platform from `confirmed` to `desired`; null where nothing differs. */
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

/** The fields of a stored change. Those of a joiner that follow from the record are not stored. */
export function storedFields({
  kind,
  record,
  fields,
  inferred,
}: {
  readonly kind: string
  readonly record: IdentityRecord | null
  readonly fields: unknown
  readonly inferred: boolean
}): unknown {
  return kind === 'join' && fields === null && record !== null ? differingFields(null, record, inferred) : fields
}

/** Whether the fields of a change are those that follow from its record. */
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

/** True where both say the same in every field; a field that is absent differs from one that is null. */
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

/** A field that is not desired is not mapped: whatever the platform holds there is none of our business. */
function differs(from: FieldValue, to: FieldValue | undefined): to is FieldValue {
  return to !== undefined && to !== from
}

function isInferred(field: FieldName, to: FieldValue, inferred: boolean): boolean {
  return field === 'separatedAt' && inferred && to !== null
}

/** A leaving date that lies ahead on the platform, and becomes one that has come, makes a leaver, as the guards count them. */
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
