import type { RunState } from '../../contract/control/shapes.ts'
import { nextAttemptAt } from '../../store/deliveries/due.ts'
import { activeRun } from '../../store/runs/claims.ts'
import { getRun } from '../../store/runs/runs.ts'
import { platformTrouble, type Trouble } from '../../sync/rate-limit/budget.ts'
import type { SyncContext } from '../../sync/sync.ts'

type UnfinishedRun = { readonly id: string; readonly connection: string; readonly state: RunState }

/** Why an unfinished run does not progress now, in words; null: nothing delays it. */
export async function delayOf(sync: SyncContext, run: UnfinishedRun): Promise<string | null> {
  switch (run.state) {
    case 'reading':
      return sync.sourceWaits?.get(run.id) ?? null
    case 'delivering':
      return (await platformDelay(sync, run.id)) ?? (await budgetDelay(sync))
    case 'waiting':
      return await rivalDelay(sync, run)
    default:
      return null
  }
}

/** Why no request reaches the platform, and when this run, or any, is tried again. */
export async function platformDelay(sync: SyncContext, runId?: string): Promise<string | null> {
  const { pool, db } = sync.store
  const trouble = await platformTrouble(pool, sync.platform.baseUrl)
  if (trouble.failing === null && trouble.pausedUntil === null) return null
  return troubleText(trouble, { nextAt: await nextAttemptAt(db, runId), now: sync.now() })
}

async function budgetDelay({ platform }: SyncContext): Promise<string | null> {
  const { remaining, remainingMs } = await platform.rateLimiter.readBudget()
  return remaining > 0 ? null : `waiting for the request budget (${Math.ceil(remainingMs / 1000)} s)`
}

/** Runs of a connection take turns: the current one may be left from a process that ended. */
async function rivalDelay(sync: SyncContext, { id, connection }: UnfinishedRun): Promise<string | null> {
  const rivalId = await activeRun(sync.store.db, connection)
  const rival = rivalId === null || rivalId === id ? null : await getRun(sync.store.db, rivalId)
  if (rival === null) return null
  const { state, remaining } = rival
  const delay = await delayOf(sync, rival)
  const first = `run ${rival.id.slice(0, 8)} goes first`
  const changes = `${remaining.toLocaleString('en')} ${remaining === 1 ? 'change' : 'changes'}`
  const stateText = state === 'delivering' ? `, ${changes} to go` : `, it is ${state}`
  return `${first}${stateText}${delay === null ? '' : `; ${delay}`}`
}

/** Says since when the platform does not respond, and when it is tried again; empty if it responds. */
export function troubleText(
  { failing, pausedUntil }: Trouble,
  { nextAt, now }: { readonly nextAt: Date | null; readonly now: Date },
): string {
  if (pausedUntil !== null) return `the platform asks for a pause (429) until ${timeText(pausedUntil, now)}`
  if (failing === null) return ''
  const { isAway, since, reason } = failing
  const statement = `the platform ${isAway ? 'has not answered' : 'has failed'} since ${timeText(since, now)} (${reason})`
  if (nextAt === null) return statement
  return `${statement}; next attempt ${nextAt <= now ? 'is due' : timeText(nextAt, now)}`
}

/** The time of today, and the day with it on another. */
function timeText(time: Date, now: Date): string {
  const [day, minute] = [time.toISOString().slice(0, 10), time.toISOString().slice(11, 16)]
  return day === now.toISOString().slice(0, 10) ? `${minute} UTC` : `${day} ${minute} UTC`
}
