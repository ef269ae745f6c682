import type { Reading, SourceRow } from '../../connectors/connector.ts'
import { withExpressions } from '../../connectors/expressions/expressions.ts'
import type { Verdict } from '../../identity/change.ts'
import { createDecider, type Decider } from '../../identity/decide/decider.ts'
import { noKeyChanges } from '../../identity/decide/key-changes.ts'
import type { Page } from '../../identity/decide/row-book.ts'
import { exportRows } from '../../identity/decide/row-models.ts'
import { type GuardFacts, noPeople } from '../../identity/guards/facts.ts'
import { judge } from '../../identity/guards/judge.ts'
import type { Guards } from '../../identity/guards/limits.ts'
import { watchManagerKeys } from '../../identity/lint/manager-keys.ts'
import { expressionsOf } from '../../identity/mapping/mapping.ts'
import type { Reject, RosterEntry } from '../../identity/record.ts'
import { rejectsKept } from '../../store/plans/plans.ts'
import type { FeedRules } from '../context/context.ts'
import { wholeSlices } from './change-filter/change-filter.ts'
import { collectRows } from './collect-rows.ts'
import { type MappedRow, type MappedRows, mapRows } from './map/map-rows.ts'
import { planContext } from './plan-inputs.ts'
import { collectWarnings } from './warnings.ts'

/** What a source contains, counted as a plan counts it. */
export type ReadingSummary = {
  readonly rows: number
  readonly records: number
  readonly rejected: number
  /** Rows that are used except for a cell that cannot be read. */
  readonly incomplete: number
  /** People who have left already. */
  readonly leavers: number
  /** The failed verdicts for which a first plan would be held. */
  readonly held: readonly Verdict[]
  /** The first rejected rows and cells. */
  readonly rejects: readonly Reject[]
  readonly warnings: readonly string[]
  /** One sentence for each mapped column that the source lacks; its rows are then not read. */
  readonly missing: readonly string[]
}

type SummarizeOptions = {
  readonly now: Date
  readonly signal: AbortSignal
  readonly guards: Guards
  /** Called with each row once it is mapped. */
  readonly onRow?: (mapped: MappedRow) => void
}

const emptyRoster: ReadonlyMap<string, RosterEntry> = new Map()

/** Reads an opened source to its end and decides as if the roster were empty. Needs no store. */
export async function summarizeReading(
  opened: Reading,
  rules: FeedRules,
  { now, signal, guards, onRow }: SummarizeOptions,
): Promise<ReadingSummary> {
  const reading = withExpressions(opened, expressionsOf(rules.mapping))
  const mapping = mapRows(reading, rules, { now })
  const context = planContext(reading, rules, now)
  const decider = createDecider({ context, rows: exportRows, keyChanges: noKeyChanges, rejectsKept })
  const onPage = async ({ withdrawn, observed }: Page): Promise<void> => {
    decider.takeBack(withdrawn)
    decider.decideObserved(observed, emptyRoster)
  }
  const managers = watchManagers(reading, mapping)
  const slices = wholeSlices(reading.rows)
  const rows = await collectRows(decider, {
    slices,
    mapping,
    signal,
    onPage,
    onRow: (row, mapped) => {
      managers.onRow?.(row, mapped)
      onRow?.(mapped)
    },
  })
  await onPage(decider.book.lastPage())
  const lacking = mapping.ok ? mapping.lacking : []
  return {
    rows,
    records: decider.book.counts.records,
    rejected: decider.rejected(),
    incomplete: decider.counts().incomplete,
    leavers: decider.people().leftJoiners ?? 0,
    held: mapping.ok ? failedVerdicts(decider, { mode: reading.mode, rows, absence: rules.absence, guards }) : [],
    rejects: decider.rejects(),
    warnings: [...collectWarnings(reading, mapping, decider), ...managers.warnings(), ...lacking],
    missing: mapping.ok ? [] : mapping.missing(),
  }
}

type ManagerWatch = { readonly onRow?: (row: SourceRow, mapped: MappedRow) => void; readonly warnings: () => string[] }

/** Checks whether managers are people of the export. A run cannot check it, because it does not parse unchanged rows. */
function watchManagers({ mode }: Pick<Reading, 'mode'>, mapping: MappedRows): ManagerWatch {
  if (!mapping.ok || mode !== 'snapshot' || mapping.columns.managerId === undefined) return { warnings: () => [] }
  const managers = watchManagerKeys(mapping)
  return {
    onRow: (_row, mapped) => {
      if (mapped !== null) managers.addRow(mapped)
    },
    warnings: () => [managers.finding()].filter((warning) => warning !== null),
  }
}

type FirstPlan = Pick<GuardFacts, 'mode' | 'rows' | 'absence'> & { readonly guards: Guards }

function failedVerdicts(decider: Decider, { guards, ...read }: FirstPlan): Verdict[] {
  const before = { size: null, endMissing: false, headcount: 0, isFirst: true, recent: noPeople, usual: null }
  const facts = decider.facts({ ...read, ...before, keyChangeCandidates: [], missingColumns: [] })
  return judge(facts, guards).flatMap((verdict) => (verdict.ok ? [] : decider.explain(verdict)))
}
