import type { Change, FieldChange, FieldChanges } from './change.ts'
import { type FieldName, fieldNames, type IdentityRecord } from './record.ts'
import { holdsDigests, isDigest } from './value-digests.ts'

/**
 * The change that brings the platform from `confirmed` to `wanted`; null where nothing differs. Values that are not kept cannot be sent:
 * a person who is missing from the platform waits for a source that states them again. A departure does not wait.
 */
export function changeTo(
  wanted: IdentityRecord,
  { confirmed, inferred, carried }: { confirmed: IdentityRecord | null; inferred: boolean; carried: boolean },
): Change | null {
  if (confirmed === null && holdsDigests(wanted) && (wanted.separatedAt ?? null) === null) return null
  const fields = differingFields(confirmed, wanted, inferred)
  const kind = confirmed === null ? 'join' : kindOf(fields)
  if (kind === null) return null

  const infersLeaving = fields.separatedAt?.inferred ?? false
  return { kind, identityId: wanted.identityId, record: wanted, fields, inferred: infersLeaving, carried }
}

/** True where both say the same in every field; a field that is absent differs from one that is null. */
export function sameRecord(a: IdentityRecord, b: IdentityRecord): boolean {
  if (a === b) return true
  for (const field of fieldNames) if (a[field] !== b[field]) return false
  return a.identityId === b.identityId
}

function differingFields(confirmed: IdentityRecord | null, wanted: IdentityRecord, inferred: boolean): FieldChanges {
  const fields: { [F in FieldName]?: FieldChange } = {}
  for (const field of fieldNames) {
    const to = wanted[field]
    const from = confirmed?.[field] ?? null
    // A field that is not wanted is not mapped: whatever the platform holds there is none of our business.
    if (to === undefined || to === from || isDigest(to)) continue
    fields[field] = field === 'separatedAt' && inferred && to !== null ? { from, to, inferred: true } : { from, to }
  }
  return fields
}

function kindOf(fields: FieldChanges): 'leave' | 'return' | 'correct' | 'update' | null {
  const { separatedAt } = fields
  if (separatedAt === undefined) return Object.keys(fields).length > 0 ? 'update' : null
  if (separatedAt.to === null) return 'return'
  return separatedAt.from === null ? 'leave' : 'correct'
}
