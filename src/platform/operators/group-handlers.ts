import type { Kysely } from 'kysely'
import type { Handlers } from '../../http/server/mount.ts'
import { findAccount } from '../accounts/accounts.ts'
import type { ProvidedGroup, Provider } from '../company/group-input.ts'
import { provideProvider, removeGroup, setGroup } from '../company/set-group.ts'
import { refreshCompliance } from '../compliance/refresh-compliance.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { operatorActor, type WriteContext } from '../events/store-events.ts'
import type { OperatorContext } from './context.ts'
import type { groupOperations } from './group-contract.ts'

type Trx = Kysely<PlatformSchema>

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
    await db.transaction().execute(async (trx) => {
      const personnelIds = await removeGroup(trx, group, by)
      await refreshCompliance(trx, { accountId, personnelIds, at: by.at })
    })
    return { status: 204 }
  },
}

/** Makes or replaces a group of a provider, and refreshes the compliance of those whose membership changed. */
async function writeGroup(trx: Trx, provider: Provider, group: ProvidedGroup, by: WriteContext) {
  const { changed, ...written } = await setGroup(trx, await provideProvider(trx, provider, by), group, by)
  await refreshCompliance(trx, { accountId: by.accountId, personnelIds: changed, at: by.at })
  return { ...written, name: group.name }
}
