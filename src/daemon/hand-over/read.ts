import type { HandOver } from '../../contract/control/hand-over.ts'
import { type HandOverFault, listHandOverFaults } from '../../store/rejects/hand-over.ts'
import type { Db } from '../../store/schema.ts'
import { buildHandOver, type NamedFault } from './build.ts'

/** Adds the names of people; called only where names may be shown. */
export type AddNames = (faults: readonly HandOverFault[]) => Promise<readonly NamedFault[]>

/** For each linked connection, the one whose export it reads along with. */
export type Leaders = ReadonlyMap<string, string>

type HandOverQuery = {
  readonly connections: readonly string[]
  readonly leaders: Leaders
  readonly now: Date
  /** Null: the list has neither names nor cells. */
  readonly addNames: AddNames | null
  readonly perGroup?: number
}

/** What HR has to correct, and all faults behind it, also those that the list names once for two connections. */
export async function readHandOver(
  db: Db,
  { connections, leaders, now, addNames, perGroup = Number.POSITIVE_INFINITY }: HandOverQuery,
): Promise<{ readonly list: HandOver; readonly faults: readonly HandOverFault[] }> {
  const faults = await listHandOverFaults(db, { connections, now })
  const listed = withoutRepeats(faults, leaders)
  const named = addNames === null ? listed : await addNames(listed)
  return { list: buildHandOver(named, { now, values: addNames !== null, perGroup }), faults }
}

/** A cell of an export that two connections read is corrected once: the fault of the leader is listed. */
function withoutRepeats(faults: readonly HandOverFault[], leaders: Leaders): readonly HandOverFault[] {
  if (leaders.size === 0) return faults
  const nameOf = (connection: string, { source, line, column, cause, leaver }: HandOverFault) =>
    JSON.stringify([connection, source, line, column, cause, leaver])
  const known = new Set(faults.map((fault) => nameOf(fault.connection, fault)))
  return faults.filter((fault) => {
    const leader = leaders.get(fault.connection)
    return leader === undefined || fault.event !== null || !known.has(nameOf(leader, fault))
  })
}
