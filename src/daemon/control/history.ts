import type { ConnectionDay, historyOperations } from '../../contract/control/history.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { headcount } from '../../store/roster/roster.ts'
import { acceptedByDay, knownAtFirstPlans } from '../../store/runs/history.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { requireConnection } from './require-connection.ts'

const noChanges = { join: 0, update: 0, leave: 0, return: 0, correct: 0, retract: 0 }

/** Handlers of the operations about the history of connections. */
export const historyHandlers: Handlers<typeof historyOperations, { readonly sync: SyncContext }> = {
  async connectionHistory(ctx, { params: { connection }, query }) {
    requireConnection(ctx, connection)
    const { db } = ctx.sync.store
    const timeZone = zoneOf(ctx.sync, connection)
    const today = Temporal.Instant.from(ctx.sync.now().toISOString()).toZonedDateTimeISO(timeZone).toPlainDate()
    const first = today.subtract({ days: query.days - 1 })
    const since = new Date(first.toZonedDateTime(timeZone).epochMilliseconds)
    const period = { connection, timeZone, since }
    const accepted = new Map((await acceptedByDay(db, period)).map((day) => [day.day, day]))
    const known = new Map((await knownAtFirstPlans(db, period)).map((day) => [day.day, day]))
    const days: ConnectionDay[] = []
    // From today back: what the first plan of a day found also held since the plans of the days before.
    let { people, separated }: { people: number | null; separated: number | null } = await headcount(db, connection)
    for (let day = today; Temporal.PlainDate.compare(day, first) >= 0; day = day.subtract({ days: 1 })) {
      const { runs = 0, changes = noChanges } = accepted.get(day.toString()) ?? {}
      days.push({ day: day.toString(), people, separated, runs, changes })
      const before = known.get(day.toString())
      if (before) ({ people, separated } = before)
      // Runs of that day know nothing about the days before it.
      else if (runs > 0) [people, separated] = [null, null]
    }
    return { status: 200, body: { connection, timeZone, days: days.reverse() } }
  },
}

/** The time zone in which a connection is read. */
function zoneOf({ connections }: SyncContext, name: string): string {
  const { source, webhook } = connections.get(name)?.feeds ?? {}
  return (source ?? webhook)?.timeZone ?? 'UTC'
}
