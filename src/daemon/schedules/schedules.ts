import { createHash } from 'node:crypto'
import { Cron, CronPattern } from 'croner'
import type { Purpose } from '../../store/runs/slots.ts'
import { type Blackout, freeFrom, windowAt } from './blackouts.ts'

/** When something happens by itself: a cron line, read in a time zone. */
export type Schedule = {
  readonly cron: string
  readonly timeZone: string
  /** Each slot begins up to so many minutes later. `of` tells schedules with equal cron lines apart, so that they do not begin together. */
  readonly jitter?: { readonly minutes: number; readonly of: string }
  /** When none of its slots begins. */
  readonly blackouts?: readonly Blackout[]
}

/** What a connection does by itself, and when. It has at most one of each purpose. */
export type Scheduled = { readonly connection: string; readonly purpose: Purpose; readonly schedule: Schedule }

/** One time at which a schedule is due. Its name is the same on every machine, so that it is taken once. */
export type Slot = {
  readonly name: string
  /** What the cron line says. */
  readonly at: Date
  /** When it begins: later than that by its jitter, and not before a blackout is over. */
  readonly startsAt: Date
}

// A list of hours counts as fixed times too: such a slot runs after a gap in the clock and once where an hour repeats.
const rules = { mode: '5-part', fixedTimeRule: 'no-wildcard' } as const

/** A slot taken this long after its time was missed rather than met. */
const missedAfterMs = 5 * 60_000

/** The newest slot whose time has come; null where there is none. */
export function latestSlot(schedule: Schedule, now: Date): Slot | null {
  const { blackouts = [] } = schedule
  const cron = cronOf(schedule)
  // Croner looks strictly before the reference; a slot is due in the very moment that it names.
  let before = new Date(now.getTime() + 1)
  for (;;) {
    const [at] = cron.previousRuns(1, before)
    if (!at) return null
    const slot = slotOf(schedule, at)
    if (slot === null || slot.startsAt <= now) return slot
    // What falls into a window that is not over begins at its end, so only what was due before it can have begun.
    const window = windowAt(blackouts, jittered(schedule, at).getTime())
    before = new Date(Math.min(at.getTime(), window?.from ?? at.getTime()))
  }
}

/** What was found last for a schedule, which holds from then until that time. To look at a cron line takes milliseconds. */
const foundNext = new WeakMap<Schedule, { readonly from: Date; readonly at: Date | null }>()

/** When the schedule is due next; null for one that never is again. */
export function nextSlotAt(schedule: Schedule, now: Date): Date | null {
  const found = foundNext.get(schedule)
  if (found && found.from <= now && (found.at === null || now < found.at)) return found.at
  const at = lookForNext(schedule, now)
  foundNext.set(schedule, { from: now, at })
  return at
}

function lookForNext(schedule: Schedule, now: Date): Date | null {
  const cron = cronOf(schedule)
  const [last] = cron.previousRuns(1, new Date(now.getTime() + 1))
  const pending = last && slotOf(schedule, last)
  const coming = cron.nextRun(now)
  const next = coming && slotOf(schedule, coming)
  const times = [pending, next].flatMap((slot) => (slot && slot.startsAt > now ? [slot.startsAt] : []))
  return times.toSorted((a, b) => a.getTime() - b.getTime()).at(0) ?? null
}

/** A slot that is due. */
export type Due = { readonly connection: string; readonly purpose: Purpose; readonly slot: string }

export type ScheduleTasks = {
  readonly now: () => Date
  /** True where a slot of the connection for this purpose was taken before. */
  readonly hasHistory: (of: Pick<Due, 'connection' | 'purpose'>) => Promise<boolean>
  /** Notes a slot as taken without a run. */
  readonly pass: (due: Due) => Promise<void>
  /** Takes the slot and asks for its run in one step. While the connection is paused the slot stays due. */
  readonly take: (due: Due) => Promise<'taken' | 'taken before' | 'paused'>
  readonly missed: (due: Due) => void
  /** Told what went wrong with a slot, which stays due. */
  readonly failed: (error: unknown) => void
}

/**
 * Returns the function that takes whatever slot is due, to be called at start and then again and again. A slot that passed while
 * nobody ran is simply still due; of several only the newest is taken. A schedule's very first slot is passed over:
 * before it there was nobody to miss anything.
 */
export function createSchedules(all: readonly Scheduled[], tasks: ScheduleTasks): () => Promise<void> {
  const settled = new Map<Scheduled, string>()

  return async function takeDueSlots(): Promise<void> {
    for (const scheduled of all) {
      const slot = latestSlot(scheduled.schedule, tasks.now())
      if (!slot || settled.get(scheduled) === slot.name) continue
      // One connection that cannot be asked for keeps no other one back.
      try {
        if (await settle(scheduled, slot)) settled.set(scheduled, slot.name)
      } catch (error) {
        tasks.failed(error)
      }
    }
  }

  /** False if the slot is still due. */
  async function settle({ connection, purpose }: Scheduled, slot: Slot): Promise<boolean> {
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

/** Null: its blackouts never end. */
function slotOf(schedule: Schedule, at: Date): Slot | null {
  const startsAt = freeFrom(schedule.blackouts ?? [], jittered(schedule, at))
  return startsAt && { name: slotName(schedule, at), at, startsAt }
}

/** The same on every machine, so that all processes take a slot at the same time. */
function jittered(schedule: Schedule, at: Date): Date {
  const { minutes, of } = schedule.jitter ?? { minutes: 0, of: '' }
  if (minutes === 0) return at
  const drawn =
    createHash('sha256')
      .update(`${of} ${slotName(schedule, at)}`)
      .digest()
      .readUInt32BE() /
    2 ** 32
  return new Date(at.getTime() + Math.floor(drawn * minutes * 60) * 1000)
}

/** The local date and time; where an hour repeats and the schedule runs in both, the offset tells them apart. */
function slotName(schedule: Schedule, at: Date): string {
  const local = Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(schedule.timeZone)
  const name = local.toPlainDateTime().toString({ smallestUnit: 'minute' })
  const isFixed = new CronPattern(schedule.cron, schedule.timeZone, rules).isFixedTime
  return isFixed ? name : `${name}${local.offset}`
}

function cronOf({ cron, timeZone }: Schedule): Cron {
  return new Cron(cron, { ...rules, timezone: timeZone, paused: true })
}
