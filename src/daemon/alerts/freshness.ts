import type { ConditionSettings, Freshness } from '../../store/alerts/condition.ts'
import type { AlertSettings } from '../config/channel.ts'
import { latestSlot, nextSlotAt, type Schedule, type Slot } from '../schedules/schedules.ts'

/** The connections and sources that alerts are about, and how many hours their departures may take. */
export type MonitoredConnections = {
  readonly connections: readonly string[]
  /** The connections without the rule of two people. */
  readonly connectionsWithoutTwoPeople?: readonly string[]
  /** The lists of accounts. */
  readonly directories?: readonly string[]
  /** The connections whose faults are mailed to HR. */
  readonly connectionsWithHrMails?: readonly string[]
  /** The connections that the weekly summary is about. */
  readonly connectionsWithWeeklyMails?: readonly string[]
  readonly sources: readonly MonitoredSource[]
  /** The connections that are pushed over SCIM. */
  readonly scimConnections?: readonly string[]
  readonly maxLeaverHours: ReadonlyMap<string, number>
}

/** A source whose exports must arrive in time. */
export type MonitoredSource = {
  readonly connection: string
  readonly mode: 'snapshot' | 'delta'
  /** True for an export that somebody writes. A list fetched over HTTP is always fresh. */
  readonly isFile: boolean
  /** When the daemon reads it; null: only on request. */
  readonly schedule: Schedule | null
}

const hourMs = 60 * 60_000
/** An alert is due half-way from a missed slot to the next one, within these bounds. */
const minGraceMs = hourMs
const maxGraceMs = 12 * hourMs
/** An export named by its day may be read in the following night. */
const exportLagMs = 24 * hourMs
/** Some senders send nothing while nothing changes. */
const maxSilenceHours = 7 * 24

type JudgedSettings = Pick<
  AlertSettings,
  'overdueMinutes' | 'pausedHours' | 'maxNotEffective' | 'contradictedNights' | 'maxGhosts' | 'freshHours'
>

/** The settings by which alert conditions are checked at this time. */
export function conditionSettings(
  {
    connections,
    connectionsWithoutTwoPeople = [],
    directories = [],
    connectionsWithHrMails = [],
    connectionsWithWeeklyMails = [],
    sources,
    scimConnections = [],
    maxLeaverHours,
  }: MonitoredConnections,
  { freshHours, ...limits }: JudgedSettings,
  now: Date,
): ConditionSettings {
  const freshness = sources.flatMap((source) => freshnessOf(source, freshHours, now) ?? [])
  const requestedSince = new Date(now.getTime() - Math.max(freshHours ?? 0, maxSilenceHours) * hourMs)
  const senders = scimConnections.map((connection) => ({ connection, requestedSince }))
  const { overdueMinutes, pausedHours, maxNotEffective, contradictedNights, maxGhosts } = limits
  const bounds = { overdueMinutes, pausedHours, maxNotEffective, contradictedNights, maxGhosts, maxLeaverHours }
  return {
    connections,
    connectionsWithoutTwoPeople,
    directories,
    connectionsWithHrMails,
    connectionsWithWeeklyMails,
    ...bounds,
    freshness,
    pushed: senders,
    now,
  }
}

/** How fresh a source must be by now; null if it is not read regularly. */
export function freshnessOf(source: MonitoredSource, freshHours: number | null, now: Date): Freshness | null {
  const { connection, mode, isFile, schedule } = source
  // A delta lists only changes, so an empty or missing one is normal.
  const isRenewed = isFile && mode === 'snapshot'
  const rules = { connection, acceptsUnchanged: !isRenewed }
  if (freshHours !== null) {
    const since = new Date(now.getTime() - freshHours * hourMs)
    return { ...rules, readSince: since, asOfSince: isRenewed ? since : null }
  }
  const slot = schedule && missedSlot(schedule, now)
  if (!schedule || !slot) return null
  const before = slotBefore(schedule, slot)?.at
  const asOfSince = isRenewed && before ? new Date(before.getTime() - exportLagMs) : null
  return { ...rules, readSince: slot.at, asOfSince }
}

/** The newest slot whose grace period is over; null if there is none. */
function missedSlot(schedule: Schedule, now: Date): Slot | null {
  let slot = latestSlot(schedule, new Date(now.getTime() - minGraceMs))
  while (slot && slot.startsAt.getTime() + graceMs(schedule, slot) > now.getTime()) slot = slotBefore(schedule, slot)
  return slot
}

function slotBefore(schedule: Schedule, { at }: Slot): Slot | null {
  return latestSlot(schedule, new Date(at.getTime() - 1))
}

function graceMs(schedule: Schedule, { startsAt }: Slot): number {
  const next = nextSlotAt(schedule, startsAt)
  const half = next ? (next.getTime() - startsAt.getTime()) / 2 : maxGraceMs
  return Math.min(maxGraceMs, Math.max(minGraceMs, half))
}
