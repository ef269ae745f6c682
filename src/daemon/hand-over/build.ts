import type { HandOver, HandOverGroup, HandOverRow } from '../../contract/control/hand-over.ts'
import { eventFaultTexts, faultTexts } from '../../identity/causes.ts'
import type { HandOverFault } from '../../store/rejects/hand-over.ts'

/** A fault with the name of its person, where names may be shown; null: none is known. */
export type NamedFault = HandOverFault & { readonly name?: string | null }

type HandOverOptions = {
  readonly now: Date
  /** Whether cells are shown. Names are shown where the faults have them. */
  readonly values: boolean
  /** Maximum number of rows that are listed of each group. */
  readonly perGroup: number
}

/** Maximum number of different cells that are named of a group. */
const cellsNamed = 3

/** Groups faults by column and cause: one remedy for each group. Events have groups of their own. The order of the faults is kept within a group. */
export function buildHandOver(faults: readonly NamedFault[], options: HandOverOptions): HandOver {
  const byCause = Map.groupBy(faults, ({ connection, column, cause, expected, event }) =>
    JSON.stringify([connection, column, cause, expected, event !== null]),
  )
  const groups = [...byCause.values()].flatMap((group) => groupOf(group, options) ?? [])
  return {
    madeAt: options.now.toISOString(),
    count: countRows(faults),
    people: countPeople(faults),
    departures: faults.filter(({ leaver }) => leaver).length,
    groups: groups.toSorted(byUrgency),
  }
}

function groupOf(faults: readonly NamedFault[], { values, perGroup }: HandOverOptions): HandOverGroup | null {
  const [first] = faults
  if (first === undefined) return null
  const { connection, column, cause } = first
  const { problem, remedy } = textsOf(first)
  const since = faults.reduce((oldest, { firstAt }) => Math.min(oldest, firstAt.getTime()), Number.POSITIVE_INFINITY)
  return {
    kind: first.event === null ? 'export' : 'event',
    ...{ connection, column, cause, problem, remedy },
    count: countRows(faults),
    people: countPeople(faults),
    departures: faults.filter(({ leaver }) => leaver).length,
    ...(values && { cells: frequentCells(faults) }),
    firstAt: new Date(since).toISOString(),
    rows: faults.slice(0, perGroup).map((fault) => rowOf(fault, values)),
    entries: faults.length,
  }
}

function rowOf(fault: NamedFault, values: boolean): HandOverRow {
  const { identityId, name, source, line, times, cell, firstAt, isNew, reason } = fault
  const { problem, isDetailed } = textsOf(fault)
  return {
    identityId,
    ...(name !== undefined && { name }),
    ...{ source, line, rows: times },
    ...(values && { cell }),
    problem: isDetailed ? reason : problem,
    blocks: blocksOf(fault),
    firstAt: firstAt.toISOString(),
    isNew,
  }
}

/** The texts of a fault. HR's system has sent an event once: a correction does not change it. */
function textsOf(fault: NamedFault): ReturnType<typeof faultTexts> {
  if (fault.event === null) return faultTexts(fault)
  const texts = eventFaultTexts(fault)
  return { ...texts, problem: `${texts.problem}, in an event`, remedy: `${texts.remedy} ${eventRemedy}` }
}

const eventRemedy =
  'Your system then sends a new event, or the next export has it; if neither comes, tell whoever runs Rollcall.'

function blocksOf({ leaver, cellOnly, contradicts }: HandOverFault): HandOverRow['blocks'] {
  if (leaver) return 'departure'
  if (contradicts) return 'nothing'
  return cellOnly ? 'field' : 'row'
}

function frequentCells(faults: readonly NamedFault[]): { cell: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const { cell, times } of faults) if (cell !== null) counts.set(cell, (counts.get(cell) ?? 0) + times)
  return [...counts]
    .map(([cell, count]) => ({ cell, count }))
    .toSorted((a, b) => b.count - a.count)
    .slice(0, cellsNamed)
}

function countRows(faults: readonly NamedFault[]): number {
  return faults.reduce((all, { times }) => all + times, 0)
}

function countPeople(faults: readonly NamedFault[]): number {
  return new Set(
    faults.flatMap(({ connection, identityId }) =>
      identityId === null ? [] : [JSON.stringify([connection, identityId])],
    ),
  ).size
}

function byUrgency(a: HandOverGroup, b: HandOverGroup): number {
  return b.departures - a.departures || b.count - a.count
}
