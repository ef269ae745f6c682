import { createHash, hash } from 'node:crypto'
import type { Change } from './change.ts'
import { fieldNames, fieldsOf, type IdentityRecord, isOwnField } from './record.ts'

// Stands for "not mapped", which differs from null. No field holds a number, so there is no ambiguity.
const notMapped = 0

// 132 bits: no accidental collisions.
const fingerprintLength = 22

type PlanHasher = {
  /** Adds the plan's changes in the order of `compareKeys`, each person at most once. Throws otherwise. */
  add(change: Change): void
  /** Adds the `changeDigest` of further changes in the same order. */
  addDigests(digests: string): void
  /** The digest of everything added; ends the hasher. */
  digest(): string
}

/**
 * Digests a plan while it streams by. Equal plans have equal digests, whether or not an earlier run had already tried to deliver their
 * changes.
 */
export function planHasher(): PlanHasher {
  const sha256 = createHash('sha256')
  let previous: string | null = null

  return {
    add(change) {
      if (previous !== null && compareKeys(previous, change.identityId) >= 0) {
        throw new Error('the keys of the plan are out of order, or one is repeated')
      }
      previous = change.identityId
      sha256.update(changeDigest(change))
    },
    addDigests(digests) {
      sha256.update(digests)
    },
    digest: () => `sha256:${sha256.digest('hex')}`,
  }
}

/** The part of one change in the digest of its plan. */
export function changeDigest(change: Change): string {
  return hash('sha256', JSON.stringify(changeValues(change)), 'base64url').slice(0, fingerprintLength)
}

/** The digest of a plan in key order, as an approval names it. */
export function planDigest(changes: Iterable<Change>): string {
  const hasher = planHasher()
  for (const change of changes) hasher.add(change)
  return hasher.digest()
}

/** A short digest that identifies texts without revealing them. */
export function fingerprint(...texts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(texts), 'base64url').slice(0, fingerprintLength)
}

/** Orders keys as their UTF-8 bytes do, which is how the database orders them under COLLATE "C". */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const unitA = a.charCodeAt(i)
    const unitB = b.charCodeAt(i)
    if (unitA !== unitB) return utf8Rank(unitA) - utf8Rank(unitB)
  }
  return a.length - b.length
}

// UTF-16 puts surrogate pairs (code points from U+10000) before U+E000–U+FFFF; UTF-8 puts them after.
function utf8Rank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

function recordValues(record: IdentityRecord): unknown[] {
  const known = fieldNames.map((field) => record[field] ?? (record[field] === null ? null : notMapped))
  const own = fieldsOf(record).filter(isOwnField)
  return [record.identityId, ...known, ...own.map((field) => [field, record[field]])]
}

function changeValues(change: Change): unknown[] {
  if (change.kind === 'retract') return [change.kind, change.identityId, change.reason]
  const fields = fieldsOf(change.fields).flatMap((field) => {
    const difference = change.fields[field]
    return difference === undefined ? [] : [[field, difference.from, difference.to, difference.inferred ?? false]]
  })
  return [change.kind, recordValues(change.record), fields, change.inferred]
}
