import { fingerprint } from '../../identity/digest.ts'
import { listClassifiedValues } from '../../store/classified-values.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'

/**
 * A digest of what a plan is made by besides its source and the roster: the connection's configuration, the platform that it feeds, and
 * what people have said since. A held plan that was made by anything else is made again.
 */
export async function planBasis(
  { store, platform }: Pick<SyncContext, 'store' | 'platform'>,
  { name, configuration }: SyncConnection,
): Promise<string> {
  const classed = await listClassifiedValues(store.db, name)
  const said = classed.map(({ field, value, meaning }) => [field, value, meaning])
  return fingerprint(configuration, platform.baseUrl, said)
}
