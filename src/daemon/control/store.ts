import { randomUUID } from 'node:crypto'
import type { Restoration, storeOperations } from '../../contract/control/store.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { countKnownPeople } from '../../store/connections/installation.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { backUp } from '../installation/backup.ts'
import { type RestoreRequest, refuseReplacing } from '../installation/restore.ts'
import type { WithActor } from './with-permissions.ts'

/** How a daemon that can restart restores a backup. */
export type Restorations = {
  readonly last: Restoration | null
  /** Whether the backup can be restored here, checked before anything stops for it. */
  check(request: RestoreRequest): Promise<{ readonly people: number }>
  /** Stops this daemon; the next one begins with the restored store. */
  ask(request: RestoreRequest & { readonly id: string }): void
}

/** What the handlers of backups use. */
export type StoreContext = {
  readonly sync: SyncContext
  /** Left out if no daemon can restart. */
  readonly restorations?: Restorations
}

/** Handlers of the operations about the store as a whole. */
export const storeHandlers: Handlers<typeof storeOperations, StoreContext & WithActor> = {
  async backUpStore({ sync, actor: { by } }, { body }) {
    return { status: 201, body: await backUp(sync.store.db, { ...body, by, now: sync.now() }) }
  },

  async restoreStore({ sync, restorations, actor: { by } }, { body: request }) {
    const body = { ...request, by }
    if (!restorations) throw new Failure('conflict', 'only a daemon that was started by "rollcall serve" can restore')
    const { people } = await restorations.check(body)
    refuseReplacing(await countKnownPeople(sync.store.db), body)
    const id = randomUUID()
    restorations.ask({ ...body, id })
    return { status: 201, body: { id, people } }
  },

  async lastRestoration({ restorations }) {
    return { status: 200, body: { last: restorations?.last ?? null } }
  },
}
