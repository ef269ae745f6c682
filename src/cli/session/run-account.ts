import type { Run, RunAccount } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import type { Control } from './control-client.ts'

/** The report of a run about named people (one person, or a revert) besides its plan; null if the run failed before it made one. */
export async function fetchRunAccount(
  control: Control,
  { id }: Run,
  query: { values: boolean },
): Promise<RunAccount | null> {
  try {
    return await control.runAccount({ params: { runId: id }, query })
  } catch (error) {
    if (error instanceof Failure && error.code === 'not_found') return null
    throw error
  }
}
