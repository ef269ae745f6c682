import type { Run, RunAccount } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import type { Control } from './control-client.ts'

/** What a run accounts for besides its plan; null if it failed before it found anything. */
export async function accountOf(control: Control, { id }: Run, query: { values: boolean }): Promise<RunAccount | null> {
  try {
    return await control.runAccount({ params: { runId: id }, query })
  } catch (error) {
    if (error instanceof Failure && error.code === 'not_found') return null
    throw error
  }
}
