import type { leaverOperations } from '../../contract/control/leavers.ts'
import {
  type Leaver,
  type LeaverPack,
  type LeaverReport,
  type LeaverSummary,
  leaverFindings,
} from '../../contract/control/leavers.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { figuresOf, legs, measureDelays } from '../../identity/departure-times.ts'
import type { OwnField } from '../../identity/record.ts'
import { auditExcerpt } from '../../store/audit/excerpt.ts'
import { keyOf } from '../../store/audit/key.ts'
import type { Act } from '../../store/audit/trail.ts'
import { listLeavers, type StoredLeaver } from '../../store/leavers/list.ts'
import { exportedKeys, populationChange } from '../../store/statement/movements.ts'
import { everybodyIn } from '../../store/statement/read.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import { escapeJson } from '../../text/escape.ts'
import { version } from '../../version.ts'
import type { MonitoredConnections } from '../alerts/freshness.ts'
import type { AuditService } from '../audit/service.ts'
import { auditPack } from '../reports/audit-pack.ts'
import type { Population } from '../reports/population-files.ts'
import type { ControlContext } from './control-context.ts'
import { nextCursor, ProblemCursor, problemCursor, readCursor } from './cursors.ts'
import { requireConnection } from './require-connection.ts'
import { labelOf } from './views.ts'
import type { WithActor } from './with-permissions.ts'

/** The stored facts about departures, and what they are judged by. */
type LeaverContext = {
  readonly sync: Pick<SyncContext, 'store' | 'connections' | 'now'>
  readonly monitored: Pick<MonitoredConnections, 'maxLeaverHours'>
}

type ReportQuery = {
  readonly from: string
  /** Left out: today. */
  readonly to?: string | undefined
  readonly connection?: string | undefined
  readonly values: boolean
}

const defaultBoundHours = 24
/** Such departures did not take effect or were undone; they are listed and not counted. */
const undone: ReadonlySet<string> = new Set(['returned', 'withdrawn', 'retracted', 'dropped'])

/** Handlers of the operations about departures and the report on them. */
export const leaverHandlers: Handlers<typeof leaverOperations, ControlContext & WithActor> = {
  async listNotEffective(ctx, { query: { connection, after, limit, values } }) {
    if (connection !== undefined) requireConnection(ctx, connection)
    const connections = connection === undefined ? [...ctx.sync.connections.keys()] : [connection]
    const scope = { list: 'not-effective', connection }
    const cursor = readCursor(scope, after, ProblemCursor)
    const rows = await listLeavers(ctx.sync.store.db, {
      connections,
      now: ctx.sync.now(),
      notEffective: true,
      labels: labelsOf(ctx.sync),
      ...(cursor !== undefined && { after: cursor }),
      limit,
    })
    const next = nextCursor(scope, { rows, limit }, problemCursor)
    return { status: 200, body: { data: rows.map((leaver) => leaverView(ctx, leaver, { values })), next } }
  },

  async reportLeavers(ctx, { query }) {
    if (query.connection !== undefined) requireConnection(ctx, query.connection)
    return { status: 200, body: await leaverReport(ctx, query) }
  },

  async packLeavers(ctx, { query }) {
    if (query.connection !== undefined) requireConnection(ctx, query.connection)
    return { status: 200, body: await leaverPack(ctx, query) }
  },
}

/** A departure with its times and delays, as the control API shows it. */
export function leaverView(
  { sync, monitored }: LeaverContext,
  { name, email, ...leaver }: StoredLeaver,
  { values }: { readonly values: boolean },
): Leaver {
  const boundHours = monitored.maxLeaverHours.get(leaver.connection) ?? defaultBoundHours
  const delays = measureDelays(leaver, { boundHours, now: sync.now() })
  const finding = leaver.finding === null ? null : leaverFindings[leaver.finding]
  return {
    ...leaver,
    ...(values && { name, email }),
    ...delays,
    late: delays.late && !undone.has(leaver.state),
    findingText: finding?.text ?? null,
    helps: finding?.helps ?? null,
  }
}

/** The own field with the name, for each connection with records. */
export function labelsOf(sync: Pick<SyncContext, 'connections'>): Readonly<Record<string, OwnField>> {
  const labels: Record<string, OwnField> = {}
  for (const name of sync.connections.keys()) {
    const label = labelOf(sync, name)
    if (label !== null) labels[name] = label
  }
  return labels
}

/** The report on the departures of a period, judged as of now. A departure that only unaccepted plans state is not included. */
export async function leaverReport(
  ctx: LeaverContext,
  { from, to: end, connection, values }: ReportQuery,
): Promise<LeaverReport> {
  const { sync } = ctx
  const connections = connection === undefined ? [...sync.connections.keys()].sort() : [connection]
  const to = end ?? today(ctx, connections)
  const now = sync.now()
  const all = await listLeavers(sync.store.db, { connections, from, to, now, labels: labelsOf(sync) })
  const leavers = all
    .filter(({ acceptedAt }) => acceptedAt !== null)
    .map((leaver) => leaverView(ctx, leaver, { values }))
  const held = all.filter(({ state }) => state === 'held').map(({ connection: name }) => name)
  return {
    from,
    to,
    madeAt: now.toISOString(),
    version,
    connections: connections.map((name) => ({
      ...summaryOf(ctx, name, leavers),
      held: held.filter((of) => of === name).length,
    })),
    leavers,
  }
}

/** Today in the time zone of these sources where it is the latest: departures are of days there. */
function today({ sync }: Pick<LeaverContext, 'sync'>, connections: readonly string[]): string {
  const now = Temporal.Instant.from(sync.now().toISOString())
  const days = connections.map((name) => now.toZonedDateTimeISO(zoneOf(sync, name)).toPlainDate().toString())
  return days.toSorted().at(-1) ?? now.toString().slice(0, 'yyyy-mm-dd'.length)
}

function zoneOf({ connections }: Pick<SyncContext, 'connections'>, name: string): string {
  const { source, webhook } = connections.get(name)?.feeds ?? {}
  return (source ?? webhook)?.timeZone ?? 'UTC'
}

/** The report and its proofs, as files. Needs the key of the installation. */
async function leaverPack(
  ctx: LeaverContext & { readonly audit: Pick<AuditService, 'seal'> },
  query: ReportQuery,
): Promise<LeaverPack> {
  const { db } = ctx.sync.store
  const key = keyOf(db)
  if (key === null)
    throw new Failure(
      'conflict',
      'there is no key to sign the pack with: see "The key" in docs/audit.md, then try again',
    )
  const { report, populations } = await readMoment(ctx, query)
  // Afterwards, so that the excerpt proves every statement that was read.
  await ctx.audit.seal()
  const moved = populations.flatMap(({ movements }) => movements)
  const people = new Set([...report.leavers, ...moved].map(({ identityId }) => identityId))
  const { connection } = query
  const audit: string[] = []
  for await (const line of auditExcerpt(db, {
    people,
    acts: statementActs,
    ...(connection !== undefined && { connection }),
  }))
    audit.push(escapeJson(JSON.stringify(line)))
  return { leavers: report.leavers.length, files: await auditPack(report, { audit, key, populations }) }
}

type Moment = { readonly report: LeaverReport; readonly populations: readonly Population[] }

/** The report and the populations as of one moment: statements are made and people are forgotten meanwhile. */
async function readMoment(ctx: LeaverContext, query: ReportQuery): Promise<Moment> {
  const { store, connections } = ctx.sync
  const reading = store.db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return await reading.execute(async (tx) => {
    const moment = { ...ctx, sync: { store: { ...store, db: tx }, connections, now: () => ctx.sync.now() } }
    const report = await leaverReport(moment, query)
    const { from, to } = report
    return { report, populations: await readPopulations(moment, { from, to, connection: query.connection }) }
  })
}

const statementActs: ReadonlySet<Act> = new Set(['statement.made'])

/** The population of each connection at the start and the end of the period, in the time zone of its source. */
async function readPopulations(
  { sync }: Pick<LeaverContext, 'sync'>,
  { from, to, connection }: { readonly from: string; readonly to: string; readonly connection: string | undefined },
): Promise<readonly Population[]> {
  const { db } = sync.store
  const populations: Population[] = []
  for (const name of connection === undefined ? [...sync.connections.keys()].sort() : [connection]) {
    const startOf = (day: Temporal.PlainDate) => new Date(day.toZonedDateTime(zoneOf(sync, name)).epochMilliseconds)
    const first = Temporal.PlainDate.from(from)
    const period = { connection: name, from: startOf(first), to: startOf(Temporal.PlainDate.from(to).add({ days: 1 })) }
    const change = await populationChange(db, period)
    const statement = change.end?.id ?? 0
    const exported = await exportedKeys(db, { connection: name, statement })
    populations.push({
      connection: name,
      ...change,
      exported,
      accounted: await everybodyIn(db, { connection: name, statement }),
    })
  }
  return populations
}

function summaryOf(
  { sync, monitored }: LeaverContext,
  connection: string,
  leavers: readonly Leaver[],
): Omit<LeaverSummary, 'held'> {
  const listed = leavers.filter((leaver) => leaver.connection === connection)
  const current = listed.filter(({ state }) => !undone.has(state))
  const count = (holds: (leaver: Leaver) => boolean): number => current.filter(holds).length
  const figures = Object.fromEntries(legs.map((leg) => [leg, figuresOf(current.map((leaver) => leaver[leg]))]))
  return {
    connection,
    timeZone: zoneOf(sync, connection),
    boundHours: monitored.maxLeaverHours.get(connection) ?? defaultBoundHours,
    people: current.length,
    acknowledged: count(({ acknowledgedAt }) => acknowledgedAt !== null),
    effective: count(({ visibleAt }) => visibleAt !== null),
    notEffective: count(({ state }) => state === 'not_effective'),
    late: count(({ late }) => late),
    lateOpen: count(({ late, acknowledgedAt }) => late && acknowledgedAt === null),
    takenBack: listed.length - current.length,
    ...(figures as Pick<LeaverSummary, (typeof legs)[number]>),
  }
}
