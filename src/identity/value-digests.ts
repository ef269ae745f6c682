import { type FieldName, type IdentityRecord, type RosterEntry, timedFieldsOf } from './record.ts'

/**
 * Begins a digest that stands for a value, followed by the name of the key. A cell of HR never holds a control character, so that no
 * value can be taken for a digest.
 */
export const digestMark = '\u0001'
const digestMarkCode = digestMark.charCodeAt(0)

/** Makes the digests of a connection. They are bound to person and field: equal values of two people have different ones. */
export type ValueDigests = {
  readonly keyName: string
  of(identityId: string, field: FieldName, value: string | boolean): string
  /** A digest by which two people can be compared. */
  trait(text: string): string
}

/** Values that a source, or the platform, states of a person. */
export type Stated = Omit<IdentityRecord, 'identityId'>

/** The text of a digest. */
type Digest = string & { readonly standsFor: 'a value' }

/** Whether this stands for a value that is not kept. */
export function isDigest(value: unknown): value is Digest {
  return typeof value === 'string' && value.charCodeAt(0) === digestMarkCode
}

/** Whether a digest was made with this key. With another one nothing can be compared. */
export function isOfKey(digest: string, keyName: string): boolean {
  return digest.startsWith(`${digestMark}${keyName}:`)
}

export function holdsDigests(record: IdentityRecord | null): boolean {
  if (record === null) return false
  for (const name in record) if (isDigest(record[name as FieldName])) return true
  return false
}

/** Whether the record holds a value that is kept for as long as it waits to be acknowledged. A blank is none. */
export function holdsValues(record: IdentityRecord | null): boolean {
  return record !== null && timedFieldsOf(record).some((field) => isValue(record[field]))
}

/** The record with a digest in place of each value, but for these fields. The leaving date is needed by the clock, and stays. */
export function digested(
  record: IdentityRecord,
  digests: Pick<ValueDigests, 'of'>,
  kept: (field: FieldName) => boolean = () => false,
): IdentityRecord {
  const result: { -readonly [K in keyof IdentityRecord]: IdentityRecord[K] } = { ...record }
  for (const field of timedFieldsOf(record)) {
    const value = record[field]
    if (isValue(value) && !kept(field)) Object.assign(result, { [field]: digests.of(record.identityId, field, value) })
  }
  return result
}

/** The record with the digests of `from` mapped to something else; undefined leaves a field as it is. */
export function withDigests(
  record: IdentityRecord,
  map: (field: FieldName, digest: string) => string | boolean | null | undefined,
): IdentityRecord {
  const result: { -readonly [K in keyof IdentityRecord]: IdentityRecord[K] } = { ...record }
  for (const field of timedFieldsOf(record)) {
    const value = record[field]
    const mapped = isDigest(value) ? map(field, value) : undefined
    if (mapped !== undefined) Object.assign(result, { [field]: mapped })
  }
  return result
}

/** What can be sent of a record: a digest says nothing to anybody, and a field that is left out stays as the platform has it. */
export function sendable(record: IdentityRecord): IdentityRecord {
  if (!holdsDigests(record)) return record
  return Object.fromEntries(Object.entries(record).filter(([, value]) => !isDigest(value))) as IdentityRecord
}

/**
 * What is known of a person with the values that their digests stand for, as far as these statements hold them. A digest that stays
 * stands for another value than the stated one, or for one of which nothing was stated.
 */
export function recognised(entry: RosterEntry, stated: readonly Stated[], digests: ValueDigests): RosterEntry {
  const { identityId, wanted, confirmed } = entry
  if (!holdsDigests(wanted) && !holdsDigests(confirmed)) return entry
  const known = new Map<string, string | boolean>()
  const statements = [...stated, ...(wanted ? [wanted] : []), ...(confirmed ? [confirmed] : [])]
  for (const field of timedFieldsOf(wanted, confirmed)) {
    if (!isDigest(wanted?.[field]) && !isDigest(confirmed?.[field])) continue
    for (const value of new Set(statements.map((statement) => statement[field])))
      if (isValue(value)) known.set(digests.of(identityId, field, value), value)
  }
  if (known.size === 0) return entry
  const read = (record: IdentityRecord | null) => record && withDigests(record, (_, digest) => known.get(digest))
  const seen = read(wanted)
  const isRecognised = wanted !== null && timedFieldsOf(wanted).some((field) => wanted[field] !== seen?.[field])
  return {
    ...entry,
    wanted: isRecognised ? seen : wanted,
    confirmed: confirmed === wanted ? (isRecognised ? seen : wanted) : read(confirmed),
    ...(isRecognised && { recognised: true }),
  }
}

function isValue(value: string | boolean | null | undefined): value is string | boolean {
  return value !== null && value !== undefined && !isDigest(value)
}
