import type { diagnosisOperations } from '../../contract/control/diagnosis.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { readDiagnosis } from '../../store/diagnosis.ts'
import type { SyncContext } from '../../sync/context/context.ts'

/** Handlers of the operations about the store, for whoever looks for a fault. */
export const diagnosisHandlers: Handlers<typeof diagnosisOperations, { readonly sync: SyncContext }> = {
  async diagnose({ sync }) {
    return { status: 200, body: await readDiagnosis(sync.store.db) }
  },
}
