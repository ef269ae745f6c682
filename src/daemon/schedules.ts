import { Cron, CronPattern } from 'croner'

/** When a connection runs by itself: a cron line, read in a time zone. */
export type Schedule = { readonly cron: string; readonly timeZone: string }

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

export type ScheduleTasks = {
  readonly now: () => Date
  /** True where a slot of the connection was taken before. */
  readonly hasHistory: (connection: string) => Promise<boolean>
  /** Notes a slot as taken without a run. */
  readonly pass: (due: { connection: string; slot: string }) => Promise<void>
  /** Takes the slot and asks for its run in one step; false where it was taken before. */
  readonly take: (due: { connection: string; slot: string }) => Promise<boolean>
  readonly missed: (due: { connection: string; slot: string }) => void
}

/**
 * Returns the function that takes whatever slot is due, to be called at start and then again and again. A slot that passed while
 * nobody ran is simply still due; of several only the newest is taken. A connection's very first slot is passed over:
 * before it there was nobody to miss anything.
 */
export function createSchedules(schedules: ReadonlyMap<string, Schedule>, tasks: ScheduleTasks): () => Promise<void> {
  const settled = new Map<string, string>()

  return async function takeDueSlots(): Promise<void> {
    for (const [connection, schedule] of schedules) {
      const slot = latestSlot(schedule, tasks.now())
      if (!slot || settled.get(connection) === slot.name) continue
      await settle(connection, slot)
      settled.set(connection, slot.name)
    }
  }

  async function settle(connection: string, slot: Slot): Promise<void> {
    const due = { connection, slot: slot.name }
    if (!(await tasks.hasHistory(connection))) return await tasks.pass(due)
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
