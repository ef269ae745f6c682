import type { Reading } from '../../connectors/connector.ts'
import { withExpressions } from '../../connectors/expressions/expressions.ts'
import type { Verdict } from '../../identity/change.ts'
import { createDecider, type Decider } from '../../identity/decide/decider.ts'
import { noKeyChanges } from '../../identity/decide/key-changes.ts'
import { exportRows } from '../../identity/decide/row-models.ts'
import type { Page } from '../../identity/decide/row-book.ts'
import { type GuardFacts, noPeople } from '../../identity/guards/facts.ts'
import { judge } from '../../identity/guards/judge.ts'
import type { Guards } from '../../identity/guards/limits.ts'
import { watchManagerKeys } from '../../identity/lint/manager-keys.ts'
import { expressionsOf } from '../../identity/mapping/mapping.ts'
import type { Reject, RosterEntry } from '../../identity/record.ts'
import { rejectsKept } from '../../store/plans/plans.ts'
import type { FeedRules } from '../context/context.ts'
import { contextOf } from './before-reading.ts'
import { type MappedRows, mapRows } from './map/map-rows.ts'
import { readRows } from './read-rows.ts'
import { collectWarnings } from './warnings.ts'

/** What a source holds, counted as a plan counts it. */
type ReadingSummary = {
  readonly rows: number
  readonly records: number
  readonly rejected: number
  /** Rows that count but for a cell that cannot be read. */
  readonly incomplete: number
  /** People who have left already. */
  readonly left: number
  /** What a first plan would be held for. */
  readonly held: readonly Verdict[]
  /** The first of the rejected rows and of those cells. */
  readonly rejects: readonly Reject[]
  readonly warnings: readonly string[]
  /** One sentence for each mapped column that the source lacks; its rows are then not read. */
  readonly missing: readonly string[]
}

const nobody: ReadonlyMap<string, RosterEntry> = new Map()

/** Reads an opened source to its end and decides as if nobody were known: no roster is needed. */
export async function summarizeReading(
  opened: Reading,
  rules: FeedRules,
  { now, signal, guards }: { now: Date; signal: AbortSignal; guards: Guards },
): Promise<ReadingSummary> {
  const reading = withExpressions(opened, expressionsOf(rules.mapping))
  const mapping = mapRows(reading, rules, { now })
  const context = contextOf(reading, rules, now)
  const decider = createDecider({ context, rows: exportRows, keyChanges: noKeyChanges, rejectsKept })
  const onPage = async ({ withdrawn, observed }: Page): Promise<void> => {
    decider.takeBack(withdrawn)
    decider.decideObserved(observed, nobody)
  }
  const managers = managersIn(reading, mapping)
  const rows = await readRows(decider, { slices: reading.rows, mapping: managers.mapping, signal, onPage })
  await onPage(decider.book.lastPage())
  const { records } = decider.book.account
  const rejected = decider.rejected()
  const rejects = decider.rejects()
  const { incomplete } = decider.counts()
  const warnings = [
    ...collectWarnings(reading, mapping, decider),
    ...managers.warnings(),
    ...(mapping.ok ? mapping.lacking : []),
  ]
  const { leftJoiners: left = 0 } = decider.people()
  const held = mapping.ok ? heldFor(decider, { mode: reading.mode, rows, absence: rules.absence, guards }) : []
  const missing = mapping.ok ? [] : mapping.missing()
  return { rows, records, rejected, incomplete, left, held, rejects, warnings, missing }
}

/** Looks whether managers are people of the export. A run cannot: it does not parse rows that are unchanged. */
function managersIn(
  { mode }: Pick<Reading, 'mode'>,
  mapping: MappedRows,
): { readonly mapping: MappedRows; readonly warnings: () => string[] } {
  if (!mapping.ok || mode !== 'snapshot' || mapping.columns.managerId === undefined)
    return { mapping, warnings: () => [] }
  const managers = watchManagerKeys(mapping)
  const map: typeof mapping.map = (row) => {
    const told = mapping.map(row)
    if (told !== null) managers.see(told)
    return told
  }
  return { mapping: { ...mapping, map }, warnings: () => [managers.found()].filter((found) => found !== null) }
}

type First = Pick<GuardFacts, 'mode' | 'rows' | 'absence'> & { readonly guards: Guards }

function heldFor(decider: Decider, { guards, ...read }: First): Verdict[] {
  const before = { size: null, endMissing: false, headcount: 0, isFirst: true, recent: noPeople, usual: null }
  const facts = decider.facts({ ...read, ...before, keyChangeCandidates: [], missingColumns: [] })
  return judge(facts, guards).flatMap((verdict) => (verdict.ok ? [] : decider.explain(verdict)))
}
