import { Cron } from 'croner'
import type { Kysely } from 'kysely'
import { Failure } from '../../errors.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { syncIdentities } from './identity-sync.ts'

export type SyncSchedule = { readonly cron: string; readonly timeZone: string }

/** Told how each scheduled sync ended. */
export type SyncReport = {
  readonly done: (accountId: number, changed: number) => void
  /** `accountId` is null where not even the accounts could be listed. */
  readonly failed: (accountId: number | null, error: unknown) => void
}

/** Runs the identity sync of every account at the scheduled times until disposed; a sync under way ends first. */
export function startNightlySync(
  db: Kysely<PlatformSchema>,
  { schedule, report, now }: { schedule: SyncSchedule; report: SyncReport; now: () => Date },
): AsyncDisposable {
  let running = Promise.resolve()
  const cron = createCron(schedule, () => {
    running = running.then(() => syncAll(db, report, now))
    return running
  })
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

/** Syncs one account after the other; one that fails does not stop the others. */
export async function syncAll(db: Kysely<PlatformSchema>, report: SyncReport, now: () => Date): Promise<void> {
  const accounts = await db
    .selectFrom('accounts')
    .select('id')
    .orderBy('id')
    .execute()
    .catch((error: unknown) => {
      report.failed(null, error)
      return []
    })
  for (const { id } of accounts) {
    try {
      const { changed, created } = await syncIdentities(db, { accountId: id, trigger: 'schedule', now })
      report.done(id, changed + created)
    } catch (error) {
      report.failed(id, error)
    }
  }
}
