import { Cron, CronPattern } from 'croner'
import type { Purpose } from '../../store/runs/slots.ts'

/** When something happens by itself: a cron line, read in a time zone. */
export type Schedule = { readonly cron: string; readonly timeZone: string }

/** What a connection does by itself, and when. It has at most one of each purpose. */
export type Scheduled = { readonly connection: string; readonly purpose: Purpose; readonly schedule: Schedule }

/** One time at which a schedule is due. Its name is the same on every machine, so that it is taken once. */
export type Slot = { readonly name: string; readonly at: Date }

// A list of hours counts as fixed times too: such a slot runs after a gap in the clock and once where an hour repeats.
const rules = { mode: '5-part', fixedTimeRule: 'no-wildcard' } as const

/** A slot taken this long after its time was missed rather than met. */
const missedAfterMs = 5 * 60_000

/** The newest slot whose time has come; null where there is none. */
export function latestSlot(schedule: Schedule, now: Date): Slot | null {
  // Croner looks strictly before the reference; a slot is due in the very moment that it names.
  const [at] = cronOf(schedule).previousRuns(1, new Date(now.getTime() + 1))
  return at ? { name: slotName(schedule, at), at } : null
}

/** When the schedule is due next; null for one that never is again. */
export function nextSlotAt(schedule: Schedule, now: Date): Date | null {
  return cronOf(schedule).nextRun(now)
}

/** A slot that is due. */
export type Due = { readonly connection: string; readonly purpose: Purpose; readonly slot: string }

export type ScheduleTasks = {
  readonly now: () => Date
  /** True where a slot of the connection for this purpose was taken before. */
  readonly hasHistory: (of: Pick<Due, 'connection' | 'purpose'>) => Promise<boolean>
  /** Notes a slot as taken without a run. */
  readonly pass: (due: Due) => Promise<void>
  /** Takes the slot and asks for its run in one step; false where it was taken before. */
  readonly take: (due: Due) => Promise<boolean>
  readonly missed: (due: Due) => void
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
      await settle(scheduled, slot)
      settled.set(scheduled, slot.name)
    }
  }

  async function settle({ connection, purpose }: Scheduled, slot: Slot): Promise<void> {
    const due = { connection, purpose, slot: slot.name }
    if (!(await tasks.hasHistory(due))) return await tasks.pass(due)
    const lateMs = tasks.now().getTime() - slot.at.getTime()
    if ((await tasks.take(due)) && lateMs > missedAfterMs) tasks.missed(due)
  }
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
