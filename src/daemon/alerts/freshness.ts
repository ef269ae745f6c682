import type { ConditionSettings, Freshness } from '../../store/alerts/conditions.ts'
import type { AlertSettings } from '../config/channel.ts'
import { latestSlot, nextSlotAt, type Schedule, type Slot } from '../schedules/schedules.ts'

/** What is watched: the connections of the configuration, the sources among them, and how many hours their departures may take. */
export type MonitoredConnections = {
  readonly connections: readonly string[]
  readonly sources: readonly MonitoredSource[]
  readonly leaverBounds: ReadonlyMap<string, number>
}

export type MonitoredSource = {
  readonly connection: string
  readonly mode: 'snapshot' | 'delta'
  /** An export that someone has to write. A list that is asked for over HTTP is as fresh as the answer. */
  readonly isFile: boolean
  /** When it is read by itself; null: only when asked. */
  readonly schedule: Schedule | null
}

const hourMs = 60 * 60_000
/** How long after a missed slot something is wrong: half of the way to the next one, within these bounds. */
const leastGraceMs = hourMs
const mostGraceMs = 12 * hourMs
/** An export may be named by its day, and be read in the night after it. */
const exportLagMs = 24 * hourMs

/** By what the conditions are found at this time. */
export function conditionSettings(
  { connections, sources, leaverBounds }: MonitoredConnections,
  { overdueMinutes, pausedHours, freshHours }: Pick<AlertSettings, 'overdueMinutes' | 'pausedHours' | 'freshHours'>,
  now: Date,
): ConditionSettings {
  const freshness = sources.flatMap((source) => freshnessOf(source, freshHours, now) ?? [])
  return { connections, overdueMinutes, pausedHours, leaverBounds, freshness, now }
}

/** How fresh a source has to be by now; null if nothing says that it is read at all. */
export function freshnessOf(source: MonitoredSource, freshHours: number | null, now: Date): Freshness | null {
  const { connection, mode, isFile, schedule } = source
  // A delta names only those who changed: none at all is nothing unusual.
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

/** The newest slot that is so long ago that its run must have begun; null if there is none. */
function missedSlot(schedule: Schedule, now: Date): Slot | null {
  let slot = latestSlot(schedule, new Date(now.getTime() - leastGraceMs))
  while (slot && slot.startsAt.getTime() + graceMs(schedule, slot) > now.getTime()) slot = slotBefore(schedule, slot)
  return slot
}

function slotBefore(schedule: Schedule, { at }: Slot): Slot | null {
  return latestSlot(schedule, new Date(at.getTime() - 1))
}

function graceMs(schedule: Schedule, { startsAt }: Slot): number {
  const next = nextSlotAt(schedule, startsAt)
  const half = next ? (next.getTime() - startsAt.getTime()) / 2 : mostGraceMs
  return Math.min(mostGraceMs, Math.max(leastGraceMs, half))
}
