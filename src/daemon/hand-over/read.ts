import type { HandOver } from '../../contract/control/hand-over.ts'
import { type HandOverFault, listHandOverFaults } from '../../store/rejects/hand-over.ts'
import type { Db } from '../../store/schema.ts'
import { buildHandOver, type NamedFault } from './build.ts'

/** Adds the names of people; called only where names may be shown. */
export type AddNames = (faults: readonly HandOverFault[]) => Promise<readonly NamedFault[]>

type HandOverQuery = {
  /** Null: all. */
  readonly connections: readonly string[] | null
  readonly now: Date
  /** Null: the list has neither names nor cells. */
  readonly addNames: AddNames | null
  readonly perGroup?: number
}

/** What HR has to correct, and the faults behind it. */
export async function readHandOver(
  db: Db,
  { connections, now, addNames, perGroup = Number.POSITIVE_INFINITY }: HandOverQuery,
): Promise<{ readonly list: HandOver; readonly faults: readonly HandOverFault[] }> {
  const faults = await listHandOverFaults(db, { connections, now })
  const named = addNames === null ? faults : await addNames(faults)
  return { list: buildHandOver(named, { now, values: addNames !== null, perGroup }), faults }
}
