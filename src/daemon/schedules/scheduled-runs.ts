import { pauseOf } from '../../store/connections/pauses.ts'
import { addWaitingRun, ensureConnection, type FeedName } from '../../store/runs/runs.ts'
import { hasTakenSlots, slotKey, takeSlot } from '../../store/runs/slots.ts'
import type { RunOptions } from '../../store/schema.ts'
import { enqueueDue, mainFeed, type SyncContext } from '../../sync/sync.ts'
import type { Due, ScheduleTasks } from './schedules.ts'

/** The tasks of schedules on the store. A slot and the run it requests are stored in one transaction. */
export function scheduleTasks(sync: SyncContext): ScheduleTasks {
  const { db } = sync.store
  return {
    now: sync.now,
    hasHistory: (of) => hasTakenSlots(db, of),
    async pass(due) {
      await takeSlot(db, { ...due, now: sync.now() })
    },
    async take(due) {
      const { connection } = due
      const now = sync.now()
      if (await pauseOf(db, { connection, now })) return 'paused'
      const runId = await db.transaction().execute(async (tx) => {
        if (!(await takeSlot(tx, { ...due, now }))) return null
        await ensureConnection(tx, connection)
        return await addWaitingRun(tx, { connection, trigger: 'schedule', ...runOf(sync, due), now })
      })
      if (runId === null) return 'taken before'
      sync.events.runRequested({ runId, connection, trigger: 'schedule' })
      await enqueueDue(sync, connection)
      return 'taken'
    },
    failed: (error) => sync.events.unexpected({ during: 'schedules', error }),
    missed: (due) => sync.events.scheduleMissed({ connection: due.connection, slot: slotKey(due) }),
  }
}

/** What the run of a slot reads. A verification reads the roster, since it needs nothing new from HR. */
function runOf({ connections }: SyncContext, { connection, purpose }: Due): { feed: FeedName; options: RunOptions } {
  if (purpose !== 'read') return { feed: 'roster', options: { [purpose]: true } }
  const known = connections.get(connection)
  return { feed: known ? mainFeed(known) : 'source', options: {} }
}
