import type { Verdict } from '../../identity/change.ts'
import type { PlanContext } from '../../identity/decide/decide.ts'
import { isStale } from '../../identity/decide/coverage.ts'
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
import type { BeforeReading } from './before-reading.ts'
import type { PersonWatch } from './watch-person.ts'

/** What an export says night after night. An event that cannot be understood is kept by itself with its reason, and stops no other. */
const ofRowsThatStand: ReadonlySet<string> = new Set(['rejectedRows', 'unlistedValues'])

/** What is known of a source once it was read to its end and everybody is decided about. */
export type WasRead = {
  readonly decider: Decider
  /** How many rows there were. */
  readonly rows: number
  /** null: there was nothing new to read. */
  readonly source: RunSource | null
  /** The mapped names that it had; null where its rows do not say. */
  readonly fields: readonly string[] | null
  /** How many people are known, and employed, before the plan. */
  readonly known: Awaited<ReturnType<typeof headcount>>
  /** Nobody was known yet. */
  readonly isFirst: boolean
  readonly only?: PersonWatch
  readonly now: Date
}

/** What the guards say of a plan, and the people who seem to have got a new key. */
export type Judged = { readonly verdicts: readonly Verdict[]; readonly pairs: readonly KeyChangeCandidate[] }

/** Judges a plan whose people are all decided about. */
export async function judgePlan(
  db: Db,
  connection: SyncConnection,
  before: BeforeReading,
  read: WasRead,
): Promise<Judged> {
  const { decider, only } = read
  const isMeant = ({ former, identityId }: KeyChangeCandidate) =>
    !only || only.isAsked(former) || only.isAsked(identityId)
  const pairs = (await pairsIn(db, connection.name, decider)).filter(isMeant)
  const facts = await factsOf(db, connection.name, { before, read, pairs })
  const isOfEvents = before.feed.name === 'webhook'
  const judged = judge(facts, connection.guards).filter(({ name }) => !isOfEvents || !ofRowsThatStand.has(name))
  return { verdicts: withTaints([...judged, ...staleExport(before.context)].map(decider.explain)), pairs }
}

type Facts = { readonly before: BeforeReading; readonly read: WasRead; readonly pairs: readonly KeyChangeCandidate[] }

async function factsOf(db: Db, connection: string, { before, read, pairs }: Facts): Promise<GuardFacts> {
  const { feed, reading, rules, mapping, context, accepted } = before
  const { decider, rows, source, known, isFirst, only, now } = read
  const scope = {
    rows: decider.book.account.outOfScope,
    outOfScopeLeavers: decider.outOfScopeLeavers,
    holds: (rules.outOfScope ?? 'hold') === 'hold',
  }
  const recent = { connection, feed: only ? ('person' as const) : feed.name, asOf: reading.asOf, now }
  return decider.facts({
    mode: reading.mode,
    rows,
    size: sizeOf({ rows, source, accepted }),
    // Without its columns the export names no one, which says nothing about its end.
    endMissing:
      mapping.ok && (await isEndMissing(db, connection, { decider, end: accepted.end, today: context.today })),
    headcount: known.employed,
    isFirst,
    ...(rules.mapping.scope !== undefined && { scope }),
    keyChangeCandidates: pairs,
    ...(await recentOf(db, recent)),
    usual: await usualOf(db, { connection, feed: feed.name }),
    missingColumns: missingColumns(before, read),
    absence: rules.absence,
  })
}

/** The people who seem to have got a new key, without those who share no more than a mailbox with others. */
async function pairsIn(db: Db, connection: string, decider: Decider): Promise<readonly KeyChangeCandidate[]> {
  const found = decider.keyChangeCandidates()
  const identityIds = found.flatMap(({ former, by }) => (by === 'email' ? [former] : []))
  const shared = await sharedAddresses(db, { connection, identityIds })
  const pairs = found.filter(({ former, by }) => by !== 'email' || !shared.has(former))
  decider.countKeyChanges(pairs)
  return pairs
}

async function isEndMissing(
  db: Db,
  connection: string,
  { decider, end, today }: { decider: Decider; end: readonly string[]; today: string },
): Promise<boolean> {
  const known = await rosterEntries(db, { connection, identityIds: end })
  const last = end.findLast((identityId) => isEmployed(known.get(identityId), today))
  return last !== undefined && decider.book.lacks(last)
}

/** A preset's columns may be missing; one that the last export had and that is gone now is as bad as any missing column. */
function missingColumns(
  { mapping, accepted, rules, isSparse }: BeforeReading,
  { source, fields }: Pick<WasRead, 'source' | 'fields'>,
): readonly string[] {
  if (source === null) return []
  if (!mapping.ok) return mapping.missing()
  if (isSparse) return []
  if (mapping.lacking.length > 0) return mapping.lacking
  const { fields: known, record = {}, status } = rules.mapping
  const own = Object.keys(record).map((name) => `.${name}`)
  const mapped = new Set([...Object.keys(known), ...own, ...(status ? ['status'] : [])])
  return accepted.fields
    .filter((field) => mapped.has(field) && !fields?.includes(field))
    .map((field) => `the last accepted export had a column for ${field}, and this one has none`)
}

/** The same people make the same size, however their export is packed and written. An older version kept no size of cells. */
function sizeOf({
  rows,
  source,
  accepted,
}: {
  rows: number
  source: RunSource | null
  accepted: AcceptedSource
}): GuardFacts['size'] {
  if (accepted.rows === null || accepted.source === null) return null
  const { cellBytes: before } = accepted.source
  const now = source?.cellBytes
  const bytes = before === undefined || now === undefined ? null : { before, now }
  return { rows: { before: accepted.rows, now: rows }, bytes }
}

function staleExport(context: PlanContext): Verdict[] {
  if (context.mode === 'delta') return []
  const older = isStale(context)
  const verdict = { name: 'staleExport', actual: older ? 1 : 0, limit: null }
  if (!older) return [{ ...verdict, ok: true }]
  return [
    {
      ...verdict,
      ok: false,
      reason: `the source speaks of ${context.asOf}, before the last accepted one of ${context.acceptedAsOf}`,
    },
  ]
}

/** By what the people of earlier runs were carried, where a sum of the last day goes too far. */
const passedBy: Readonly<Record<FeedName, string>> = {
  source: 'by exports',
  webhook: 'by events',
  roster: 'by leaving dates that have come',
  person: 'by runs of one person each',
  revert: 'by reverts',
  separation: 'by separations that people asked for',
}

/** What passed within a day by runs of the same kind: many small ones are no way around the limit of a large one. */
export async function recentOf(
  db: Db,
  recent: { connection: string; feed: FeedName; asOf: string; now: Date },
): Promise<Pick<GuardFacts, 'recent' | 'recentBy'>> {
  return { recent: await countRecentlyPassed(db, recent), recentBy: passedBy[recent.feed] }
}
