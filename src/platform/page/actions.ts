import type { Kysely } from 'kysely'
import { Failure } from '../../errors.ts'
import { Refusal } from '../../http/refusal.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { syncIdentities } from '../identity-sync/identity-sync.ts'
import type { SyncListener } from '../identity-sync/nightly.ts'
import type { PageOperator } from '../operators/sessions.ts'
import { resetSync } from '../people/personnel.ts'

/** What the actions of the page need. */
export type PageActionOptions = {
  readonly db: Kysely<PlatformSchema>
  readonly now: () => Date
  /** Called when a sync that was started here ends. */
  readonly listener: SyncListener
}

type AccountAction = { readonly operator: PageOperator; readonly accountId: number }

/** The actions of the page. */
export type PageActions = {
  /** Starts an identity sync without waiting for its end; false if one is running. */
  startSync(act: AccountAction): Promise<boolean>
  /** Lets the sync update one person, or all people, who were set by hand. Returns their number; null while a sync runs. */
  reset(act: AccountAction & { readonly personnelIds?: readonly number[] }): Promise<number | null>
  /** Resolves when no sync that was started here is running. */
  whenIdle(): Promise<void>
}

/** The actions of the page. A sync that they start reports its end to the listener. */
export function createPageActions({ db, now, listener: report }: PageActionOptions): PageActions {
  const running = new Set<Promise<void>>()
  return {
    async startSync({ operator, accountId }) {
      const begun = Promise.withResolvers<boolean>()
      const work = syncIdentities(db, {
        accountId,
        trigger: 'operator',
        startedBy: operator.name,
        now,
        onBegin: () => begun.resolve(true),
      })
        .then(
          ({ created, changed }) => report.onFinished(accountId, created + changed),
          (error: unknown) => {
            const isBusy = error instanceof Failure && error.code === 'conflict'
            begun.resolve(!isBusy)
            if (!isBusy) report.onFailed(accountId, error)
          },
        )
        .finally(() => running.delete(work))
      running.add(work)
      return begun.promise
    },
    async reset({ operator, accountId, personnelIds }) {
      try {
        return await resetSync(
          { db, accountId, now, actor: { kind: 'operator', name: operator.name, command: 'Personnel page' } },
          personnelIds,
        )
      } catch (error) {
        if (error instanceof Refusal && error.status === 409) return null
        throw error
      }
    },
    async whenIdle() {
      await Promise.all(running)
    },
  }
}
