import { lastSlot, takeSlot } from '../store/connections.ts'
import { addWaitingRun, ensureConnection } from '../store/runs.ts'
import { mainFeed, type SyncContext, sweep } from '../sync/sync.ts'
import type { ScheduleTasks } from './schedules.ts'

/** What a schedule does with its slots, on the store: a slot and the run that it asks for are noted together or not at all. */
export function scheduleTasks(sync: SyncContext): ScheduleTasks {
  const { db } = sync.store
  return {
    now: sync.now,
    hasHistory: async (connection) => (await lastSlot(db, connection)) !== null,
    async pass({ connection, slot }) {
      await takeSlot(db, { connection, slot, now: sync.now() })
    },
    async take({ connection, slot }) {
      const now = sync.now()
      const runId = await db.transaction().execute(async (tx) => {
        if (!(await takeSlot(tx, { connection, slot, now }))) return null
        await ensureConnection(tx, connection)
        const known = sync.connections.get(connection)
        const feed = known ? mainFeed(known) : 'source'
        return await addWaitingRun(tx, { connection, feed, trigger: 'schedule', options: {}, now })
      })
      if (runId === null) return false
      sync.events.runRequested({ runId, connection, trigger: 'schedule' })
      await sweep(sync)
      return true
    },
    missed: (due) => sync.events.scheduleMissed(due),
  }
}
