import type { Kysely } from 'kysely'
import type { ProvidedGroup, Provider } from '../company/group-input.ts'
import { provideProvider, removeGroup, setGroup } from '../company/set-group.ts'
import { refreshCompliance } from '../compliance/refresh-compliance.ts'
import type { PlatformSchema } from '../core/schema.ts'
import type { WriteContext } from '../events/store-events.ts'

type Trx = Kysely<PlatformSchema>

/** Makes or replaces a group of a provider, and refreshes the compliance of those whose membership changed. */
export async function writeGroup(trx: Trx, provider: Provider, group: ProvidedGroup, by: WriteContext) {
  const { changed, ...written } = await setGroup(trx, await provideProvider(trx, provider, by), group, by)
  await refreshCompliance(trx, { accountId: by.accountId, personnelIds: changed, at: by.at })
  return { ...written, name: group.name }
}

/** Removes a group, and refreshes the compliance of those who were in it. Fails with `not_found`. */
export async function eraseGroup(trx: Trx, group: Parameters<typeof removeGroup>[1], by: WriteContext): Promise<void> {
  const personnelIds = await removeGroup(trx, group, by)
  await refreshCompliance(trx, { accountId: by.accountId, personnelIds, at: by.at })
}
