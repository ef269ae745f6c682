import type { HoldBack, holdBackOperations } from '../../contract/control/hold-backs.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { HoldBack as StoredHoldBack } from '../../store/hold-backs.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { endHoldBack, holdBack, listHoldBacks } from '../../sync/requests/hold-backs.ts'
import type { WithActor } from './with-permissions.ts'

/** Handlers of the operations about people whose departure an operator holds back. */
export const holdBackHandlers: Handlers<typeof holdBackOperations, { readonly sync: SyncContext } & WithActor> = {
  async listHoldBacks({ sync }, { params: { connection } }) {
    return { status: 200, body: { data: (await listHoldBacks(sync, connection)).map(holdBackView) } }
  },

  async holdBack({ sync, actor: { by } }, { params, body }) {
    return { status: 201, body: await holdBack(sync, { ...params, ...body, by }) }
  },

  async endHoldBack({ sync, actor: { by } }, { params }) {
    return { status: 200, body: await endHoldBack(sync, { ...params, by }) }
  },
}

/** A person whose departure is held back, as the control API shows it. */
export function holdBackView({ heldAt, leaving, ...held }: StoredHoldBack): HoldBack {
  return {
    ...held,
    at: heldAt.toISOString(),
    leaving: leaving && { separatedAt: leaving.separatedAt, inferred: leaving.inferred },
  }
}
