import { type RawBuilder, sql } from 'kysely'
import { eventsInsert, type NewEvent, type Target, type TargetKind, type WriteContext } from './store-events.ts'

type Change = 'CREATED' | 'UPDATED' | 'REMOVED'

type Kind = {
  readonly connectionId: number
  readonly kind: TargetKind
  /** How descriptions name one record. */
  readonly noun: string
}

type RecordEvent = Kind & {
  /** The target of the event; by default the connection. */
  readonly target?: Target
  /** The keys of the records; the first of them if `count` says that there are more. */
  readonly keys: readonly string[]
  readonly count?: number
}

/** The event of one request that created, updated or removed records of a connection; none if there are no records. */
export function dataRecordEvents(change: Change, written: RecordEvent): NewEvent[] {
  const { connectionId, kind, keys, count = keys.length } = written
  if (count === 0) return []
  const { target = connectionTarget(connectionId) } = written
  const description = describe(change, written, { isOne: count === 1, count })
  return [{ type: `CUSTOM_RESOURCE_RECORD_${change}`, description, target, targets: { kind, ids: keys }, connectionId }]
}

/**
 * The same as a statement, to be part of the statement that writes: one event for the created records and one for the updated ones.
 * `records` is a query that selects `key` and `is_new`.
 */
export function dataRecordEventsInsert(
  by: WriteContext,
  { records, ...kind }: Kind & { records: RawBuilder<unknown> },
) {
  const described = (change: Change) => {
    const [one, several] = [true, false].map((isOne) => describe(change, kind, { isOne, count: '%s' }))
    return sql`format(case count(*) when 1 then ${one}::text else ${several}::text end, count(*))`
  }
  const target = JSON.stringify(connectionTarget(kind.connectionId))
  const rows = sql`
    select
      case when is_new then 'CUSTOM_RESOURCE_RECORD_CREATED' else 'CUSTOM_RESOURCE_RECORD_UPDATED' end as type,
      case when is_new then ${described('CREATED')} else ${described('UPDATED')} end as description,
      jsonb_build_object('targetEntity', ${target}::jsonb,
        'targets', jsonb_build_object('kind', ${kind.kind}::text, 'ids', jsonb_agg(key))) as metadata
    from (${records}) as records
    group by is_new
    order by is_new desc`
  return eventsInsert(by, { category: 'CUSTOM_CONNECTION', connectionId: kind.connectionId, rows })
}

function connectionTarget(connectionId: number): Target {
  return { kind: 'customConnection', id: connectionId }
}

function describe(
  change: Change,
  { noun, connectionId }: Kind,
  { isOne, count }: { isOne: boolean; count: number | string },
): string {
  const [records, were] = isOne ? [noun, 'was'] : [`${noun}s`, 'were']
  return `${count} ${records} of custom connection ${connectionId} ${were} ${change.toLowerCase()}`
}
