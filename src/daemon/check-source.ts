import { othersGoOnText } from '../contract/control/left-out.ts'
import type { OthersGoOn } from '../contract/control/plan-shapes.ts'
import type { ClassifiedValue as ClassifiedView } from '../contract/control/shapes.ts'
import type { Database } from '../database/database.ts'
import { Failure } from '../errors.ts'
import type { Verdict } from '../identity/change.ts'
import { type ClassifiedValue, withClassified } from '../identity/mapping/classified.ts'
import { pluralize } from '../identity/pluralize.ts'
import type { Reject } from '../identity/record.ts'
import { listClassifiedValues } from '../store/classified-values.ts'
import { hasRosterEntries } from '../store/roster/roster.ts'
import type { StoreSchema } from '../store/schema.ts'
import type { SyncConnection } from '../sync/context/context.ts'
import { summarizeReading } from '../sync/plan/summarize-reading.ts'
import { heldPlan } from '../sync/sync.ts'
import { version } from '../version.ts'
import type { CheckWorkspace } from './check-workspace.ts'
import { openStore } from './installation/open-store.ts'
import { type CheckResult, failedResult, passedResult, runTest, warningResult } from './probe/check-result.ts'

/** What a check asks a running daemon for, which may be the only process that can use the store. */
export type DaemonQueries = {
  /** The values of a connection that operators classified. */
  classifiedValues(connection: string): Promise<readonly ClassifiedView[]>
  /** Whether an earlier run accepted any person of the connection. */
  knowsAnybody(connection: string): Promise<boolean>
  /** Why what a run would do now is held. Throws a failure if it cannot be planned. */
  heldPlan(connection: string): Promise<HeldPlan>
}

/** Why a plan would be held. */
type HeldVerdict = Pick<Verdict, 'name' | 'reason' | 'hints' | 'people'>

/** Why a plan would be held: no verdict if it would not be. `leftOut`: the only people who would be; left out: everybody. */
type HeldPlan = { readonly verdicts: readonly HeldVerdict[]; readonly leftOut?: OthersGoOn }

/** Where a check reads stored facts: in the store, if this process has it open, or else from the daemon. */
type StoredFactsOptions = SourceCheckOptions & {
  /** Finds the daemon; null where none responds. */
  readonly findDaemon: () => Promise<DaemonQueries | null>
  readonly openedStore?: Database<StoreSchema>
}

/** What the store knows of a connection that its source is previewed with. */
type StoredFacts = {
  readonly classified: readonly ClassifiedValue[]
  readonly hasPeople: boolean
  /** Why the next plan would be held, or why it cannot be made. Null before the first one, which needs no store. */
  readonly nextPlan: HeldPlan | Failure | null
}
type FactsByConnection = ReadonlyMap<string, StoredFacts>

/** The stored facts by connection, or why they cannot be read. Before the first run there are none. */
export async function readStoredFacts(
  { config, isTemporary }: CheckWorkspace,
  connections: readonly SyncConnection[],
  { findDaemon, openedStore, ...options }: StoredFactsOptions,
): Promise<FactsByConnection | Failure> {
  try {
    if (openedStore) return await factsInStore(openedStore, connections, options)
    const daemon = await findDaemon()
    if (daemon) return await factsOfDaemon(daemon, connections)
    if (isTemporary && !config.database) return new Map()
    await using store = await openStore(config)
    return await factsInStore(store, connections, options)
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

async function factsInStore(
  store: Database<StoreSchema>,
  connections: readonly SyncConnection[],
  { now, signal }: SourceCheckOptions,
): Promise<FactsByConnection> {
  const ctx = { store, now, connections: new Map(connections.map((one) => [one.name, one])), indexing: { version } }
  const facts = new Map<string, StoredFacts>()
  for (const connection of connections) {
    const { name } = connection
    const hasPeople = await hasRosterEntries(store.db, name)
    const nextPlan = hasPeople ? await planOrFailure(() => heldPlan(ctx, connection, signal)) : null
    facts.set(name, { classified: await listClassifiedValues(store.db, name), hasPeople, nextPlan })
  }
  return facts
}

async function factsOfDaemon(
  daemon: DaemonQueries,
  connections: readonly { readonly name: string }[],
): Promise<FactsByConnection> {
  const facts = new Map<string, StoredFacts>()
  for (const { name } of connections) {
    const views = await daemon.classifiedValues(name)
    const classified = views.map(({ field, value, as }) => ({ field, value, meaning: as }))
    const hasPeople = await daemon.knowsAnybody(name)
    const nextPlan = hasPeople ? await planOrFailure(() => daemon.heldPlan(name)) : null
    facts.set(name, { classified, hasPeople, nextPlan })
  }
  return facts
}

async function planOrFailure(plan: () => Promise<HeldPlan>): Promise<HeldPlan | Failure> {
  try {
    return await plan()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

/**
 * Reads an export as a run would, and reports counts, rejected rows, bad cells and what would hold the first plan, or the next one of a
 * connection that has people.
 */
export async function* checkSource(
  connection: SyncConnection,
  stored: FactsByConnection | Failure,
  options: SourceCheckOptions,
): AsyncGenerator<CheckResult> {
  let isReadable = true
  for await (const result of checkReading(connection, stored, options)) {
    if (result.level === 'failed') isReadable = false
    yield result
  }
  yield* checkNextPlan(connection.name, stored, isReadable)
}

/** Reports why the next plan would be held, or cannot be made. `isReadable`: the check of the source has not said so already. */
function* checkNextPlan(
  connection: string,
  stored: FactsByConnection | Failure,
  isReadable: boolean,
): Generator<CheckResult> {
  const name = `source of ${connection}`
  const nextPlan = stored instanceof Failure ? null : (stored.get(connection)?.nextPlan ?? null)
  if (nextPlan instanceof Failure) {
    if (isReadable || !nextPlan.code.startsWith('source_')) yield failedResult(name, nextPlan)
  } else if (nextPlan?.leftOut) yield failedResult(name, new Failure('run_held', othersGoOnText(nextPlan.leftOut)))
  else
    for (const verdict of nextPlan?.verdicts ?? [])
      if (isReadable || verdict.name !== 'missingColumn')
        yield failedResult(name, new Failure('run_held', heldText('next', verdict)))
}

type SourceCheckOptions = { readonly now: () => Date; readonly signal: AbortSignal }

async function* checkReading(
  connection: SyncConnection,
  stored: FactsByConnection | Failure,
  options: SourceCheckOptions,
): AsyncGenerator<CheckResult> {
  if (!connection.feeds.source) return
  const name = `source of ${connection.name}`
  let preview = emptyPreview
  yield await runTest(name, async () => {
    preview = await previewSource(connection, stored, options)
    if (preview.failure !== null) throw preview.failure
    return preview.summary
  })
  for (const remark of preview.remarks) yield passedResult(name, remark)
  for (const [kind, count] of preview.faults)
    yield passedResult(name, `${count} ${kind}`, kind.startsWith('rejected') ? 'rejected' : 'warning')
  if (stored instanceof Failure)
    yield warningResult(name, `only the values listed in the configuration are used: ${stored.message}`)
  for (const warning of preview.warnings) yield warningResult(name, warning)
  for (const reason of preview.held) yield failedResult(name, new Failure('run_held', reason))
}

type SourcePreview = {
  readonly summary: string
  /** Why a run would fail, beside the faults that explain it; null: it would not. */
  readonly failure: Failure | null
  readonly remarks: readonly string[]
  /** The number of rows by kind of fault. */
  readonly faults: ReadonlyMap<string, number>
  readonly warnings: readonly string[]
  /** Why the first plan would be held. */
  readonly held: readonly string[]
}

const emptyPreview: SourcePreview = {
  summary: '',
  failure: null,
  remarks: [],
  faults: new Map(),
  warnings: [],
  held: [],
}

async function previewSource(
  connection: SyncConnection,
  stored: FactsByConnection | Failure,
  { now, signal }: SourceCheckOptions,
): Promise<SourcePreview> {
  const feed = connection.feeds.source
  if (!feed) throw new Error('the connection has no source')
  const unknownFacts: StoredFacts = { classified: [], hasPeople: stored instanceof Failure, nextPlan: null }
  const facts = stored instanceof Failure ? unknownFacts : (stored.get(connection.name) ?? unknownFacts)
  const opened = await feed.connector.open({ now, signal, findDecided: async () => new Set() })
  const { source } = opened
  if (source === null) return { ...emptyPreview, summary: 'nothing new to read' }
  const mapping = withClassified(feed.mapping, facts.classified)
  const about = { now: now(), signal, guards: connection.guards }
  const preview = await summarizeReading(opened, { ...feed, mapping }, about).finally(() => opened.close?.())
  const { missing, rows, records, rejected, incomplete, leavers } = preview
  if (missing.length > 0) throw new Failure('run_held', `${source.name}: ${missing.join('; ')}`)
  const noRecords = `${source.name}: none of ${pluralize(rows, 'row')} became a record`
  return {
    failure:
      records === 0 ? new Failure(isHeld(facts, preview.held) ? 'run_held' : 'source_unreadable', noRecords) : null,
    summary: `${source.name}: ${pluralize(rows, 'row')}, ${pluralize(records, 'record')}, ${rejected} rejected, ${incomplete} with a bad cell`,
    remarks: [
      ...(source.end === undefined ? [] : [`end of the list: ${source.end}`]),
      ...(leavers === 0 ? [] : [leaversText(leavers, records)]),
    ],
    faults: countFaults(preview.rejects),
    warnings: preview.warnings,
    held: facts.hasPeople ? [] : preview.held.map((verdict) => heldText('first', verdict)),
  }
}

function isHeld({ hasPeople, nextPlan }: StoredFacts, first: readonly HeldVerdict[]): boolean {
  if (!hasPeople) return first.length > 0
  return nextPlan !== null && !(nextPlan instanceof Failure) && nextPlan.verdicts.length > 0
}

function leaversText(leavers: number, records: number): string {
  return `${leavers} of ${pluralize(records, 'person', 'people')} ${leavers === 1 ? 'has' : 'have'} left already`
}

function heldText(plan: 'first' | 'next', { name, reason, hints = [], people = [] }: HeldVerdict): string {
  const details = [...hints, ...(people.length > 0 ? [`such as ${people.join(', ')}`] : [])]
  return `the ${plan} plan would be held by ${name}: ${[reason, ...details].join('; ')}`
}

function countFaults(rejects: readonly Reject[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const reject of rejects) {
    const kind = faultKind(reject)
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return counts
}

/** The column and the reason, without the cell's value and the numbers of other lines, so that equal faults are counted together. */
function faultKind({ column, reason, cellOnly }: Reject): string {
  const plain = reason.replaceAll(/"[^"]*"/g, '"…"').replaceAll(/\bline \d+/g, 'line …')
  return `${cellOnly ? 'with a bad cell' : 'rejected'}: ${column === null ? plain : `${column}: ${plain}`}`
}
