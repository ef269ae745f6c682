import { type RawBuilder, sql } from 'kysely'
import { type LeaverFinding, type LeaverState, leaverFindings } from '../../contract/control/leavers.ts'
import type { DepartureTimes } from '../../identity/departure-times.ts'
import type { OwnField } from '../../identity/record.ts'
import { departureWaits } from '../roster/left-out-people.ts'
import { desiredName, desiredValue } from '../roster/names.ts'
import type { Db, PreviousDate } from '../schema.ts'

/** The platform's identity sync runs once a night; a day of grace follows. */
const graceHours = 48

/** A departure with its times and its state. */
export type StoredLeaver = DepartureTimes & {
  readonly connection: string
  readonly identityId: string
  readonly name: string | null
  readonly email: string | null
  readonly state: LeaverState
  readonly runId: string
  readonly effectiveOn: string
  readonly inferred: boolean
  readonly statedBy: string | null
  readonly formerDates: PreviousDate[]
  readonly acceptedAt: string | null
  readonly sentAt: string | null
  readonly checkedAt: string | null
  readonly foundStatus: string | null
  readonly finding: LeaverFinding | null
  readonly findingDetail: string | null
  readonly endedAt: string | null
}

type LeaverFilter = {
  readonly connections: readonly string[]
  readonly now: Date
  /** The own field with the name, for connections with records. */
  readonly labels?: Readonly<Record<string, OwnField>>
} & (
  | { readonly from: string; readonly to: string }
  | { readonly identityId: string }
  | { readonly notEffective: true; readonly after?: { connection: string; identityId: string }; readonly limit: number }
)

const notEffective = [...Object.entries(leaverFindings)].flatMap(([code, { unread }]) => (unread ? [] : [code]))

/** In SQL, whether a departure is acknowledged and still not effective in the personnel. */
function isNotEffective(now: Date): RawBuilder<boolean> {
  const before = new Date(now.getTime() - graceHours * 60 * 60_000)
  return sql<boolean>`(leavers.ended_at is null and leavers.visible_at is null and leavers.finding = any(${notEffective})
    and greatest(leavers.acknowledged_at, leavers.effective_at) <= ${before})`
}

type Row = {
  readonly [K in 'connection' | 'identity_id' | 'run_id' | 'effective_on' | 'state']: string
} & {
  readonly [K in 'effective_at' | 'stated_at' | 'first_seen_at']: Date
} & {
  readonly [K in 'accepted_at' | 'sent_at' | 'acknowledged_at' | 'visible_at' | 'checked_at' | 'ended_at']: Date | null
} & {
  readonly [K in 'platform_status' | 'finding' | 'finding_detail' | 'stated_by' | 'name' | 'email']: string | null
} & { readonly inferred: boolean; readonly joined_as_leaver: boolean; readonly previous_dates: PreviousDate[] }

/** Lists departures by connection, last day and key; those of one person the newest first. */
export async function listLeavers(db: Db, filter: LeaverFilter): Promise<StoredLeaver[]> {
  const { connections, now, labels = {} } = filter
  const label = sql`roster.desired ->> (${JSON.stringify(labels)}::jsonb ->> leavers.connection)`
  const { rows } = await sql<Row>`
    select leavers.*, coalesce(${desiredName()}, ${label}) as name, ${desiredValue('email')} as email,
      case
        when leavers.ended_as is not null then leavers.ended_as
        when leavers.visible_at is not null then 'effective'
        when ${isNotEffective(now)} then 'not_effective'
        when leavers.acknowledged_at is not null then 'acknowledged'
        when leavers.accepted_at is not null and roster.deferred_to is not null and not roster.is_by_operator then 'waiting'
        when leavers.accepted_at is not null then 'sending'
        when runs.state in ('planned', 'held') or ${departureWaits} then 'held'
        else 'dropped'
      end as state
    from leavers
    left join roster on roster.connection = leavers.connection and roster.identity_id = leavers.identity_id
    left join runs on runs.id = leavers.run_id
    where leavers.connection = any(${connections}) and ${isChosen(filter)}`.execute(db)
  return rows.map(toLeaver)
}

function isChosen(filter: LeaverFilter): RawBuilder<unknown> {
  if ('identityId' in filter) {
    return sql`leavers.identity_id = ${filter.identityId} order by leavers.id desc limit 20`
  }
  if ('notEffective' in filter) {
    const { now, after = { connection: '', identityId: '' }, limit } = filter
    return sql`${isNotEffective(now)}
      and (leavers.connection collate "C", leavers.identity_id) > (${after.connection}, ${after.identityId})
      order by leavers.connection collate "C", leavers.identity_id limit ${limit}`
  }
  return sql`leavers.effective_on between ${filter.from} and ${filter.to}
    order by leavers.connection collate "C", leavers.effective_on, leavers.identity_id, leavers.id`
}

function toLeaver(row: Row): StoredLeaver {
  return {
    connection: row.connection,
    identityId: row.identity_id,
    name: row.name,
    email: row.email,
    state: row.state as LeaverState,
    runId: row.run_id,
    effectiveOn: row.effective_on,
    effectiveAt: row.effective_at.toISOString(),
    inferred: row.inferred,
    joinedLeft: row.joined_as_leaver,
    formerDates: row.previous_dates,
    statedAt: row.stated_at.toISOString(),
    statedBy: row.stated_by,
    firstSeenAt: row.first_seen_at.toISOString(),
    acceptedAt: row.accepted_at?.toISOString() ?? null,
    sentAt: row.sent_at?.toISOString() ?? null,
    acknowledgedAt: row.acknowledged_at?.toISOString() ?? null,
    visibleAt: row.visible_at?.toISOString() ?? null,
    checkedAt: row.checked_at?.toISOString() ?? null,
    foundStatus: row.platform_status,
    finding: row.finding as LeaverFinding | null,
    findingDetail: row.finding_detail,
    endedAt: row.ended_at?.toISOString() ?? null,
  }
}
