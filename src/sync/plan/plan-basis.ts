import { fingerprint } from '../../identity/digest.ts'
import { listClassifiedValues } from '../../store/classified-values.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'

/**
 * A digest of the inputs of a plan besides its source and the roster: the configuration of the connection, the platform, and the values that
 * operators classified. A held plan with another basis is made again.
 */
export async function planBasis(
  { store, platform }: Pick<SyncContext, 'store' | 'platform'>,
  { name, configuration }: SyncConnection,
): Promise<string> {
  const classifiedValues = await listClassifiedValues(store.db, name)
  const meanings = classifiedValues.map(({ field, value, meaning }) => [field, value, meaning])
  return fingerprint(configuration, platform.baseUrl, meanings)
}
