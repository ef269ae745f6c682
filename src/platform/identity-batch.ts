import type { Kysely } from 'kysely'
import type { Identity } from '../contract/hris-user-identities.ts'
import type { Submission } from './identity-items.ts'
import {
  type IdentityRow,
  type IdentityWrite,
  insertNewIdentities,
  lockIdentities,
  unknownKeys,
  updateIdentities,
  valuesOf,
} from './identity-rows.ts'
import { mergeIdentity, noValues, sameIdentity } from './merge-identity.ts'
import type { PlatformSchema } from './schema.ts'

export type Outcome = { readonly statusCode: 200 | 201; readonly data: Identity | null }

/**
 * Creates, updates and restores the records of one batch whose keys are distinct, and answers by key. Four statements at
 * most, whatever its size. New keys are inserted before known ones are locked, both in key order: of two batches that
 * share keys the later one waits, then sees what the earlier one stored.
 */
export async function applyBatch(
  trx: Kysely<PlatformSchema>,
  { connectionId, submissions, now }: { connectionId: number; submissions: readonly Submission[]; now: Date },
): Promise<ReadonlyMap<string, Outcome>> {
  if (submissions.length === 0) return new Map()
  const unknown = await unknownKeys(trx, connectionId, keysOf(submissions))
  const records = submissions.filter(({ identityId }) => unknown.has(identityId)).map((one) => newRecord(one, now))
  const created = await insertNewIdentities(trx, connectionId, records)
  const known = submissions.filter(({ identityId }) => !created.has(identityId))
  const stored = await lockIdentities(trx, connectionId, keysOf(known))
  const merged = mergeAll(stored, known, now)
  await updateIdentities(
    trx,
    connectionId,
    merged.filter(({ changed }) => changed).map(({ write }) => write),
  )
  return new Map([
    ...records.flatMap((record) => createdOutcome(record, created.get(record.identityId))),
    ...merged.map(({ row, write, changed }) => [row.identity_id, updatedOutcome(row, write, changed)] as const),
  ])
}

/** What `row` becomes when `submission` arrives, and whether that is a change. A deleted record comes back with what it held. */
export function mergeRow(
  row: IdentityRow,
  { identityId, values }: Submission,
  now: Date,
): { row: IdentityRow; write: IdentityWrite; changed: boolean } {
  const before = valuesOf(row)
  const after = mergeIdentity(before, values)
  const changed = row.deleted_at !== null || !sameIdentity(before, after)
  const updatedAt = new Date(Math.max(now.getTime(), row.updated_at.getTime())).toISOString()
  return { row, write: { identityId, values: after, updatedAt }, changed }
}

export function presentWrite(row: IdentityRow, { identityId, values, updatedAt }: IdentityWrite): Identity {
  return { id: row.id, identityId, ...values, createdAt: row.created_at.toISOString(), updatedAt }
}

function mergeAll(stored: readonly IdentityRow[], submissions: readonly Submission[], now: Date) {
  const byKey = new Map(submissions.map((submission) => [submission.identityId, submission]))
  return stored.flatMap((row) => {
    const submission = byKey.get(row.identity_id)
    return submission ? [mergeRow(row, submission, now)] : []
  })
}

function keysOf(submissions: readonly Submission[]): string[] {
  return submissions.map(({ identityId }) => identityId)
}

function newRecord({ identityId, values }: Submission, now: Date): IdentityWrite {
  return { identityId, values: { ...noValues, ...values }, updatedAt: now.toISOString() }
}

function createdOutcome({ identityId, values, updatedAt }: IdentityWrite, id: number | undefined): [string, Outcome][] {
  if (id === undefined) return []
  return [[identityId, { statusCode: 201, data: { id, identityId, ...values, createdAt: updatedAt, updatedAt } }]]
}

function updatedOutcome(row: IdentityRow, write: IdentityWrite, changed: boolean): Outcome {
  return { statusCode: 200, data: changed ? presentWrite(row, write) : null }
}
