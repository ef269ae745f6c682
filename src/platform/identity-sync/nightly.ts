import { Cron } from 'croner'
import type { Kysely } from 'kysely'
import { Failure } from '../../errors.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { recentAttempts } from './attempts.ts'
import { syncIdentities } from './identity-sync.ts'

export type SyncSchedule = { readonly cron: string; readonly timeZone: string }

/** Told how each scheduled sync ended. */
export type SyncReport = {
  readonly done: (accountId: number, changed: number) => void
  /** `accountId` is null where not even the accounts could be listed. */
  readonly failed: (accountId: number | null, error: unknown) => void
}

/**
 * Runs the identity sync of every account at the scheduled times until disposed; a sync under way ends first. Of the times that passed
 * while no process ran, the newest is made up for at once, for accounts that were there at that time. Several processes sync an account
 * once for each time.
 */
export function startNightlySync(
  db: Kysely<PlatformSchema>,
  { schedule, report, now }: { schedule: SyncSchedule; report: SyncReport; now: () => Date },
): AsyncDisposable {
  const cron = createCron(schedule, () => {
    running = running.then(() => syncAll(db, report, now, { slot: latest() }))
    return running
  })
  let running = syncAll(db, report, now, { slot: latest(), missed: true })

  function latest(): Date | null {
    return cron.previousRuns(1, new Date(now().getTime() + 1))[0] ?? null
  }

  return {
    async [Symbol.asyncDispose]() {
      cron.stop()
      await running
    },
  }
}

function createCron({ cron, timeZone }: SyncSchedule, work: () => Promise<void>): Cron {
  try {
    return new Cron(cron, { timezone: timeZone, protect: true }, work)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure(
      'config_invalid',
      `the identity sync cannot be scheduled at "${cron}" in ${timeZone}: ${reason}`,
      {
        cause: error,
      },
    )
  }
}

type Which = {
  /** A scheduled time: an account that was synced for it is left out. Null: none is. */
  readonly slot?: Date | null
  /** The time has passed before this process ran: accounts that are newer are left out. */
  readonly missed?: boolean
}

/** Syncs one account after the other; one that fails does not stop the others. */
export async function syncAll(
  db: Kysely<PlatformSchema>,
  report: SyncReport,
  now: () => Date,
  { slot = null, missed = false }: Which = {},
): Promise<void> {
  if (missed && slot === null) return
  const accounts = await db
    .selectFrom('accounts')
    .select('id')
    .$if(missed, (query) => query.where('created_at', '<', slot))
    .orderBy('id')
    .execute()
    .catch((error: unknown) => {
      report.failed(null, error)
      return []
    })
  for (const { id } of accounts) {
    try {
      if (slot && (await isMet(db, { accountId: id, slot, now }))) continue
      const { changed, created } = await syncIdentities(db, {
        accountId: id,
        trigger: 'schedule',
        now,
        ...(slot && { slot }),
      })
      report.done(id, changed + created)
    } catch (error) {
      // Another process may have been faster.
      const isTaken = error instanceof Failure && error.code === 'conflict'
      if (!(isTaken && slot && (await isMet(db, { accountId: id, slot, now }).catch(() => false))))
        report.failed(id, error)
    }
  }
}

const attemptsLookedAt = 20

/** True if a scheduled sync of the account began at this time or later. One whose process was killed does not count. */
async function isMet(
  db: Kysely<PlatformSchema>,
  { accountId, slot, now }: { accountId: number; slot: Date; now: () => Date },
): Promise<boolean> {
  const attempts = await recentAttempts(db, accountId, { count: attemptsLookedAt, now: now() })
  return attempts.some(
    ({ trigger, startedAt, state }) => trigger === 'schedule' && startedAt >= slot && state !== 'interrupted',
  )
}
