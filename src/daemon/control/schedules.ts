import type { ScheduleView, scheduleOperations } from '../../contract/control/schedules.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { type Pause, pausedConnections } from '../../store/connections/pauses.ts'
import { type Purpose, purposes } from '../../store/runs/slots.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { type ConnectionSchedule, latestSlot, nextSlotAt, type Schedule } from '../schedules/schedules.ts'
import { pauseView } from './pauses.ts'
import { requireConnection } from './require-connection.ts'

type ScheduleContext = { readonly sync: SyncContext; readonly schedules: readonly ConnectionSchedule[] }

const maxTimesShown = 10

/** Handlers of the operations about schedules. */
export const scheduleHandlers: Handlers<typeof scheduleOperations, ScheduleContext> = {
  async listSchedules(ctx, { query }) {
    if (query.connection !== undefined) requireConnection(ctx, query.connection)
    const now = ctx.sync.now()
    const paused = await pausedConnections(ctx.sync.store.db, now)
    const meant = ctx.schedules.filter(({ connection }) => connection === (query.connection ?? connection))
    const data = meant.map(({ connection, purpose, schedule }): ScheduleView => {
      const pause = paused.get(connection) ?? null
      return {
        connection,
        purpose,
        cron: schedule.cron,
        timeZone: schedule.timeZone,
        jitterMinutes: schedule.jitter?.minutes ?? 0,
        blackouts: schedule.blackouts?.length ?? 0,
        paused: pause && pauseView(pause),
        next: nextTimes(schedule, { pause, now }).map((at) => at.toISOString()),
      }
    })
    return { status: 200, body: { data } }
  },
}

/** When a connection does something by itself next; immediately after a pause in which something was missed. */
function nextTime(schedule: Schedule, { pause, now }: { pause: Pause | null; now: Date }): Date | null {
  if (pause === null) return nextSlotAt(schedule, now)
  const { since, until } = pause
  if (until === null) return null
  const missed = latestSlot(schedule, until)
  return missed && missed.startsAt > since ? until : nextSlotAt(schedule, until)
}

function nextTimes(schedule: Schedule, state: { pause: Pause | null; now: Date }): Date[] {
  const times: Date[] = []
  for (let at = nextTime(schedule, state); at !== null; at = nextSlotAt(schedule, at)) {
    times.push(at)
    if (times.length === maxTimesShown) break
  }
  return times
}

/** When the connection's next run starts by itself, for any purpose: each run tries again the people that the platform refused. */
export function nextRunAt(ctx: ScheduleContext, connection: string): string | null {
  const times = purposes.flatMap((purpose) => nextAt(ctx, { connection, purpose, pause: null }) ?? [])
  const [first] = times.sort()
  return first ?? null
}

/** When the schedule starts something next. A time in a pause is made up for at its end. */
export function nextAt(
  ctx: ScheduleContext,
  of: { connection: string; purpose: Purpose; pause: Pause | null },
): string | null {
  const match = ctx.schedules.find(({ connection, purpose }) => connection === of.connection && purpose === of.purpose)
  if (!match) return null
  return nextTime(match.schedule, { pause: of.pause, now: ctx.sync.now() })?.toISOString() ?? null
}
