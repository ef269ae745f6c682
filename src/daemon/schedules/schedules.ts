import { createHash } from 'node:crypto'
import type { Purpose } from '../../store/runs/slots.ts'
import { type Blackout, freeFrom, windowAt } from './blackouts.ts'
import { cronOf, timeAfter, timeBefore, timeName } from './cron.ts'

/** When something happens regularly: a cron line and its time zone. */
export type Schedule = {
  readonly cron: string
  readonly timeZone: string
  /** Delays each slot by up to `minutes`. `of` distinguishes schedules with equal cron lines, so that their delays differ. */
  readonly jitter?: { readonly minutes: number; readonly of: string }
  /** Periods in which no slot begins. */
  readonly blackouts?: readonly Blackout[]
}

/** A schedule of a connection. A connection has at most one for each purpose. */
export type ConnectionSchedule = { readonly connection: string; readonly purpose: Purpose; readonly schedule: Schedule }

/** A time at which a schedule is due. All machines compute the same name, so that a slot is taken once. */
export type Slot = {
  readonly name: string
  /** The time of the cron line. */
  readonly at: Date
  /** When it begins: after the jitter, and after the end of a blackout. */
  readonly startsAt: Date
}

/** A slot that is taken later than this was missed. */
const missedAfterMs = 5 * 60_000

/** The newest slot whose time has come; null if there is none. */
export function latestSlot(schedule: Schedule, now: Date): Slot | null {
  const { blackouts = [] } = schedule
  // A slot is due at its exact time.
  let before = new Date(now.getTime() + 1)
  for (;;) {
    const at = timeBefore(schedule, before)
    if (at === null) return null
    const slot = slotOf(schedule, at)
    if (slot === null || slot.startsAt <= now) return slot
    // A slot in a window that is not over begins at its end; only slots before the window can have begun.
    const window = windowAt(blackouts, jittered(schedule, at).getTime())
    before = new Date(Math.min(at.getTime(), window?.from ?? at.getTime()))
  }
}

/** The last result for each schedule, valid from then until the slot: evaluating a cron line takes milliseconds. */
const cachedNext = new WeakMap<Schedule, { readonly from: Date; readonly at: Date | null }>()

/** When the next slot begins; null if there is none. */
export function nextSlotAt(schedule: Schedule, now: Date): Date | null {
  const cached = cachedNext.get(schedule)
  if (cached && cached.from <= now && (cached.at === null || now < cached.at)) return cached.at
  const at = findNext(schedule, now)
  cachedNext.set(schedule, { from: now, at })
  return at
}

function findNext(schedule: Schedule, now: Date): Date | null {
  const last = timeBefore(schedule, new Date(now.getTime() + 1))
  const pending = last && slotOf(schedule, last)
  const coming = timeAfter(schedule, now)
  const next = coming && slotOf(schedule, coming)
  const times = [pending, next].flatMap((slot) => (slot && slot.startsAt > now ? [slot.startsAt] : []))
  return times.toSorted((a, b) => a.getTime() - b.getTime()).at(0) ?? null
}

/** A period, and how often a schedule may be due in it for its slots to be listed. */
type SlotPeriod = { readonly from: Date; readonly to: Date; readonly max: number }

/**
 * Returns a function that lists when the slots of a schedule begin in a period, its end excluded; null if there are more than `max`. Cron
 * lines that many schedules share are evaluated once, since each takes milliseconds.
 */
export function slotsWithin(period: SlotPeriod): (schedule: Schedule) => readonly Date[] | null {
  const { from, to } = period
  const evaluated = new Map<string, readonly Date[] | null>()

  function timesOf(schedule: Schedule): readonly Date[] | null {
    const line = JSON.stringify([schedule.cron, schedule.timeZone])
    const times = evaluated.has(line) ? evaluated.get(line) : cronTimes(schedule, period)
    evaluated.set(line, times ?? null)
    return times ?? null
  }

  return (schedule) => {
    const starts = timesOf(schedule)?.flatMap((at) => freeFrom(schedule.blackouts ?? [], jittered(schedule, at)) ?? [])
    if (starts === undefined) return null
    // Slots of one blackout begin together at its end.
    const times = new Set(starts.filter((at) => at >= from && at < to).map((at) => at.getTime()))
    return [...times].toSorted((a, b) => a - b).map((time) => new Date(time))
  }
}

/** The times of a cron line in a period, and the last one before it, which may begin in it. */
function cronTimes(schedule: Schedule, { from, to, max }: SlotPeriod): readonly Date[] | null {
  const cron = cronOf(schedule)
  const times = cron.nextRuns(max + 1, new Date(from.getTime() - 1)).filter((at) => at < to)
  return times.length > max ? null : [...cron.previousRuns(1, from), ...times]
}

/** A slot that is due. */
export type Due = { readonly connection: string; readonly purpose: Purpose; readonly slot: string }

/** What schedules do with their slots. */
export type ScheduleTasks = {
  readonly now: () => Date
  /** Whether a slot of the connection for this purpose was taken before. */
  readonly hasHistory: (of: Pick<Due, 'connection' | 'purpose'>) => Promise<boolean>
  /** Records a slot as taken without a run. */
  readonly pass: (due: Due) => Promise<void>
  /** Takes the slot and requests its run in one transaction. While the connection is paused the slot stays due. */
  readonly take: (due: Due) => Promise<'taken' | 'taken before' | 'paused'>
  readonly missed: (due: Due) => void
  /** Called with the error of a slot, which stays due. */
  readonly failed: (error: unknown) => void
}

/**
 * Returns a function that takes all due slots, to be called at the start and then regularly. A slot that passed while no process ran is
 * still due; of several, only the newest is taken. The first slot of a new schedule is skipped, since nothing was missed before it.
 */
export function createSchedules(all: readonly ConnectionSchedule[], tasks: ScheduleTasks): () => Promise<void> {
  const done = new Map<ConnectionSchedule, string>()

  return async function takeDueSlots(): Promise<void> {
    for (const scheduled of all) {
      const slot = latestSlot(scheduled.schedule, tasks.now())
      if (!slot || done.get(scheduled) === slot.name) continue
      // An error of one connection does not delay the others.
      try {
        if (await takeSlot(scheduled, slot)) done.set(scheduled, slot.name)
      } catch (error) {
        tasks.failed(error)
      }
    }
  }

  /** False if the slot is still due. */
  async function takeSlot({ connection, purpose }: ConnectionSchedule, slot: Slot): Promise<boolean> {
    const due = { connection, purpose, slot: slot.name }
    if (!(await tasks.hasHistory(due))) {
      await tasks.pass(due)
      return true
    }
    const lateMs = tasks.now().getTime() - slot.startsAt.getTime()
    const outcome = await tasks.take(due)
    if (outcome === 'taken' && lateMs > missedAfterMs) tasks.missed(due)
    return outcome !== 'paused'
  }
}

/** Null if its blackouts never end. */
function slotOf(schedule: Schedule, at: Date): Slot | null {
  const startsAt = freeFrom(schedule.blackouts ?? [], jittered(schedule, at))
  return startsAt && { name: timeName(schedule, at), at, startsAt }
}

/** Derived from a hash, so that all processes compute the same delay. */
function jittered(schedule: Schedule, at: Date): Date {
  const { minutes, of } = schedule.jitter ?? { minutes: 0, of: '' }
  if (minutes === 0) return at
  const fraction =
    createHash('sha256')
      .update(`${of} ${timeName(schedule, at)}`)
      .digest()
      .readUInt32BE() /
    2 ** 32
  return new Date(at.getTime() + Math.floor(fraction * minutes * 60) * 1000)
}
