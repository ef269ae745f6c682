import type { Verdict } from '../identity/change.ts'
import { planHasher } from '../identity/digest.ts'
import { judge, type Tallied, tally } from '../identity/guards.ts'
import { compileMapping } from '../identity/mapping.ts'
import { type Decision, decide, type PlanContext, type Seen } from '../identity/plan.ts'
import type { Reject, RosterEntry, Sighting } from '../identity/record.ts'
import { isReject } from '../identity/rows.ts'
import { acceptedSource } from '../store/connections.ts'
import { type PlannedPerson, type PlanSummary, rejectsKept } from '../store/plans.ts'
import { headcount, rosterEntries, rosterKeys } from '../store/roster.ts'
import type { SyncConnection, SyncContext } from './context.ts'
import type { Stage } from './stage.ts'

/** How many people are looked up and staged together. */
const pageSize = 1000

export type Progress = (read: { readonly rows: number; readonly rejected: number }) => void

/**
 * Reads a connection's source to its end and stages everything that follows from it. Nothing is sent, and the roster stays as it is.
 * `everybody`: also people without a difference are staged, to be sent again.
 */
export async function preparePlan(
  ctx: Pick<SyncContext, 'store' | 'now'>,
  connection: SyncConnection,
  {
    stage,
    everybody,
    signal,
    onProgress,
  }: { stage: Stage; everybody: boolean; signal: AbortSignal; onProgress: Progress },
): Promise<Omit<PlanSummary, 'verification'>> {
  const { db } = ctx.store
  const reading = await connection.open({ now: ctx.now, signal })
  const mapping = compileMapping(connection.mapping, reading.headers)
  const planContext: PlanContext = {
    mode: reading.mode,
    absence: connection.absence,
    graceRuns: connection.graceRuns,
    asOf: reading.asOf,
    exportDate: dateIn(connection.timeZone, reading.asOf),
    today: dateIn(connection.timeZone, ctx.now().toISOString()),
    future: connection.future,
    ...(mapping.ok && { mapped: mapping.mapped }),
  }
  const people = decider({ ctx, connection, stage, everybody, planContext })

  for await (const rows of reading.rows) {
    signal.throwIfAborted()
    for (const row of rows) {
      people.rows++
      if (!mapping.ok) continue
      const mapped = mapping.map(row)
      if (isReject(mapped)) people.reject(mapped)
      else people.see(mapped)
    }
    await people.decidePage()
    onProgress({ rows: people.rows, rejected: people.rejected })
  }
  if (mapping.ok) await people.decideRest(signal)

  const accepted = await acceptedSource(db, connection.name)
  const fields = mapping.ok ? Object.keys(mapping.columns) : null
  const tallied = people.tally
  const facts = tallied.facts({
    rows: people.rows,
    headcount: await headcount(db, connection.name),
    missingColumns: mapping.ok ? vanished(accepted.fields, { fields, mapping: connection.mapping }) : mapping.missing,
    absence: connection.absence,
  })
  const hasher = planHasher()
  for await (const staged of stage.changes()) for (const { change } of staged) hasher.add(change)
  return {
    source: reading.source,
    asOf: reading.asOf,
    rows: people.rows,
    records: people.records,
    counts: tallied.counts(),
    guards: [...judge(facts, connection.guards), staleExport(reading.asOf, accepted.asOf)],
    digest: hasher.digest(),
    fields,
    rejects: people.rejects.toSorted((a, b) => a.line - b.line),
  }
}

/** Decides about people as rows come in, page by page, and about those whom no row named at the end. */
function decider({
  ctx,
  connection,
  stage,
  everybody,
  planContext,
}: {
  ctx: Pick<SyncContext, 'store'>
  connection: SyncConnection
  stage: Stage
  everybody: boolean
  planContext: PlanContext
}) {
  const { db } = ctx.store
  const tallied = tally()
  const rejects: Reject[] = []
  // By key: the line that first named the person, and what was counted for it.
  const seen = new Map<string, { line: number; counted: Tallied }>()
  const untouched = new Set<string>()
  const doubled: string[] = []
  let page = new Map<string, Sighting>()

  const state = {
    rows: 0,
    records: 0,
    rejected: 0,
    rejects,
    tally: tallied,

    reject(reject: Reject): void {
      note(reject)
      const { identityId, line } = reject
      if (identityId === null) return
      const before = seen.get(identityId)
      if (before === undefined) seen.set(identityId, { line, counted: 0 })
      else doubt(identityId, { before: before.line, line })
      untouched.add(identityId)
    },

    see(sighting: Sighting): void {
      const { identityId } = sighting
      const line = 'line' in sighting.origin ? sighting.origin.line : 0
      const before = seen.get(identityId)
      if (before === undefined) {
        state.records++
        seen.set(identityId, { line, counted: 0 })
        page.set(identityId, sighting)
        return
      }
      doubt(identityId, { before: before.line, line })
      untouched.add(identityId)
      note(twice(identityId, { line, other: before.line }))
    },

    async decidePage(): Promise<void> {
      const sightings = [...page.values()]
      page = new Map()
      for (let start = 0; start < sightings.length; start += pageSize) {
        const slice = sightings.slice(start, start + pageSize)
        const known = await rosterEntries(db, {
          connection: connection.name,
          identityIds: slice.map(({ identityId }) => identityId),
        })
        await stage.put(slice.flatMap((sighting) => plan(known.get(sighting.identityId), sighting)))
      }
    },

    /** Decides about everybody of the roster whom no usable row named. */
    async decideRest(signal: AbortSignal): Promise<void> {
      await stage.drop(doubled)
      for await (const keys of rosterKeys(db, connection.name)) {
        signal.throwIfAborted()
        const rest = keys.filter((key) => !seen.has(key) || untouched.has(key))
        for (let start = 0; start < rest.length; start += pageSize) {
          const slice = rest.slice(start, start + pageSize)
          const known = await rosterEntries(db, { connection: connection.name, identityIds: slice })
          await stage.put([...known.values()].flatMap((entry) => plan(entry, unseen(untouched.has(entry.identityId)))))
        }
      }
    },
  }
  return state

  function unseen(present: boolean): Seen {
    return present || planContext.mode === 'delta' ? 'untouched' : 'absent'
  }

  function note(reject: Reject): void {
    state.rejected++
    tallied.reject(reject)
    if (rejects.length < rejectsKept) rejects.push(reject)
  }

  /** A second row of a key: what the first one had said does not count any more, and that row is rejected too. */
  function doubt(identityId: string, { before, line }: { before: number; line: number }): void {
    if (untouched.has(identityId)) return
    state.records--
    if (!page.delete(identityId)) {
      tallied.remove(seen.get(identityId)?.counted ?? 0)
      doubled.push(identityId)
    }
    note(twice(identityId, { line: before, other: line }))
  }

  function plan(entry: RosterEntry | undefined, about: Seen): PlannedPerson[] {
    const decision = decide(entry, about, planContext)
    const counted = tallied.add(decision, about)
    const origin = typeof about === 'string' ? null : about.origin
    const identityId = typeof about === 'string' ? entry?.identityId : about.identityId
    if (identityId === undefined) return []
    const place = seen.get(identityId)
    if (place && typeof about !== 'string') place.counted = counted
    const change = decision.change ?? (everybody ? resend(entry, decision) : null)
    const stored = sayingNews(entry, decision, planContext) ? decision.entry : null
    return stored || change ? [{ identityId, entry: stored, change, origin }] : []
  }
}

function twice(identityId: string, { line, other }: { line: number; other: number }): Reject {
  return { line, column: null, reason: `the key stands in this file more than once, also in line ${other}`, identityId }
}

// That an accepted snapshot said the same again is kept once for the connection, not for every person.
function sayingNews(entry: RosterEntry | undefined, { entry: side }: Decision, { mode }: PlanContext): boolean {
  if (side === null) return false
  if (entry === undefined || mode === 'delta') return true
  return (
    side.wanted !== entry.wanted ||
    side.inferred !== entry.inferred ||
    side.deferredTo !== entry.deferredTo ||
    side.absences !== entry.absences
  )
}

function resend(entry: RosterEntry | undefined, decision: Decision): PlannedPerson['change'] {
  const record = decision.entry?.wanted ?? entry?.wanted ?? null
  if (record === null || entry === undefined || entry.retracted !== null) return null
  return { kind: 'update', identityId: entry.identityId, record, fields: {}, inferred: false, carried: true }
}

/** A preset's columns may be missing; one that the last export had and that is gone now is as bad as any missing column. */
function vanished(
  accepted: readonly string[],
  { fields, mapping }: { fields: readonly string[] | null; mapping: SyncConnection['mapping'] },
): string[] {
  const mapped = new Set([...Object.keys(mapping.fields), ...(mapping.status ? ['status'] : [])])
  return accepted
    .filter((field) => mapped.has(field) && !fields?.includes(field))
    .map((field) => `the last accepted export had a column for ${field}, and this one has none`)
}

function staleExport(asOf: string, accepted: string | null): Verdict {
  const older = accepted !== null && Temporal.Instant.compare(asOf, accepted) < 0
  const verdict = { name: 'staleExport', actual: older ? 1 : 0, limit: null }
  if (!older) return { ...verdict, ok: true }
  return { ...verdict, ok: false, reason: `the source speaks of ${asOf}, before the last accepted one of ${accepted}` }
}

function dateIn(timeZone: string, instant: string): string {
  return Temporal.Instant.from(instant).toZonedDateTimeISO(timeZone).toPlainDate().toString()
}
