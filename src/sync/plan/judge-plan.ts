import type { Verdict } from '../../identity/change.ts'
import { isStale } from '../../identity/decide/coverage.ts'
import type { PlanContext } from '../../identity/decide/decide.ts'
import type { Decider } from '../../identity/decide/decider.ts'
import { isEmployed } from '../../identity/employment.ts'
import type { GuardFacts } from '../../identity/guards/facts.ts'
import { judge } from '../../identity/guards/judge.ts'
import { withTaints } from '../../identity/guards/taints.ts'
import type { KeyChangeCandidate } from '../../identity/key-change-candidates.ts'
import type { AcceptedSource } from '../../store/connections/sources.ts'
import { sharedAddresses } from '../../store/key-answers.ts'
import { type headcount, rosterEntries } from '../../store/roster/roster.ts'
import { countRecentlyPassed, usualOf } from '../../store/runs/recently-passed.ts'
import type { FeedName } from '../../store/runs/runs.ts'
import type { Db, RunSource } from '../../store/schema.ts'
import type { SyncConnection } from '../context/context.ts'
import type { PlanInputs } from './plan-inputs.ts'
import type { RowTreatments } from './row-treatments.ts'

/** Guards about faults that an export repeats every night. An event with a fault is kept with its reason and stops no other event. */
const exportFaultGuards: ReadonlySet<string> = new Set(['rejectedRows', 'unlistedValues'])

/** What is known of a source once it was read to its end and everybody is decided about. */
export type ReadOutcome = {
  readonly decider: Decider
  /** How many rows there were. */
  readonly rows: number
  readonly treatments: RowTreatments
  /** null: there was nothing new to read. */
  readonly source: RunSource | null
  /** The mapped fields that the source has; null if its rows do not tell. */
  readonly fields: readonly string[] | null
  /** How many people are known, and employed, before the plan. */
  readonly known: Awaited<ReturnType<typeof headcount>>
  /** The roster was empty. */
  readonly isFirst: boolean
  readonly now: Date
}

type JudgeInput = {
  readonly inputs: PlanInputs
  readonly outcome: ReadOutcome
  readonly keyChanges: readonly KeyChangeCandidate[]
  /** The feed whose recent runs, if they passed without an approval, count towards the limits. */
  readonly countedWith: FeedName
}

/** Judges a plan whose people are all decided about. Returns one verdict for each guard. */
export async function judgePlan(db: Db, connection: SyncConnection, input: JudgeInput): Promise<Verdict[]> {
  const { inputs, outcome } = input
  const facts = await guardFacts(db, connection.name, input)
  const isOfEvents = inputs.feed.name === 'webhook'
  const verdicts = judge(facts, connection.guards).filter(({ name }) => !isOfEvents || !exportFaultGuards.has(name))
  return withTaints([...verdicts, ...staleExport(inputs.context)].map(outcome.decider.explain))
}

async function guardFacts(db: Db, connection: string, input: JudgeInput): Promise<GuardFacts> {
  const { inputs, outcome, keyChanges, countedWith } = input
  const { feed, reading, rules, mapping, context, accepted } = inputs
  const { decider, rows, source, known, isFirst, now } = outcome
  const scope = {
    rows: decider.book.counts.outOfScope,
    outOfScopeLeavers: decider.outOfScopeLeavers,
    holds: (rules.outOfScope ?? 'hold') === 'hold',
  }
  const endQuery = { decider, endKeys: accepted.end, today: context.today }
  return decider.facts({
    mode: reading.mode,
    rows,
    size: sizeFacts(outcome, accepted),
    // Without its columns the export names nobody, which does not show that its end is missing.
    endMissing: mapping.ok && (await isEndMissing(db, connection, endQuery)),
    headcount: known.employed,
    isFirst,
    scope: rules.mapping.scope === undefined ? undefined : scope,
    keyChangeCandidates: keyChanges,
    ...(await recentlyPassedFacts(db, { connection, feed: countedWith, asOf: reading.asOf, now })),
    usual: await usualOf(db, { connection, feed: feed.name }),
    missingColumns: missingColumns(inputs, { source, fields: outcome.fields }),
    absence: rules.absence,
  })
}

/** Returns the people who seem to have a new key, and counts them in the decider. Leaves out those who only share a mailbox with others. */
export async function collectKeyChanges(
  db: Db,
  connection: string,
  decider: Decider,
): Promise<readonly KeyChangeCandidate[]> {
  const candidates = decider.keyChangeCandidates()
  const identityIds = candidates.flatMap(({ former, by }) => (by === 'email' ? [former] : []))
  const shared = await sharedAddresses(db, { connection, identityIds })
  const keyChanges = candidates.filter(({ former, by }) => by !== 'email' || !shared.has(former))
  decider.countKeyChanges(keyChanges)
  return keyChanges
}

type EndQuery = {
  readonly decider: Decider
  /** The keys that the last accepted export named last. */
  readonly endKeys: readonly string[]
  readonly today: string
}

/** Whether the last employed person of the accepted export is missing, so that the file may have been cut off. */
async function isEndMissing(db: Db, connection: string, { decider, endKeys, today }: EndQuery): Promise<boolean> {
  const known = await rosterEntries(db, { connection, identityIds: endKeys })
  // Whether somebody has left whose departure waits for an approval is not known.
  const last = endKeys.findLast(
    (identityId) => isEmployed(known.get(identityId), today) && !decider.mayHaveLeft(identityId),
  )
  return last !== undefined && decider.book.lacks(last)
}

/** Why mapped columns are missing. A preset's column may be missing, unless the last accepted export had it. */
function missingColumns(
  { mapping, accepted, rules, isSparse }: PlanInputs,
  { source, fields }: Pick<ReadOutcome, 'source' | 'fields'>,
): readonly string[] {
  if (source === null) return []
  // Without these columns no row can be mapped.
  if (!mapping.ok) return mapping.missing()
  if (isSparse) return []
  // Rows are mapped, but no record has these members, so that they would all become blank.
  if (mapping.lacking.length > 0) return mapping.lacking
  const { fields: known, record = {}, status } = rules.mapping
  const own = Object.keys(record).map((name) => `.${name}`)
  const mapped = new Set([...Object.keys(known), ...own, ...(status ? ['status'] : [])])
  return accepted.fields
    .filter((field) => mapped.has(field) && !fields?.includes(field))
    .map((field) => `the last accepted export had a column for ${field}, and this one has none`)
}

/** The size of the export and of the last accepted one. Bytes are those of the cells, which do not depend on how a file is packed. */
function sizeFacts({ rows, source }: ReadOutcome, accepted: AcceptedSource): GuardFacts['size'] {
  if (accepted.rows === null || accepted.source === null) return null
  const { cellBytes: before } = accepted.source
  const now = source?.cellBytes
  const bytes = before === undefined || now === undefined ? null : { before, now }
  return { rows: { before: accepted.rows, now: rows }, bytes }
}

function staleExport(context: PlanContext): Verdict[] {
  if (context.mode === 'delta') return []
  const isOlder = isStale(context)
  const verdict = { name: 'staleExport', actual: isOlder ? 1 : 0, limit: null }
  if (!isOlder) return [{ ...verdict, ok: true }]
  return [
    {
      ...verdict,
      ok: false,
      reason: `the export is as of ${context.asOf}, older than the last accepted one, as of ${context.acceptedAsOf}`,
    },
  ]
}

/** How the people of the last day were changed, in the reason of a limit. */
const recentBy: Readonly<Record<FeedName, string>> = {
  source: 'by exports',
  webhook: 'by events',
  roster: 'by leaving dates that have come',
  person: 'by runs of one person each',
  revert: 'by reverts',
  separation: 'by separations that people asked for',
}

type RecentQuery = {
  readonly connection: string
  readonly feed: FeedName
  readonly asOf: string
  readonly now: Date
}

/** What runs of the same kind passed within a day. The limits count it, so that many small runs cannot do what a large one may not. */
export async function recentlyPassedFacts(
  db: Db,
  query: RecentQuery,
): Promise<Pick<GuardFacts, 'recent' | 'recentBy'>> {
  return { recent: await countRecentlyPassed(db, query), recentBy: recentBy[query.feed] }
}
