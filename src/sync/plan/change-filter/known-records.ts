import { createHash } from 'node:crypto'
import type { FilterableRows, Reading } from '../../../connectors/connector.ts'
import type { PlanContext } from '../../../identity/decide/decide.ts'
import { coversEverybody } from '../../../identity/decide/coverage.ts'
import { fingerprint } from '../../../identity/digest.ts'
import { maxSampleSize } from '../../../identity/lint/watch.ts'
import { expressionsOf, type Mapping } from '../../../identity/mapping/mapping.ts'
import type { KeyAnswers } from '../../../identity/key-change-candidates.ts'
import { keyOf } from '../../../store/audit/key.ts'
import { acceptedIndex, beginIndex, changedPeople } from '../../../store/plans/export-index.ts'
import type { Db } from '../../../store/schema.ts'
import type { FeedRules, SyncConnection, SyncContext } from '../../context/context.ts'
import type { ReadableRows } from '../map/map-rows.ts'
import { type ChangeFilter, createChangeFilter } from './change-filter.ts'
import { digestBytes, type ExportIndex } from './export-index.ts'
import { indexVersion, openIndex } from './index-parts.ts'

/** Of more people than this share of an index, all are read: it would spare little, and each of the others is looked up by itself. */
const unsettledShare = 0.2
const fewest = 1000

/** How an export is read beside what the last one left behind. */
export type Sparing = {
  readonly filtered: FilterableRows
  readonly filter: ChangeFilter
  /** A digest of everything that decides how records are read, besides themselves. */
  readonly rules: string
  /** Why every record is read though there is an index; null if none is, or there is none. */
  readonly reason: string | null
}

type Place = {
  readonly connection: SyncConnection
  readonly reading: Reading
  readonly rules: FeedRules
  readonly mapping: Mapping
  readonly rows: ReadableRows
  readonly answers: KeyAnswers
  readonly key: Buffer | null
  readonly context: PlanContext
  /** The run that leaves an index behind; null: none is left. */
  readonly runId: string | null
  /** Without an index to go by: another attempt has shown that this one cannot be. */
  readonly isWhole: boolean
}

/** What the digests of an index are made with; null: there is no key for that. */
export function indexKey(db: Db, connection: string): Buffer | null {
  const secret = keyOf(db)?.digest('export index', connection)
  return secret === undefined ? null : Buffer.from(secret.split(':').at(-1) ?? '', 'hex')
}

/** What an e-mail address is compared by in an index with this key. */
export function addressDigest(key: Buffer, email: string): string {
  const hashed = createHash('sha256').update(key).update('address\n').update(email)
  return hashed.digest('latin1').slice(0, digestBytes)
}

/** Null: the export is read as if no other had been before, and leaves nothing behind. */
export async function spareReading(
  { store: { db }, indexing }: Pick<SyncContext, 'store' | 'indexing'>,
  place: Place,
): Promise<Sparing | null> {
  const { connection, reading, rules: ofFeed, mapping, rows, key, context, runId, isWhole } = place
  const { filterable: filtered } = reading
  // What checks need to know of records of a shape of their own is not kept.
  const isOfPeople = ofFeed.shape === undefined
  const canSpare = isOfPeople && mapping.severalRows === 'reject' && expressionsOf(mapping).length === 0
  if (!indexing || !filtered || key === null || !canSpare || !coversEverybody(context)) return null
  const rules = rulesOf(place, filtered, indexing)
  if (runId !== null) await db.transaction().execute((tx) => beginIndex(tx, { runId, connection: connection.name }))
  const found = isWhole ? null : await usableIndex(db, { key, rules, context, connection: connection.name })
  const index = found !== null && 'index' in found ? found : null
  return {
    filtered,
    filter: createChangeFilter({
      last: index?.index ?? null,
      unsettled: index?.unsettled ?? [],
      key,
      context,
      mapping: rows,
      telling: indexing.sampleSize ?? maxSampleSize,
    }),
    rules,
    reason: found !== null && 'reason' in found ? found.reason : null,
  }
}

async function usableIndex(
  db: Db,
  {
    key,
    rules,
    context,
    connection,
  }: { readonly key: Buffer; readonly rules: string; readonly context: PlanContext; readonly connection: string },
): Promise<
  { readonly index: ExportIndex; readonly unsettled: readonly string[] } | { readonly reason: string } | null
> {
  const stored = await acceptedIndex(db, connection)
  if (stored === null) return null
  const index = await openIndex(stored, key)
  if ('reason' in index) return index
  if (index.head.rules !== rules) return { reason: 'exports are read in another way than the last one was' }
  if (context.today < index.head.day) return { reason: `the last export was read on a later day, ${index.head.day}` }
  const most = Math.max(fewest, Math.ceil(unsettledShare * index.size))
  const unsettled = await changedPeople(db, { connection, most: most + 1 })
  if (unsettled.length > most) return { reason: `something happened to more than ${most} people since the last export` }
  return { index, unsettled }
}

function rulesOf(
  { connection, reading, rules, mapping, answers, context }: Place,
  { dialect }: FilterableRows,
  { version, sampleSize: telling }: NonNullable<SyncContext['indexing']>,
): string {
  const { absence, graceRuns, timeZone, future, outOfScope } = rules
  const { aliases, differentPeople } = answers
  return fingerprint(
    ...[indexVersion, version, telling, connection.configuration, dialect, reading.headers, mapping],
    ...[absence, graceRuns, timeZone, future, outOfScope, [...(context.mapped ?? [])]],
    ...[[...aliases].sort(byName), [...differentPeople].sort()],
  )
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}
