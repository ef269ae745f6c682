import { setTimeout as pause } from 'node:timers/promises'
import { Cron } from 'croner'
import { type Kysely, sql } from 'kysely'
import { Failure } from '../../errors.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { isSyncedFor, recentAttempts } from './attempts.ts'
import { syncIdentities } from './identity-sync.ts'

export type SyncSchedule = { readonly cron: string; readonly timeZone: string }

/** Told how each scheduled sync ended. */
export type SyncListener = {
  readonly onFinished: (accountId: number, changed: number) => void
  /** `accountId` is null where not even the accounts could be listed. */
  readonly onFailed: (accountId: number | null, error: unknown) => void
}

type NightlyOptions = {
  readonly schedule: SyncSchedule
  readonly report: SyncListener
  readonly now: () => Date
  /** Longest pause between two looks for accounts that lack their sync. */
  readonly maxPauseMs?: number
}

/** What this process remembers of an account whose sync is due and did not come about. */
type Delay = { readonly failures: number; readonly conflicts: number; readonly checksToSkip: number }

type NightlySync = NightlyOptions & {
  readonly db: Kysely<PlatformSchema>
  readonly delays: Map<number, Delay>
}

/**
 * Runs the identity sync of every account at the scheduled times until disposed; a sync under way ends first. It looks again every minute:
 * the newest scheduled time stays due until a sync for it has finished, whatever stopped it before. Times that passed while no process ran
 * are due as well, for accounts that were there at that time. Several processes sync an account once for each time.
 */
export function startNightlySync(db: Kysely<PlatformSchema>, options: NightlyOptions): AsyncDisposable {
  const cron = createCron(options.schedule)
  const stopping = new AbortController()
  const running = runUntilStopped({ ...options, db, delays: new Map() }, cron, stopping.signal)
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await running
    },
  }
}

function createCron({ cron, timeZone }: SyncSchedule): Cron {
  try {
    const created = new Cron(cron, { timezone: timeZone })
    // A time zone is looked at only where it is needed.
    created.nextRun()
    return created
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure(
      'config_invalid',
      `the identity sync cannot be scheduled at "${cron}" in ${timeZone}: ${reason}`,
      { cause: error },
    )
  }
}

// The clock is asked at every look, so one that is set to another time is followed within a minute.
async function runUntilStopped(looking: NightlySync, cron: Cron, signal: AbortSignal): Promise<void> {
  const { now, delays, maxPauseMs: lookMs = 60_000 } = looking
  let lastSlotMs = 0
  while (!signal.aborted) {
    const at = now()
    const slot = cron.previousRuns(1, new Date(at.getTime() + 1))[0]
    if (slot?.getTime() !== lastSlotMs) delays.clear()
    lastSlotMs = slot?.getTime() ?? 0
    if (slot) await syncDueAccounts(looking, slot, signal)
    const next = cron.nextRun(at)?.getTime() ?? Number.POSITIVE_INFINITY
    const waitMs = Math.max(1, Math.min(lookMs, next - now().getTime()))
    await pause(waitMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Syncs the accounts that lack the sync of this time, one after the other; one that fails does not stop the others, but `signal` does. */
async function syncDueAccounts(looking: NightlySync, slot: Date, signal: AbortSignal): Promise<void> {
  const { db, report, now, delays } = looking
  try {
    for (const accountId of await dueAccounts(db, { slot, now: now() })) {
      const delay = delays.get(accountId)
      if (delay && delay.checksToSkip > 0) delays.set(accountId, { ...delay, checksToSkip: delay.checksToSkip - 1 })
      else await syncAccount(looking, { accountId, slot })
      if (signal.aborted) return
    }
  } catch (error) {
    report.onFailed(null, error)
  }
}

/** Accounts that were there at the scheduled time, or whose creation lies ahead of a clock that was set back, and lack the sync of it. */
async function dueAccounts(
  db: Kysely<PlatformSchema>,
  { slot, now }: { slot: Date; now: Date },
): Promise<readonly number[]> {
  const accounts = await db
    .selectFrom('accounts')
    .select('id')
    .where(({ or, eb }) => or([eb('created_at', '<=', slot), eb('created_at', '>', now)]))
    .where(({ not }) => not(isSyncedFor(sql.ref('accounts.id'), { slot, now })))
    .orderBy('id')
    .execute()
  return accounts.map(({ id }) => id)
}

type DueSync = { readonly accountId: number; readonly slot: Date }

async function syncAccount({ db, report, now, delays }: NightlySync, { accountId, slot }: DueSync): Promise<void> {
  const before = delays.get(accountId) ?? { failures: 0, conflicts: 0, checksToSkip: 0 }
  try {
    const { changed, created } = await syncIdentities(db, { accountId, trigger: 'schedule', now, slot })
    delays.delete(accountId)
    report.onFinished(accountId, changed + created)
  } catch (error) {
    if (error instanceof Failure && error.code === 'conflict') {
      delays.set(accountId, { ...before, conflicts: before.conflicts + 1 })
      // Another sync, a reset or an acceptance of the terms holds the account for a moment: the next look tries again.
      if (before.conflicts > 0 && !(await isRunning(db, { accountId, now }))) report.onFailed(accountId, error)
      return
    }
    delays.set(accountId, {
      failures: before.failures + 1,
      conflicts: 0,
      checksToSkip: checksToSkipAfter(before.failures),
    })
    report.onFailed(accountId, error)
  }
}

/** 0, 1, 3, 7 … 63: pauses that double up to about an hour. */
function checksToSkipAfter(failures: number): number {
  return 2 ** Math.min(failures, 6) - 1
}

async function isRunning(
  db: Kysely<PlatformSchema>,
  { accountId, now }: { accountId: number; now: () => Date },
): Promise<boolean> {
  const [latest] = await recentAttempts(db, accountId, { count: 1, now: now() })
  return latest?.state === 'running'
}
