import type { HandOver } from '../../contract/control/hand-over.ts'
import { type HandOverFault, listHandOverFaults } from '../../store/rejects/hand-over.ts'
import type { Db } from '../../store/schema.ts'
import { buildHandOver } from './build.ts'

type PersonKey = { readonly connection: string; readonly identityId: string | null }

/** Adds the names of people, in the same order; called only where names may be shown. */
export type AddNames = (people: readonly PersonKey[]) => Promise<readonly { readonly name?: string | null }[]>

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
  const list = buildHandOver(listed, { now, values: addNames !== null, perGroup })
  return { list: addNames === null ? list : await withNamesOf(list, addNames), faults }
}

/** Looks up the names of the rows that are listed, and of no others. */
async function withNamesOf(list: HandOver, addNames: AddNames): Promise<HandOver> {
  const people = list.groups.flatMap(({ connection, rows }) =>
    rows.map(({ identityId }) => ({ connection, identityId })),
  )
  const named = (await addNames(people)).values()
  const groups = list.groups.map((group) => ({
    ...group,
    rows: group.rows.map((row) => ({ ...row, name: named.next().value?.name ?? null })),
  }))
  return { ...list, groups }
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
