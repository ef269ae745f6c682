import type { Reading } from '../../connectors/connector.ts'
import { withExpressions } from '../../connectors/expressions/expressions.ts'
import { dateIn, type PlanContext } from '../../identity/decide/decide.ts'
import type { KeyAnswers } from '../../identity/key-change-candidates.ts'
import { withClassified } from '../../identity/mapping/classified.ts'
import { expressionsOf } from '../../identity/mapping/mapping.ts'
import { type FieldName, fieldNames } from '../../identity/record.ts'
import { listClassifiedValues } from '../../store/classified-values.ts'
import { type AcceptedSource, acceptedSource } from '../../store/connections/sources.ts'
import { keyAnswers } from '../../store/key-answers.ts'
import type { FeedRules, SyncConnection, SyncContext } from '../context/context.ts'
import type { OpenedFeed } from './feeds.ts'
import { type MappedRows, mapRows } from './map/map-rows.ts'

/** Everything that a plan is made from besides the rows and the roster. Loaded before the first row is read. */
export type PlanInputs = {
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
  /** A row holds only what has changed, so a column that it lacks states nothing. */
  readonly isSparse: boolean
}

type InputOptions = {
  /** The form in which e-mail addresses are compared; default: unchanged. */
  readonly addressOf?: (email: string) => string
}

/** Loads the inputs of a plan and binds the feed's mapping to its header. */
export async function loadPlanInputs(
  { store: { db }, now, indexing }: Pick<SyncContext, 'store' | 'now' | 'indexing'>,
  connection: SyncConnection,
  feed: OpenedFeed,
  { addressOf }: InputOptions = {},
): Promise<PlanInputs> {
  const { name } = connection
  const reading = withExpressions(feed.reading, expressionsOf(feed.rules.mapping))
  const isSparse = reading.sparse === true && !reading.missingIsBlank
  const accepted = await acceptedSource(db, name)
  const classified = await listClassifiedValues(db, name)
  const answers = await keyAnswers(db, name)
  const rules = { ...feed.rules, mapping: withClassified(feed.rules.mapping, classified) }
  const mapping = mapRows(reading, rules, {
    now: now(),
    aliases: answers.aliases,
    sampleSize: indexing?.sampleSize,
    formerFields: accepted.fields,
    addressOf,
  })
  const statesFields = mapping.ok && !isSparse && reading.source !== null
  const context: PlanContext = {
    ...planContext(reading, rules, now()),
    sourceToday: dateIn((connection.feeds.source ?? rules).timeZone, now().toISOString()),
    acceptedAsOf: accepted.asOf,
    mapped: statesFields ? statedFields(connection, mapping.mapped) : undefined,
  }
  return { feed, reading, rules, mapping, context, accepted, answers, isSparse }
}

/** The rules and the times by which the people of a reading are decided. */
export function planContext(
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
    removes: shape ? true : undefined,
  }
}

/** The keys of pinned people. A key that HR has replaced names the person under their first key. */
export function pinnedPeople({ pinned }: SyncConnection, { aliases }: Pick<KeyAnswers, 'aliases'>): Set<string> {
  return new Set([...pinned].map((key) => aliases.get(key)?.identityId ?? key))
}

/** The fields that some feed of the connection states. A value that an event stated stays, although the export has no column for it. */
function statedFields({ feeds }: SyncConnection, mapped: ReadonlySet<FieldName>): ReadonlySet<FieldName> {
  const { fields = {}, record = {} } = feeds.webhook?.mapping ?? {}
  const own = Object.keys(record).map((name) => `.${name}` as const)
  return new Set([...mapped, ...fieldNames.filter((field) => field in fields), ...own])
}
