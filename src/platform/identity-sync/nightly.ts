import { setTimeout as pause } from 'node:timers/promises'
import { Cron } from 'croner'
import { type Kysely, sql } from 'kysely'
import { Failure } from '../../errors.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { isSyncedFor, recentAttempts, type SlotQuery } from './attempts.ts'
import { syncIdentities } from './identity-sync.ts'

/** When the identity sync runs: a cron expression in a time zone. */
export type SyncSchedule = { readonly cron: string; readonly timeZone: string }

/** Called after each sync. */
export type SyncListener = {
  readonly onFinished: (accountId: number, changed: number) => void
  /** `accountId` is null if the accounts could not be listed. */
  readonly onFailed: (accountId: number | null, error: unknown) => void
}

type NightlyOptions = {
  readonly schedule: SyncSchedule
  readonly report: SyncListener
  readonly now: () => Date
  /** Maximum pause between two checks for due accounts. */
  readonly maxPauseMs?: number
}

/** Why this process delays the due sync of an account. */
type Delay = { readonly failures: number; readonly conflicts: number; readonly checksToSkip: number }

type NightlySync = NightlyOptions & {
  readonly db: Kysely<PlatformSchema>
  readonly delays: Map<number, Delay>
}

/**
 * Runs the identity sync of every account at the scheduled times until disposed; a running sync ends first. It checks every minute:
 * the latest scheduled time stays due until a sync for it has finished, also after a failure or a restart, for accounts that existed at
 * that time. Several processes sync an account once for each scheduled time.
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
    // Croner checks the time zone only when it computes a run.
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

// Every check reads the clock, so that a clock change takes effect within a minute.
async function runUntilStopped(sync: NightlySync, cron: Cron, signal: AbortSignal): Promise<void> {
  const { now, delays, maxPauseMs = 60_000 } = sync
  let lastSlotMs = 0
  while (!signal.aborted) {
    const at = now()
    const slot = cron.previousRuns(1, new Date(at.getTime() + 1))[0]
    if (slot?.getTime() !== lastSlotMs) delays.clear()
    lastSlotMs = slot?.getTime() ?? 0
    if (slot) await syncDueAccounts(sync, slot, signal)
    const next = cron.nextRun(at)?.getTime() ?? Number.POSITIVE_INFINITY
    const waitMs = Math.max(1, Math.min(maxPauseMs, next - now().getTime()))
    await pause(waitMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Syncs the due accounts one after the other until `signal` aborts. A failure does not stop the others. */
async function syncDueAccounts(sync: NightlySync, slot: Date, signal: AbortSignal): Promise<void> {
  const { db, report, now, delays } = sync
  try {
    for (const accountId of await dueAccounts(db, { slot, now: now() })) {
      const delay = delays.get(accountId)
      if (delay && delay.checksToSkip > 0) delays.set(accountId, { ...delay, checksToSkip: delay.checksToSkip - 1 })
      else await syncAccount(sync, { accountId, slot })
      if (signal.aborted) return
    }
  } catch (error) {
    report.onFailed(null, error)
  }
}

/** The accounts without a sync for this time that existed then, or whose creation is in the future of a clock that was set back. */
async function dueAccounts(db: Kysely<PlatformSchema>, { slot, now }: SlotQuery): Promise<readonly number[]> {
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
      // Another sync, a reset or an acceptance of the terms has the lock for a moment: the next check tries again.
      if (before.conflicts > 0 && !(await isRunning(db, accountId, now()))) report.onFailed(accountId, error)
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

/** 0, 1, 3, 7 … 63: exponential backoff up to about an hour. */
function checksToSkipAfter(failures: number): number {
  return 2 ** Math.min(failures, 6) - 1
}

async function isRunning(db: Kysely<PlatformSchema>, accountId: number, now: Date): Promise<boolean> {
  const [latest] = await recentAttempts(db, accountId, 1, now)
  return latest?.state === 'running'
}
