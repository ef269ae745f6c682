import { createHash } from 'node:crypto'
import type { FilterableRows, Reading } from '../../../connectors/connector.ts'
import { coversEverybody } from '../../../identity/decide/coverage.ts'
import type { PlanContext } from '../../../identity/decide/decide.ts'
import { fingerprint } from '../../../identity/digest.ts'
import type { KeyAnswers } from '../../../identity/key-change-candidates.ts'
import { maxSampleSize } from '../../../identity/lint/watch.ts'
import { expressionsOf } from '../../../identity/mapping/mapping.ts'
import { keyOf } from '../../../store/audit/key.ts'
import { acceptedIndex, beginIndex, changedPeople } from '../../../store/plans/export-index.ts'
import type { Db } from '../../../store/schema.ts'
import type { FeedRules, SyncConnection, SyncContext } from '../../context/context.ts'
import type { MappedRows } from '../map/map-rows.ts'
import { type ChangeFilter, createChangeFilter } from './change-filter.ts'
import { digestBytes, type ExportIndex } from './export-index.ts'
import { indexVersion, openIndex } from './index-parts.ts'

/** Above this share of changed people the filter is not used: it would skip little, and looks each of them up one by one. */
const maxChangedShare = 0.2
const minChangedPeople = 1000

/** The inputs of a plan that the filter needs. */
type FilterInputs = {
  readonly reading: Reading
  readonly rules: FeedRules
  readonly mapping: MappedRows
  readonly context: PlanContext
  readonly answers: KeyAnswers
}

/** How a reading uses the change filter: it skips unchanged records, only makes an index for the next export, or does neither. */
export type FilterUse = 'skip unchanged' | 'only make an index' | 'none'

/** An opened change filter. */
type OpenedFilter = {
  readonly filter: ChangeFilter
  /** A digest of everything besides the records that decides what follows from them. */
  readonly rulesDigest: string
  /** Why every record is parsed although there is an index; null if records are skipped, or there is no index. */
  readonly fullReadReason: string | null
}

type OpenFilterInput = {
  readonly inputs: FilterInputs
  /** The key of the digests; null if the store has none. */
  readonly key: Buffer | null
  readonly use: FilterUse
  /** The run whose plan makes an index for the next export; null if none is made. */
  readonly runId: string | null
}

/** The key of a connection's index; null if the store has no secret. */
export function indexKey(db: Db, connection: string): Buffer | null {
  const secret = keyOf(db)?.digest('export index', connection)
  return secret === undefined ? null : Buffer.from(secret.split(':').at(-1) ?? '', 'hex')
}

/** The digest by which an index with this key compares e-mail addresses. */
export function addressDigest(key: Buffer, email: string): string {
  const hashed = createHash('sha256').update(key).update('address\n').update(email)
  return hashed.digest('latin1').slice(0, digestBytes)
}

/** Opens the change filter of an export. Returns null if it cannot be used: every record is then parsed, and no index is made. */
export async function openChangeFilter(
  { store: { db }, indexing }: Pick<SyncContext, 'store' | 'indexing'>,
  connection: SyncConnection,
  input: OpenFilterInput,
): Promise<OpenedFilter | null> {
  const { inputs, key, use, runId } = input
  const { mapping, context, reading } = inputs
  const { filterable } = reading
  if (use === 'none' || !mapping.ok || !indexing || !filterable || key === null || !canFilter(inputs)) return null
  const rulesDigest = digestOfRules(connection, { inputs, filterable, indexing })
  if (runId !== null) await db.transaction().execute((tx) => beginIndex(tx, { runId, connection: connection.name }))
  const last =
    use === 'skip unchanged' ? await usableIndex(db, { connection, key, rulesDigest, today: context.today }) : null
  const usable = last !== null && 'index' in last ? last : null
  const filter = createChangeFilter({
    filterable,
    last: usable?.index ?? null,
    changedPeople: usable?.changedPeople ?? [],
    key,
    context,
    mapping,
    sampleSize: indexing.sampleSize ?? maxSampleSize,
  })
  return { filter, rulesDigest, fullReadReason: last !== null && 'reason' in last ? last.reason : null }
}

/** Whether equal rows lead to equal decisions under these rules, so that unchanged rows can be skipped. */
function canFilter({ rules, context }: FilterInputs): boolean {
  const { mapping, shape } = rules
  // For records with a shape of their own, the index lacks what the checks need.
  const isOfPeople = shape === undefined
  return (
    isOfPeople && mapping.severalRows === 'reject' && expressionsOf(mapping).length === 0 && coversEverybody(context)
  )
}

type UsableIndex = { readonly index: ExportIndex; readonly changedPeople: readonly string[] }

type IndexQuery = {
  readonly connection: SyncConnection
  readonly key: Buffer
  readonly rulesDigest: string
  readonly today: string
}

/** The index of the last accepted export, or why it cannot be used; null if there is none. */
async function usableIndex(
  db: Db,
  { connection: { name: connection }, key, rulesDigest, today }: IndexQuery,
): Promise<UsableIndex | { readonly reason: string } | null> {
  const stored = await acceptedIndex(db, connection)
  if (stored === null) return null
  const index = await openIndex(stored, key)
  if ('reason' in index) return index
  if (index.head.rules !== rulesDigest)
    return { reason: 'the rules for reading exports have changed since the last one' }
  if (today < index.head.day) return { reason: `the last export was read on a later day, ${index.head.day}` }
  const max = Math.max(minChangedPeople, Math.ceil(maxChangedShare * index.size))
  const changed = await changedPeople(db, { connection, most: max + 1 })
  if (changed.length > max) return { reason: `more than ${max} people have changed since the last export` }
  return { index, changedPeople: changed }
}

type RulesInput = {
  readonly inputs: FilterInputs
  readonly filterable: FilterableRows
  readonly indexing: NonNullable<SyncContext['indexing']>
}

function digestOfRules({ configuration }: SyncConnection, { inputs, filterable, indexing }: RulesInput): string {
  const { reading, rules, answers, context } = inputs
  const { mapping, absence, graceRuns, timeZone, future, outOfScope } = rules
  const { aliases, differentPeople } = answers
  return fingerprint(
    ...[
      indexVersion,
      indexing.version,
      indexing.sampleSize,
      configuration,
      filterable.dialect,
      reading.headers,
      mapping,
    ],
    ...[absence, graceRuns, timeZone, future, outOfScope, [...(context.mapped ?? [])]],
    ...[[...aliases].sort(byName), [...differentPeople].sort()],
  )
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}
