import { effectiveCauses } from '../../contract/control/effective.ts'
import { processRoles } from '../../contract/control/process-roles.ts'
import { connectionStates } from '../../store/connections/connections.ts'
import { pausedConnections } from '../../store/connections/pauses.ts'
import { noProblems, problemCounts } from '../../store/deliveries/problems.ts'
import { listCoverage } from '../../store/effective/comparisons.ts'
import { countFindings } from '../../store/effective/findings.ts'
import { inDoubtCounts } from '../../store/in-doubt.ts'
import { lateLeavers } from '../../store/leavers/late.ts'
import { openAlertCounts, openLeavers, readTimes, runMeasures } from '../../store/measures.ts'
import { countBlockedPeople, noBlockedPeople } from '../../store/rejects/blocked-people.ts'
import { moves } from '../../store/runs/runs.ts'
import { differences, processes } from '../../store/workers/processes.ts'
import { platformTrouble } from '../../sync/rate-limit/budget.ts'
import type { SyncContext } from '../../sync/sync.ts'
import { type ConnectionSchedule, nextSlotAt } from '../schedules/schedules.ts'
import type { Reading } from './metrics.ts'

/** What metrics are read from. */
export type ReadingContext = {
  readonly sync: SyncContext
  readonly queue: { waiting(): Promise<number> }
  readonly schedules: readonly ConnectionSchedule[]
  readonly maxLeaverHours: ReadonlyMap<string, number>
  readonly audit: { trouble(): string | null }
}

type Tally = { readonly people: number; readonly leavers: number }

/** The metrics of the store, for the connections of the configuration. Every process reads the same. */
export async function storeReadings(ctx: ReadingContext): Promise<Reading[]> {
  const { sync, queue } = ctx
  const { db } = sync.store
  const now = sync.now()
  const budget = await sync.platform.rateLimiter.readBudget()
  const { failing } = await platformTrouble(sync.store.pool, sync.platform.baseUrl)
  return [
    ...(await connectionReadings(ctx, now)),
    ...(await runReadings(ctx)),
    ...(await effectiveReadings(ctx)),
    ...(await openAlertCounts(db)).map(
      ({ connection, kind, alerts }): Reading => ({
        name: 'rollcall_alerts_open',
        labels: { connection, kind },
        value: alerts,
      }),
    ),
    ...(await processReadings(ctx)),
    { name: 'rollcall_queue_waiting_jobs', value: await queue.waiting() },
    { name: 'rollcall_request_budget_remaining', value: budget.remaining },
    {
      name: 'rollcall_platform_failing_seconds',
      value: failing === null ? 0 : Math.max(0, (now.getTime() - failing.since.getTime()) / 1000),
    },
    { name: 'rollcall_circuit_open', value: budget.isOpen ? 1 : 0 },
    { name: 'rollcall_audit_unsigned', value: ctx.audit.trouble() === null ? 0 : 1 },
  ]
}

async function connectionReadings(ctx: ReadingContext, now: Date): Promise<Reading[]> {
  const { sync, schedules, maxLeaverHours } = ctx
  const { db } = sync.store
  const states = new Map((await connectionStates(db)).map((state) => [state.name, state]))
  const problems = await problemCounts(db, { now })
  const blockedPeople = await countBlockedPeople(db, { now })
  const inDoubt = await inDoubtCounts(db)
  const paused = await pausedConnections(db, now)
  const reads = await readTimes(db)
  const open = await openLeavers(db, now)
  const late = new Map((await lateLeavers(db, { bounds: maxLeaverHours, now })).map((one) => [one.name, one.people]))
  return [...sync.connections.keys()].flatMap((connection): Reading[] => {
    const state = states.get(connection)
    const { refused, undelivered } = problems.get(connection) ?? noProblems
    const of = (name: Reading['name'], value: number, labels = {}): Reading => ({
      name,
      labels: { connection, ...labels },
      value,
    })
    const both = (name: Reading['name'], { people, leavers }: Tally, labels = {}): Reading[] => [
      of(name, people, { ...labels, who: 'all' }),
      of(name, leavers, { ...labels, who: 'leavers' }),
    ]
    const oldest = open.get(connection)
    const readAt = reads.get(connection)
    const asOf = state?.acceptedAsOf
    return [
      of('rollcall_people', state?.people ?? 0, { state: 'desired' }),
      // Deprecated: removed after 0.1.
      of('rollcall_people', state?.people ?? 0, { state: 'wanted' }),
      of('rollcall_people', state?.separated ?? 0, { state: 'separated' }),
      of('rollcall_people', state?.outOfSync ?? 0, { state: 'undelivered' }),
      of('rollcall_paused', paused.has(connection) ? 1 : 0),
      of('rollcall_blocked', state?.blocked ? 1 : 0),
      ...both('rollcall_problems', refused, { state: 'refused' }),
      ...both('rollcall_problems', undelivered, { state: 'undelivered' }),
      ...both('rollcall_blocked_people', blockedPeople.get(connection) ?? noBlockedPeople),
      // Deprecated: removed after 0.1.
      ...both('rollcall_unserved_people', blockedPeople.get(connection) ?? noBlockedPeople),
      ...both('rollcall_in_doubt_people', inDoubt.get(connection) ?? { people: 0, leavers: 0 }),
      of('rollcall_leavers_open', oldest?.people ?? 0),
      of('rollcall_leavers_late', late.get(connection) ?? 0),
      of('rollcall_leaver_oldest_open_seconds', oldest ? (now.getTime() - oldest.since.getTime()) / 1000 : 0),
      ...(readAt ? [of('rollcall_source_read_timestamp_seconds', readAt.getTime() / 1000)] : []),
      ...(asOf ? [of('rollcall_source_as_of_timestamp_seconds', Date.parse(asOf) / 1000)] : []),
      of('rollcall_events_waiting', state?.pendingEvents ?? 0, { state: 'pending' }),
      of('rollcall_events_waiting', state?.heldEvents ?? 0, { state: 'held' }),
      of('rollcall_events_waiting', state?.rejectedEvents ?? 0, { state: 'rejected' }),
      ...(paused.has(connection) ? [] : schedules).flatMap(({ connection: name, purpose, schedule }) => {
        const next = name === connection ? nextSlotAt(schedule, now) : null
        return next ? [of('rollcall_next_run_timestamp_seconds', next.getTime() / 1000, { purpose })] : []
      }),
    ]
  })
}

/** Every cause has a value, so that one without findings is zero instead of missing. */
async function effectiveReadings({ sync }: ReadingContext): Promise<Reading[]> {
  const { db } = sync.store
  const counts = await countFindings(db)
  const coverage = (await listCoverage(db)).filter(
    ({ connection }) => sync.connections.has(connection) || sync.directories?.has(connection),
  )
  return coverage.flatMap(({ connection, people, effective, at }): Reading[] => [
    { name: 'rollcall_effective_people', labels: { connection, state: 'compared' }, value: people },
    { name: 'rollcall_effective_people', labels: { connection, state: 'effective' }, value: effective },
    { name: 'rollcall_effective_compared_timestamp_seconds', labels: { connection }, value: at.getTime() / 1000 },
    ...causesOf(sync.connections.has(connection) ? 'people' : 'accounts').map((cause): Reading => {
      const stored = counts.find((each) => each.connection === connection && each.cause === cause)
      return { name: 'rollcall_effective_findings', labels: { connection, cause }, value: stored?.count ?? 0 }
    }),
  ])
}

function causesOf(kind: 'people' | 'accounts'): readonly string[] {
  return Object.keys(effectiveCauses).filter((cause) => cause.startsWith('account_') === (kind === 'accounts'))
}

/** Every state has a value, so that a state without runs is zero instead of missing. */
async function runReadings({ sync }: ReadingContext): Promise<Reading[]> {
  const measures = await runMeasures(sync.store.db)
  return [...sync.connections.keys()].flatMap((connection) =>
    Object.keys(moves).flatMap((state): Reading[] => {
      const measure = measures.find((one) => one.connection === connection && one.state === state)
      const labels = { connection, state }
      const endedAt = measure?.endedAt
      return [
        { name: 'rollcall_runs', labels, value: measure?.runs ?? 0 },
        ...(endedAt
          ? [{ name: 'rollcall_last_run_timestamp_seconds', labels, value: endedAt.getTime() / 1000 } as const]
          : []),
      ]
    }),
  )
}

async function processReadings({ sync }: ReadingContext): Promise<Reading[]> {
  const all = await processes(sync.store.db)
  const differing = all.filter(({ settings }) => all.some((other) => differences(settings, other.settings).length > 0))
  return [
    ...processRoles.map(
      (role): Reading => ({
        name: 'rollcall_processes',
        labels: { role },
        value: all.filter(({ roles }) => roles.includes(role)).length,
      }),
    ),
    { name: 'rollcall_settings_differ', value: differing.length },
  ]
}
