import type { Reading } from '../../connectors/connector.ts'
import { withExpressions } from '../../connectors/expressions/expressions.ts'
import { dateIn, type PlanContext } from '../../identity/decide/decide.ts'
import { withClassified } from '../../identity/mapping/classified.ts'
import { expressionsOf } from '../../identity/mapping/mapping.ts'
import { type FieldName, fieldNames } from '../../identity/record.ts'
import type { KeyAnswers } from '../../identity/key-change-candidates.ts'
import { listClassifiedValues } from '../../store/classified-values.ts'
import { type AcceptedSource, acceptedSource } from '../../store/connections/sources.ts'
import { keyAnswers } from '../../store/key-answers.ts'
import type { FeedRules, SyncConnection, SyncContext } from '../context/context.ts'
import type { OpenedFeed } from './feeds.ts'
import { addressDigest, indexKey } from './change-filter/known-records.ts'
import { type MappedRows, mapRows } from './map/map-rows.ts'
import type { PersonWatch } from './watch-person.ts'

/** What is known of a feed before its rows are read. */
export type BeforeReading = {
  readonly feed: OpenedFeed
  readonly reading: Reading
  /** The rules of the feed, with the values that people have classified. */
  readonly rules: FeedRules
  readonly mapping: MappedRows
  readonly context: PlanContext
  /** The export that was accepted last. */
  readonly accepted: AcceptedSource
  /** What people have answered about keys. */
  readonly answers: KeyAnswers
  /** A row holds what has changed alone, so that a column that it lacks says nothing. */
  readonly isSparse: boolean
  /** By which e-mail addresses are compared with those of the last export; null where nothing of it is used. */
  readonly addressKey: Buffer | null
}

type Opened = {
  readonly feed: OpenedFeed
  /** The one person who is decided about; left out for all people. */
  readonly only?: PersonWatch
  /** Whether the reading may go by what the last export left behind. */
  readonly goesByIndex: boolean
}

/** Looks up what the rows of a feed are read and decided by. */
export async function lookUpBefore(
  { store: { db }, now, indexing }: Pick<SyncContext, 'store' | 'now' | 'indexing'>,
  connection: SyncConnection,
  { feed, only, goesByIndex }: Opened,
): Promise<BeforeReading> {
  const { name } = connection
  const reading = withExpressions(feed.reading, expressionsOf(feed.rules.mapping))
  const isSparse = reading.sparse === true && !reading.missingIsBlank
  const accepted = await acceptedSource(db, name)
  const classed = await listClassifiedValues(db, name)
  const answers = await keyAnswers(db, name)
  const rules = { ...feed.rules, mapping: withClassified(feed.rules.mapping, classed) }
  const addressKey = goesByIndex ? indexKey(db, name) : null
  const mapped = mapRows(reading, rules, {
    now: now(),
    aliases: answers.aliases,
    telling: indexing?.sampleSize,
    formerFields: accepted.fields,
    ...(addressKey && { addressOf: (email: string) => addressDigest(addressKey, email) }),
  })
  const mapping = only ? only.watched(mapped) : mapped
  const speaksOfFields = mapping.ok && !isSparse && reading.source !== null
  const context: PlanContext = {
    ...contextOf(reading, rules, now()),
    acceptedAsOf: accepted.asOf,
    ...(speaksOfFields && { mapped: knownFields(connection, mapping.mapped) }),
  }
  return { feed, reading, rules, mapping, context, accepted, answers, isSparse, addressKey }
}

/** The rules and the times under which the people of a reading are decided. */
export function contextOf(
  { mode, asOf }: Pick<Reading, 'mode' | 'asOf'>,
  { absence, graceRuns, timeZone, future, shape }: FeedRules,
  now: Date,
): PlanContext {
  return {
    mode,
    absence,
    graceRuns,
    asOf,
    now: now.toISOString(),
    timeZone,
    exportDate: dateIn(timeZone, asOf),
    today: dateIn(timeZone, now.toISOString()),
    future,
    ...(shape && { removes: true }),
  }
}

/** The fields that one of the connection's feeds speaks of: what an event said stays, though the export has no column for it. */
function knownFields({ feeds }: SyncConnection, mapped: ReadonlySet<FieldName>): ReadonlySet<FieldName> {
  const { fields = {}, record = {} } = feeds.webhook?.mapping ?? {}
  const own = Object.keys(record).map((name) => `.${name}` as const)
  return new Set([...mapped, ...fieldNames.filter((field) => field in fields), ...own])
}
