import type { Reading } from '../../connectors/connector.ts'
import { withExpressions } from '../../connectors/expressions/expressions.ts'
import type { Verdict } from '../../identity/change.ts'
import { counted, countPeople } from '../../identity/counted.ts'
import { dateIn, type PlanContext } from '../../identity/decide/decide.ts'
import { createDecider, type Decider, isStale } from '../../identity/decide/decider.ts'
import { isEmployed } from '../../identity/employment.ts'
import type { GuardFacts } from '../../identity/guards/facts.ts'
import { judge } from '../../identity/guards/judge.ts'
import { withTaints } from '../../identity/guards/taints.ts'
import { withClassed } from '../../identity/mapping/classed.ts'
import { expressionsOf } from '../../identity/mapping/mapping.ts'
import { type FieldName, fieldNames } from '../../identity/record.ts'
import type { KeyAnswers, Pair } from '../../identity/rekeyed.ts'
import { classedValues } from '../../store/classed-values.ts'
import { type AcceptedSource, acceptedSource } from '../../store/connections/sources.ts'
import { keyAnswers, sharedAddresses } from '../../store/key-answers.ts'
import { type PlanSummary, rejectsKept } from '../../store/plans/plans.ts'
import type { SetAside } from '../../store/plans/set-aside.ts'
import { knownFaults } from '../../store/rejects/standing.ts'
import { hasEmployed, headcount, knowsAnybody, rosterEntries } from '../../store/roster/roster.ts'
import { recentlyPassed, usualOf } from '../../store/runs/passed.ts'
import type { FeedName } from '../../store/runs/runs.ts'
import type { Db, RunSource } from '../../store/schema.ts'
import { step } from '../../telemetry/traces.ts'
import type { FeedRules, SyncConnection, SyncContext } from '../context/context.ts'
import { decideRest, stagePage } from './decide-people.ts'
import type { OpenedFeed } from './feeds.ts'
import type { SealedIndex } from './known/index-parts.ts'
import { addressDigest, indexKey, spareReading } from './known/known-records.ts'
import { IndexDoubt } from './known/record-watch.ts'
import { type MappedRows, mapRows } from './map/map-rows.ts'
import { type Progress, readRows } from './read-rows.ts'
import { setAside, verdictsOnRest } from './set-aside.ts'
import type { Stage } from './stage.ts'
import { seeDue, waitingAfter, withdrawnWarning } from './waiting-rows.ts'
import type { PersonWatch } from './watch-person.ts'

/** What an export says night after night. An event that cannot be understood is kept by itself with its reason, and stops no other. */
const ofRowsThatStand: ReadonlySet<string> = new Set(['rejectedRows', 'unlistedValues'])

type Preparing = {
  readonly feed: OpenedFeed
  readonly stage: Stage
  readonly everybody: boolean
  readonly splits: { readonly behindHeld: boolean } | null
  readonly only?: PersonWatch
  /** Whether the reading may go by what the last export left behind. `leaving`: it leaves something behind itself. */
  readonly sparing?: { readonly leaving: Leaving | null; readonly onWhole: (reason: string) => void }
  readonly signal: AbortSignal
  readonly onProgress: Progress
}

/** The run that leaves an index behind, and where the parts of it are kept. */
type Leaving = { readonly runId: string; readonly keep: (part: number, data: Buffer) => Promise<void> }

export type PreparedPlan = Omit<PlanSummary, 'verification' | 'configuration' | 'basis'> & {
  readonly setAside: SetAside | null
  /** What the export leaves behind for the next one; null for nothing. */
  readonly index: SealedIndex | 'same' | null
}

/** How much of what was there before a reading may go by. */
const ways = ['by an index', 'leaving an index', 'whole'] as const

/**
 * Reads an opened feed to its end and stages everything that follows from it. Nothing is sent, and the roster stays as it is.
 * `everybody`: also people without a difference are staged, to be sent again. `splits`: of a plan of events, what a guard stops is set
 * aside, so that the rest can go on; with `behindHeld` also what is about people of runs that are held already. `only`: the one person
 * that is decided about, after all that was read of the source.
 */
export async function preparePlan(
  ctx: Pick<SyncContext, 'store' | 'now' | 'indexing' | 'giveWay'>,
  connection: SyncConnection,
  preparing: Preparing,
): Promise<PreparedPlan> {
  const { stage, sparing, everybody, only } = preparing
  let way: (typeof ways)[number] = sparing && !everybody && !only ? 'by an index' : 'whole'
  for (;;) {
    try {
      return await prepareOnce(ctx, connection, { ...preparing, way })
    } catch (error) {
      if (!(error instanceof IndexDoubt)) throw error
      sparing?.onWhole(error.message)
      way = error.canBuild ? 'leaving an index' : 'whole'
      await stage.clear()
    }
  }
}

async function prepareOnce(
  ctx: Pick<SyncContext, 'store' | 'now' | 'indexing' | 'giveWay'>,
  connection: SyncConnection,
  {
    feed,
    stage,
    everybody,
    splits,
    only,
    sparing,
    way,
    signal,
    onProgress,
  }: Preparing & { way: (typeof ways)[number] },
): Promise<PreparedPlan> {
  const { db } = ctx.store
  const { rules } = feed
  const reading = withExpressions(feed.reading, expressionsOf(rules.mapping))
  const sparse = reading.sparse === true && !reading.missingIsBlank
  const accepted = await acceptedSource(db, connection.name)
  const classed = await classedValues(db, connection.name)
  const answers = await keyAnswers(db, connection.name)
  const ruled = { ...rules, mapping: withClassed(rules.mapping, classed) }
  const key = sparing ? indexKey(db, connection.name) : null
  const mapped = mapRows(reading, ruled, {
    now: ctx.now(),
    aliases: answers.aliases,
    telling: ctx.indexing?.telling,
    formerFields: accepted.fields,
    ...(key && { addressOf: (email: string) => addressDigest(key, email) }),
  })
  const mapping = only ? only.watched(mapped) : mapped
  const planContext: PlanContext = {
    ...contextOf(reading, rules, ctx.now()),
    acceptedAsOf: accepted.asOf,
    ...(mapping.ok && !sparse && reading.source !== null && { mapped: knownFields(connection, mapping.mapped) }),
  }
  const inOrder = feed.name === 'webhook'
  const pinned = new Set([...connection.pinned].map((key) => answers.aliases.get(key)?.identityId ?? key))
  const spared =
    sparing && way !== 'whole' && mapping.ok
      ? await spareReading(ctx, {
          ...{ connection, reading, rules, mapping: ruled.mapping, answers, key, context: planContext },
          ...{
            runId: sparing.leaving?.runId ?? null,
            isWhole: way === 'leaving an index',
          },
        })
      : null
  if (spared?.reason) sparing?.onWhole(spared.reason)
  const watch = spared?.watch
  const decider = createDecider({
    context: planContext,
    inOrder,
    everybody,
    rejectsKept,
    known: await knownFaults(db, { connection: connection.name, feed: feed.name }),
    twoPeople: answers.twoPeople,
    outOfScope: rules.outOfScope ?? 'hold',
    pinned,
    isFirst: !(await hasEmployed(db, connection.name)),
    ofSome: only !== undefined,
    settled: watch?.settled,
    onDecided: watch?.decided,
  })
  const isFirst = !(await knowsAnybody(db, connection.name))
  const place = { db, connection: connection.name, stage, decider, isFirst, signal, watch, ...(only && { only }) }

  // Counted while the source is read. Beside another statement it would take a session of its own.
  const counting = headcount(db, connection.name)
  counting.catch(() => {})
  const read = () =>
    readRows(decider, {
      slices: spared ? spared.filtered.rows(spared.watch.filter) : reading.rows,
      mapping,
      signal,
      watch,
      onPage: (page) => stagePage(place, page),
      onProgress,
      giveWay: ctx.giveWay,
    })
  const rows = await step('read', read, { found: (count) => ({ facts: { 'rollcall.rows': count } }) })
  const due = feed.name === 'roster' ? await seeDue(place, { aliases: answers.aliases, asOf: reading.asOf }) : null
  const source = sourceRead(reading)
  const nothingNew = source === null
  if (mapping.ok || nothingNew) await decideRest(place)

  const isMeant = ({ former, identityId }: Pair) => !only || only.isAsked(former) || only.isAsked(identityId)
  const pairs = (await pairsIn(db, connection.name, decider)).filter(isMeant)
  const fields = mapping.ok && !sparse && !nothingNew ? [...Object.keys(mapping.columns), ...mapping.parts] : null
  const { employed, ...known } = await counting
  const facts = decider.facts({
    mode: reading.mode,
    rows,
    size: sizeOf({ rows, source, accepted }),
    // Without its columns the export names no one, which says nothing about its end.
    endMissing:
      mapping.ok && (await isEndMissing(db, connection.name, { decider, end: accepted.end, today: planContext.today })),
    headcount: employed,
    isFirst,
    ...(rules.mapping.scope !== undefined && {
      scope: {
        rows: decider.book.account.outOfScope,
        fallenOut: decider.fallenOut,
        holds: (rules.outOfScope ?? 'hold') === 'hold',
      },
    }),
    pairs,
    ...(await recentOf(db, {
      connection: connection.name,
      feed: only ? 'person' : feed.name,
      asOf: reading.asOf,
      now: ctx.now(),
    })),
    usual: await usualOf(db, { connection: connection.name, feed: feed.name }),
    missingColumns: missingColumns(mapping, { accepted: accepted.fields, fields, rules, nothingNew, sparse }),
    absence: rules.absence,
  })
  const judged = judge(facts, connection.guards).filter(({ name }) => !inOrder || !ofRowsThatStand.has(name))
  const verdicts = withTaints([...judged, ...staleExport(planContext)].map(decider.explain))
  const aside = inOrder && splits ? await setAside(place, { verdicts, pairs, ...splits }) : null
  const part = aside && 'part' in aside ? aside.part : null
  const isExport = feed.name === 'source' && mapping.ok && !nothingNew
  const waiting = isExport && !only ? await waitingAfter(place, planContext) : due
  const leave = async () =>
    spared && sparing?.leaving ? await spared.watch.made(spared.rules, sparing.leaving.keep) : null
  const [digest, index] = await Promise.all([stage.digest(), leave()])
  return {
    mode: reading.mode,
    source,
    asOf: reading.asOf,
    rows,
    records: decider.book.account.records,
    counts: aside && 'whole' in aside ? aside.whole : decider.counts(),
    people: aside && 'whole' in aside ? aside.counted : decider.people(),
    known,
    guards: part ? verdictsOnRest(verdicts) : verdicts,
    pairs: part ? [] : pairs,
    digest,
    fields,
    ...(isExport && { header: { headers: feed.reading.headers, columns: mapping.columns } }),
    endKeys: decider.endKeys(
      await rosterEntries(db, { connection: connection.name, identityIds: decider.unusableEnd() }),
    ),
    warnings: [
      ...warningsOf(reading, mapping, decider),
      ...withdrawnWarning(waiting),
      ...(isExport ? await strayPins(db, connection, { decider, answers }) : []),
    ],
    rejects: decider.rejects().toSorted((a, b) => a.line - b.line),
    setAside: part,
    waiting,
    index,
    standing: isExport ? decider.standing() : null,
    overtaken: decider.overtaken,
  }
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
  return { recent: await recentlyPassed(db, recent), recentBy: passedBy[recent.feed] }
}

/** The rules and the times under which the people of a reading are decided. */
export function contextOf(
  { mode, asOf }: Pick<Reading, 'mode' | 'asOf'>,
  { absence, graceRuns, timeZone, future, shape }: FeedRules,
  now: Date,
): PlanContext {
  return {
    mode,
    absence,
    graceRuns,
    asOf,
    now: now.toISOString(),
    timeZone,
    exportDate: dateIn(timeZone, asOf),
    today: dateIn(timeZone, now.toISOString()),
    future,
    ...(shape && { removes: true }),
  }
}

/** The fields that one of the connection's feeds speaks of: what an event said stays, though the export has no column for it. */
function knownFields({ feeds }: SyncConnection, mapped: ReadonlySet<FieldName>): ReadonlySet<FieldName> {
  const { fields = {}, record = {} } = feeds.webhook?.mapping ?? {}
  const own = Object.keys(record).map((name) => `.${name}` as const)
  return new Set([...mapped, ...fieldNames.filter((field) => field in fields), ...own])
}

/** What was read, with the sizes that are known only now. */
function sourceRead({ source, textBytes, cellBytes }: Reading): RunSource | null {
  if (source === null) return null
  const unpacked = textBytes?.() ?? source.bytes
  return {
    ...source,
    ...(unpacked !== source.bytes && { textBytes: unpacked }),
    ...(cellBytes && { cellBytes: cellBytes() }),
  }
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

/** Pins of keys that neither the roster nor the source has: a person who was to be kept safe may have got another key. */
async function strayPins(
  db: Db,
  { name, pinned }: SyncConnection,
  { decider, answers }: { decider: Decider; answers: KeyAnswers },
): Promise<string[]> {
  const known = await rosterEntries(db, { connection: name, identityIds: [...pinned] })
  const stray = [...pinned].filter((key) => !known.has(key) && !answers.aliases.has(key) && decider.book.lacks(key))
  if (stray.length === 0) return []
  return [
    `no one has ${stray.length === 1 ? 'the pinned key' : 'the pinned keys'} ${stray.join(', ')}: the pin keeps no one safe`,
  ]
}

/** The people who seem to have got a new key, without those who share no more than a mailbox with others. */
async function pairsIn(db: Db, connection: string, decider: Decider): Promise<readonly Pair[]> {
  const found = decider.pairs()
  const identityIds = found.flatMap(({ former, by }) => (by === 'email' ? [former] : []))
  const shared = await sharedAddresses(db, { connection, identityIds })
  const pairs = found.filter(({ former, by }) => by !== 'email' || !shared.has(former))
  decider.countPairs(pairs)
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
  mapping: MappedRows,
  {
    accepted,
    fields,
    rules,
    nothingNew,
    sparse,
  }: {
    accepted: readonly string[]
    fields: readonly string[] | null
    rules: FeedRules
    nothingNew: boolean
    sparse: boolean
  },
): readonly string[] {
  if (nothingNew) return []
  if (!mapping.ok) return mapping.missing()
  if (sparse) return []
  if (mapping.lacking.length > 0) return mapping.lacking
  const { fields: known, record = {}, status } = rules.mapping
  const own = Object.keys(record).map((name) => `.${name}`)
  const mapped = new Set([...Object.keys(known), ...own, ...(status ? ['status'] : [])])
  return accepted
    .filter((field) => mapped.has(field) && !fields?.includes(field))
    .map((field) => `the last accepted export had a column for ${field}, and this one has none`)
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

/** What an operator should look at in a source that was read to its end. */
export function warningsOf(
  reading: Pick<Reading, 'warnings'>,
  mapping: MappedRows,
  { book, contradicted }: Decider,
): readonly string[] {
  const { older, later, outOfScope, startsAfterLeaving: swapped } = book.account
  const contradictions = contradicted()
  return [
    ...(reading.warnings?.() ?? []),
    ...(mapping.ok ? mapping.findings() : []),
    ...(outOfScope === 0 ? [] : [`${counted(outOfScope, 'row is', 'rows are')} not in scope`]),
    ...(later === 0
      ? []
      : [
          `${counted(later, 'row takes', 'rows take')} effect on a later day, and ${later === 1 ? 'waits' : 'wait'} for it`,
        ]),
    ...(older === 0 ? [] : [`${counted(older, 'row')} gave way to a newer row of the same person`]),
    ...(contradictions.length === 0
      ? []
      : [
          `the status of ${countPeople(contradictions.length)} says employed, and the last day of employment is over ` +
            `(the first is ${contradictions[0]?.[0]}): they stay separated; ask HR which is right`,
        ]),
    ...(swapped.count === 0
      ? []
      : [
          `in ${counted(swapped.count, 'row')} the start lies on or after the leaving date (the first is line ${swapped.line}): the leaving date counts, ` +
            'unless the person had left before that start. Ask HR whether the dates are swapped, or the person was not hired in the end',
        ]),
  ]
}
