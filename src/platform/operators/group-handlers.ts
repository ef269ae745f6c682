import type { Handlers } from '../../http/server/mount.ts'
import { findAccount } from '../accounts/accounts.ts'
import { operatorActor } from '../events/store-events.ts'
import { eraseGroup, writeGroup } from '../seed/write-group.ts'
import type { OperatorContext } from './context.ts'
import type { groupOperations } from './group-contract.ts'

/** The handlers of the operator's operations on groups. */
export const groupHandlers: Handlers<typeof groupOperations, OperatorContext> = {
  async setGroup({ db, now }, { body: { account, provider, group } }) {
    const { id: accountId } = await findAccount(db, account)
    const by = { accountId, actor: operatorActor('groups set'), at: now() }
    const body = await db.transaction().execute(async (trx) => writeGroup(trx, provider, group, by))
    return { status: 200, body }
  },
  async removeGroup({ db, now }, { body: { account, ...group } }) {
    const { id: accountId } = await findAccount(db, account)
    const by = { accountId, actor: operatorActor('groups remove'), at: now() }
    await db.transaction().execute((trx) => eraseGroup(trx, group, by))
    return { status: 204 }
  },
}
