import { setImmediate } from 'node:timers/promises'
import { openAlerts } from '../../store/alerts/alerts.ts'
import { noProblems, problemCounts } from '../../store/deliveries/problems.ts'
import { openLeavers } from '../../store/measures.ts'
import { openStatements } from '../../store/open-statements.ts'
import { countBlockedPeople } from '../../store/rejects/blocked-people.ts'
import type { Db } from '../../store/schema.ts'
import {
  type AcknowledgedDepartures,
  firstRuns,
  type HeldPlan,
  heldBackCounts,
  type WeekCounts,
  weekAcknowledged,
  weekCounts,
  weekHeldPlans,
  weekReadings,
} from '../../store/weekly/week.ts'
import { textsOf } from '../alerts/kinds.ts'
import { type Schedule, slotsWithin } from '../schedules/schedules.ts'

/** What a summary is about. */
export type WeekQuery = {
  /** The connections, each with the schedule by which it is read; null: only on request. */
  readonly connections: ReadonlyMap<string, Schedule | null>
  /** The connections without the rule of two people. */
  readonly connectionsWithoutTwoPeople: readonly string[]
  readonly from: Date
  readonly to: Date
  readonly now: Date
}

/** The week of one connection. */
export type ConnectionWeek = WeekCounts & {
  /** How often the schedule was due, and the times without a complete reading. Null: there is no schedule, or one of every few minutes. */
  readonly readings: { readonly due: number; readonly missed: readonly Date[] } | null
  readonly acknowledged: Pick<AcknowledgedDepartures, 'people' | 'slowestSeconds'> | null
  /** Departures whose day is over, and that the platform has not acknowledged. */
  readonly unacknowledged: number
  readonly held: readonly HeldPlan[]
  /** What the open alerts say, in a few words each. */
  readonly alerts: readonly string[]
  /** People whom the platform refuses or whose delivery fails, and people who cannot be sent. */
  readonly problems: number
  readonly blocked: number
  readonly heldBack: number
  /** Stated departures that need a person. */
  readonly stated: number
}

/** The times of a schedule that is due more often are not listed. */
const maxSlots = 200

/** The week of each connection, in the order of the query. */
export async function readWeek(db: Db, query: WeekQuery): Promise<readonly ConnectionWeek[]> {
  const { now, connectionsWithoutTwoPeople } = query
  const names = [...query.connections.keys()]
  const period = { connections: names, from: query.from, to: query.to }
  const counts = byConnection(await weekCounts(db, period))
  const readings = await weekReadings(db, period)
  const first = await firstRuns(db, names)
  const acknowledged = byConnection(await weekAcknowledged(db, period))
  const held = Map.groupBy(await weekHeldPlans(db, period), ({ connection }) => connection)
  const alerts = Map.groupBy(await openAlerts(db), ({ connection }) => connection)
  const problems = await problemCounts(db, { now })
  const blocked = await countBlockedPeople(db, { now })
  const open = await openLeavers(db, now)
  const heldBack = await heldBackCounts(db, now)
  const statements = await openStatements(db, { connections: names, connectionsWithoutTwoPeople, now })
  const stated = new Map(statements.map((one) => [one.name, one.people]))
  const dueTimes = slotsWithin({ from: query.from, to: query.to, max: maxSlots })
  const weeks: ConnectionWeek[] = []
  for (const connection of names) {
    // Evaluating a schedule takes milliseconds, and a daemon with a thousand has other work.
    await setImmediate()
    const schedule = query.connections.get(connection) ?? null
    const due = schedule && dueTimes(schedule)
    const { refused, undelivered } = problems.get(connection) ?? noProblems
    weeks.push({
      ...(counts.get(connection) ?? { connection, joiners: 0, changed: 0, leavers: 0, failed: 0 }),
      readings:
        due && readingsOf(due, { read: readings.get(connection) ?? [], first: first.get(connection), to: query.to }),
      acknowledged: acknowledged.get(connection) ?? null,
      unacknowledged: open.get(connection)?.people ?? 0,
      held: held.get(connection) ?? [],
      alerts: (alerts.get(connection) ?? []).map((alert) => textsOf(alert).headline),
      problems: refused.people + undelivered.people,
      blocked: blocked.get(connection)?.people ?? 0,
      heldBack: heldBack.get(connection) ?? 0,
      stated: stated.get(connection) ?? 0,
    })
  }
  return weeks
}

function byConnection<T extends { readonly connection: string }>(rows: readonly T[]): ReadonlyMap<string, T> {
  return new Map(rows.map((row) => [row.connection, row]))
}

type ReadTimes = {
  readonly read: readonly Date[]
  /** When the first run of the connection was requested; undefined: it had none. Times before it were not missed. */
  readonly first: Date | undefined
  readonly to: Date
}

function readingsOf(due: readonly Date[], { read, first, to }: ReadTimes): ConnectionWeek['readings'] {
  const slots = due
    .map((slot, index) => ({ slot, next: due[index + 1] ?? to }))
    .filter(({ next }) => first === undefined || next > first)
  const missed = slots.filter(({ slot, next }) => !read.some((at) => at >= slot && at < next))
  return { due: slots.length, missed: missed.map(({ slot }) => slot) }
}
