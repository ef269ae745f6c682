import type { Caller } from '../../contract/control/access.ts'
import type { Alert } from '../../contract/control/alerts.ts'
import type { control } from '../../contract/control/control.ts'
import type { Process } from '../../contract/control/processes.ts'
import type {
  BlockedPeopleCounts,
  ChangeKind,
  ConnectionStatus,
  ForeignTally,
  InDoubtCounts,
  Status,
} from '../../contract/control/shapes.ts'
import { deliveryFailures } from '../../contract/failures.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { excerptPage } from '../../store/audit/excerpt.ts'
import { publicPem } from '../../store/audit/key.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { listClassifiedValues } from '../../store/classified-values.ts'
import { type ConnectionState, connectionStates } from '../../store/connections/connections.ts'
import { type Pause, pausedConnections } from '../../store/connections/pauses.ts'
import { listProblems, noProblems, type ProblemCounts, problemCounts } from '../../store/deliveries/problems.ts'
import { foreignCounts, noForeignPeople } from '../../store/foreign/people.ts'
import { type AccountedChange, changesOf, personOf, rejectsOf, searchChanges } from '../../store/history/history.ts'
import { inDoubtCounts } from '../../store/in-doubt.ts'
import { dismissEvents, listEvents, retryEvents } from '../../store/inbox/review.ts'
import { resolveKey } from '../../store/key-answers.ts'
import { listLeavers } from '../../store/leavers/list.ts'
import { summarizePlan } from '../../store/plans/summary.ts'
import { countBlockedPeople, listBlockedPeople, noBlockedPeople } from '../../store/rejects/blocked-people.ts'
import { forgetPerson } from '../../store/retention/forget.ts'
import { rosterEntries } from '../../store/roster/roster.ts'
import { accountOf } from '../../store/runs/accounts.ts'
import { type CurrentRuns, currentRuns, listRuns, outdatedBasis } from '../../store/runs/runs.ts'
import { type Purpose, purposes } from '../../store/runs/slots.ts'
import { differences, processes } from '../../store/workers/processes.ts'
import { holdBackOf } from '../../sync/requests/hold-backs.ts'
import {
  approveRun,
  cancelRun,
  classifyValue,
  hasMovedBasis,
  rejectRun,
  requestPerson,
  requestRevert,
  requestRun,
  restorePerson,
  retractPerson,
  unblock,
} from '../../sync/sync.ts'
import { conditionSettings, type MonitoredConnections } from '../alerts/freshness.ts'
import { alertLinks } from '../alerts/links.ts'
import { alertViews, channelViews } from '../alerts/message.ts'
import type { AuditService } from '../audit/service.ts'
import type { AlertSettings } from '../config/channel.ts'
import type { Reloads } from '../config/reload.ts'
import type { Live } from '../live/live.ts'
import type { Scheduled } from '../schedules/schedules.ts'
import {
  BlockedPersonCursor,
  type ListScope,
  NumberCursor,
  nextCursor,
  ProblemCursor,
  problemCursor,
  RunCursor,
  readCursor,
  SearchCursor,
  searchWithinMs,
  TextCursor,
  writeCursor,
} from './cursors.ts'
import { delayOf, platformDelay } from './delays.ts'
import { diagnosisHandlers } from './diagnosis.ts'
import { type FirstVisitContext, firstVisitHandlers } from './first-visit.ts'
import { foreignHandlers } from './foreign.ts'
import { historyHandlers } from './history.ts'
import { holdBackHandlers, holdBackView } from './hold-backs.ts'
import { keyHandlers } from './keys.ts'
import { leaverPack, leaverReport, leaverView } from './leavers.ts'
import { withNames } from './names.ts'
import { pauseHandlers, pauseView } from './pauses.ts'
import { peopleHandlers } from './people.ts'
import type { Acting } from './permitted.ts'
import { planHandlers } from './plans.ts'
import { existingRun, requireConnection } from './require-connection.ts'
import { runNameHandlers } from './run-names.ts'
import { nextTime, scheduleHandlers } from './schedules.ts'
import { type SettingsContext, settingsHandlers } from './settings.ts'
import { sourceHandlers } from './sources.ts'
import { type StoreContext, storeHandlers } from './store.ts'
import { tokenHandlers } from './tokens.ts'
import { trailHandlers } from './trail.ts'
import {
  blockedPersonView,
  changeView,
  classedView,
  labelOf,
  personAccountView,
  personView,
  problemView,
  rejectView,
  summaryView,
} from './views.ts'

/** What the control API is served from. */
export type ControlContext = StoreContext &
  SettingsContext &
  FirstVisitContext & {
    readonly caller: Caller
    readonly audit: Pick<AuditService, 'seal' | 'trouble' | 'verify' | 'replaceKey'>
    readonly schedules: readonly Scheduled[]
    readonly alerts: AlertSettings
    readonly monitored: MonitoredConnections
    /** What happens, for those who watch it; left out where no daemon runs. */
    readonly live?: Live
    readonly reloads?: Reloads
    readonly about: Pick<Status, 'version' | 'daemon' | 'configuration' | 'database' | 'queue' | 'platform'>
    /** Aborted when this process stops. */
    readonly signal: AbortSignal
  }

/** The control API. What cannot be done is thrown as a Failure. */
export const controlHandlers: Handlers<typeof control, ControlContext & Acting> = {
  ...keyHandlers,
  ...foreignHandlers,
  ...holdBackHandlers,
  ...pauseHandlers,
  ...scheduleHandlers,
  ...sourceHandlers,
  ...trailHandlers,
  ...storeHandlers,
  ...peopleHandlers,
  ...tokenHandlers,
  ...historyHandlers,
  ...runNameHandlers,
  ...planHandlers,
  ...diagnosisHandlers,
  ...settingsHandlers,
  ...firstVisitHandlers,

  async about({ about: { version, daemon }, sync }) {
    return { status: 200, body: { version, daemon, connections: [...sync.connections.keys()] } }
  },

  async status(ctx) {
    const { db } = ctx.sync.store
    const states = new Map((await connectionStates(db)).map((state) => [state.name, state]))
    const problems = await problemCounts(db, { now: ctx.sync.now() })
    const blockedPeople = await countBlockedPeople(db, { now: ctx.sync.now() })
    const foreign = await foreignCounts(db)
    const inDoubt = await inDoubtCounts(db)
    const paused = await pausedConnections(db, ctx.sync.now())
    const names = [...ctx.sync.connections.keys()]
    const runs = await currentRuns(db, names)
    const connections = names.map((name) =>
      connectionStatus(ctx, name, {
        state: states.get(name),
        runs: runs.get(name) ?? { active: null, last: null },
        problems: problems.get(name) ?? noProblems,
        blockedPeople: blockedPeople.get(name) ?? noBlockedPeople,
        foreign: foreign.get(name) ?? noForeignPeople,
        inDoubt: inDoubt.get(name) ?? null,
        pause: paused.get(name) ?? null,
      }),
    )
    const alerts = await listAlerts(ctx)
    const delay = await platformDelay(ctx.sync)
    const unsigned = ctx.audit.trouble()
    const reload = ctx.reloads?.last
    const running = { processes: await listProcesses(ctx), ...(reload && { reload }) }
    return {
      status: 200,
      body: {
        ...ctx.about,
        ...(delay !== null && { platformDelay: delay }),
        alerts,
        ...(unsigned !== null && { unsigned }),
        ...running,
        connections,
      },
    }
  },

  async listRuns(ctx, { query: { connection, state: states, trigger: triggers, after, limit } }) {
    if (connection !== undefined) requireConnection(ctx, connection)
    const scope = { list: 'runs', connection, states, triggers }
    const place = readCursor(scope, after, RunCursor)
    const data = await listRuns(ctx.sync.store.db, { connection, states, triggers, after: place, limit })
    const next = nextCursor(scope, { found: data, limit }, ({ createdAt, id }) => ({ createdAt, id }))
    return { status: 200, body: { data, next } }
  },

  async getRun(ctx, { params }) {
    const run = await existingRun(ctx, params.runId)
    const hasMoved = run.state === 'held' && run.moved === null && (await hasMovedBasis(ctx.sync, run))
    const moved = hasMoved ? outdatedBasis : run.moved
    return { status: 200, body: { ...run, moved, delay: await delayOf(ctx.sync, run) } }
  },

  async listChanges(ctx, { params: { runId }, query: { kind, search, after, limit, values } }) {
    const { connection } = await existingRun(ctx, runId)
    const { db } = ctx.sync.store
    const scope = { list: 'changes', runId, kind, search, ...(search !== undefined && { values }) }
    const { changes, next } = await changesAsked(ctx, runId, { kind, search, values, scope, after, limit })
    // A retraction holds no record: who it is about stands in the roster.
    const retracted = values
      ? changes.flatMap(({ change }) => (change.kind === 'retract' ? [change.identityId] : []))
      : []
    const known = await rosterEntries(db, { connection, identityIds: retracted })
    const label = labelOf(ctx.sync, connection)
    const data = changes.map(({ change, origin }) =>
      changeView(change, { values, label, origin, record: known.get(change.identityId)?.desired ?? null }),
    )
    return { status: 200, body: { data, next } }
  },

  async summarizeRun(ctx, { params: { runId }, query }) {
    await existingRun(ctx, runId)
    return { status: 200, body: summaryView(await summarizePlan(ctx.sync.store.db, runId), query) }
  },

  async listRejects(ctx, { params: { runId }, query: { after, limit } }) {
    await existingRun(ctx, runId)
    const scope = { list: 'rejects', runId }
    const place = readCursor(scope, after, NumberCursor)
    const found = await rejectsOf(ctx.sync.store.db, runId, { ...(place !== undefined && { after: place }), limit })
    const next = nextCursor(scope, { found, limit }, (last) => last.place)
    return { status: 200, body: { data: found.map(({ reject }) => rejectView(reject)), next } }
  },

  async startRun(ctx, { params: { connection }, body: { full, verify, person, plan } }) {
    requireConnection(ctx, connection)
    if (person !== undefined) {
      if (full || verify || plan) throw new Failure('usage', 'a run of one person takes no other option')
      return {
        status: 201,
        body: await requestPerson(ctx.sync, { connection, person, ...ctx.actor }),
      }
    }
    const options = { ...(full && { full }), ...(verify && { verify }), ...(plan && { plan }) }
    return {
      status: 201,
      body: await requestRun(ctx.sync, { connection, trigger: 'operator', options, ...ctx.actor }),
    }
  },

  async runAccount(ctx, { params: { runId }, query }) {
    const run = await existingRun(ctx, runId)
    const account = await accountOf(ctx.sync.store.db, runId)
    if (account === null)
      throw new Failure(
        'not_found',
        `run ${runId} of "${run.connection}" accounts for no more than its plan, or no longer does`,
      )
    const { person, revert = null } = account
    const [change = null] = person ? await changesOf(ctx.sync.store.db, runId, { limit: 1 }) : []
    return { status: 200, body: { person: person ? personAccountView(person, change, query) : null, revert } }
  },

  async revertRun(ctx, { params: { runId }, body }) {
    await existingRun(ctx, runId)
    return { status: 201, body: await requestRevert(ctx.sync, { runId, ...body, ...ctx.actor, signal: ctx.signal }) }
  },

  async approveRun(ctx, { params: { runId }, body }) {
    return { status: 200, body: await approveRun(ctx.sync, { runId, ...body, ...ctx.actor }) }
  },

  async rejectRun(ctx, { params: { runId }, body }) {
    return { status: 200, body: await rejectRun(ctx.sync, { runId, ...body, ...ctx.actor }) }
  },

  async cancelRun(ctx, { params: { runId } }) {
    return { status: 200, body: await cancelRun(ctx.sync, { runId, by: ctx.actor.by }) }
  },

  async listProblems(ctx, { query: { connection, after, limit, values } }) {
    if (connection !== undefined) requireConnection(ctx, connection)
    const now = ctx.sync.now()
    const scope = { list: 'problems', connection }
    const place = readCursor(scope, after, ProblemCursor)
    const found = await listProblems(ctx.sync.store.db, {
      now,
      ...(connection !== undefined && { connection }),
      ...(place !== undefined && { after: place }),
      limit,
    })
    const names = new Set(found.map((problem) => problem.connection))
    const nextRuns = new Map([...names].map((name) => [name, nextRunAt(ctx, name)]))
    const data = found.map((problem) =>
      problemView(problem, { now, nextRunAt: nextRuns.get(problem.connection) ?? null }),
    )
    const next = nextCursor(scope, { found, limit }, problemCursor)
    return { status: 200, body: { data: await withNames(ctx, data, { values }), next } }
  },

  async listBlockedPeople(ctx, { query: { connection, after, limit, values } }) {
    if (connection !== undefined) requireConnection(ctx, connection)
    const now = ctx.sync.now()
    const scope = { list: 'blockedPeople', connection }
    const place = readCursor(scope, after, BlockedPersonCursor)
    const found = await listBlockedPeople(ctx.sync.store.db, {
      now,
      ...(connection !== undefined && { connection }),
      ...(place !== undefined && { after: place }),
      limit,
    })
    const next = nextCursor(scope, { found, limit }, (last) => last.place)
    const data = found.map((one) => blockedPersonView(one, now))
    return { status: 200, body: { data: await withNames(ctx, data, { values }), next } }
  },

  async listAlerts(ctx) {
    return { status: 200, body: { data: await listAlerts(ctx), channels: channelViews(ctx.alerts) } }
  },

  async testAlerts(ctx, { body: { channel } }) {
    // Of the alerts, a command only needs what it shows.
    const { testAlerts } = await import('../alerts/senders.ts')
    const data = await testAlerts(ctx.alerts, { channel, now: ctx.sync.now(), signal: ctx.signal })
    return { status: 200, body: { data } }
  },

  async listFailures() {
    const data = Object.entries(deliveryFailures).map(([code, failure]) => ({ code, ...failure }))
    return { status: 200, body: { data } }
  },

  async unblockConnection(ctx, { params: { connection } }) {
    requireConnection(ctx, connection)
    return { status: 200, body: await unblock(ctx.sync, { connection, by: ctx.actor.by }) }
  },

  async listValues(ctx, { params: { connection } }) {
    requireConnection(ctx, connection)
    const classed = await listClassifiedValues(ctx.sync.store.db, connection)
    return { status: 200, body: { data: classed.map(classedView) } }
  },

  async classValue(ctx, { params: { connection }, body: { value, as } }) {
    requireConnection(ctx, connection)
    const { by } = ctx.actor
    return { status: 200, body: classedView(await classifyValue(ctx.sync, { connection, value, meaning: as, by })) }
  },

  async listEvents(ctx, { params: { connection }, query: { state, order, after, limit } }) {
    requireConnection(ctx, connection)
    const scope = { list: 'events', connection, state, order }
    const place = readCursor(scope, after, TextCursor)
    const narrowed = { ...(state !== undefined && { state }), ...(place !== undefined && { after: place }) }
    const data = await listEvents(ctx.sync.store.db, { connection, order, ...narrowed, limit })
    return { status: 200, body: { data, next: nextCursor(scope, { found: data, limit }, (last) => last.id) } }
  },

  async retryEvents(ctx, { params: { connection }, body: { ids } }) {
    requireConnection(ctx, connection)
    const { by } = ctx.actor
    const events = await ctx.sync.store.db.transaction().execute(async (tx) => {
      const retried = await retryEvents(tx, { connection, ...(ids !== undefined && { ids }) })
      const details = { events: retried, ...(ids !== undefined && { ids }) }
      if (retried > 0)
        await recordAuditEntry(tx, { act: 'events.retried', connection, by, details, now: ctx.sync.now() })
      return retried
    })
    return { status: 200, body: { events } }
  },

  async dismissEvents(ctx, { params: { connection }, body: { ids } }) {
    requireConnection(ctx, connection)
    const { by } = ctx.actor
    const events = await ctx.sync.store.db.transaction().execute(async (tx) => {
      const dismissed = await dismissEvents(tx, { connection, ids, by })
      const details = { events: dismissed, ids }
      if (dismissed > 0)
        await recordAuditEntry(tx, { act: 'events.dismissed', connection, by, details, now: ctx.sync.now() })
      return dismissed
    })
    return { status: 200, body: { events } }
  },

  async getPerson(ctx, { params, query }) {
    requireConnection(ctx, params.connection)
    const person = { ...params, identityId: await resolveKey(ctx.sync.store.db, params) }
    const known = await personOf(ctx.sync.store.db, person)
    const held = await holdBackOf(ctx.sync, person)
    if (!known)
      throw new Failure('not_found', `nobody with the key "${params.identityId}" is known in ${params.connection}`)
    const clocks = { connections: [params.connection], identityId: person.identityId, now: ctx.sync.now() }
    const leavers = (await listLeavers(ctx.sync.store.db, clocks)).map((leaver) => leaverView(ctx, leaver, query))
    const heldBack = held && holdBackView(held)
    const blockedBy = (await listBlockedPeople(ctx.sync.store.db, { now: ctx.sync.now(), ...person })).flatMap(
      ({ column, reason, source, line }) => (line === null ? [] : { column, reason, source, line }),
    )
    return {
      status: 200,
      body: {
        ...personView(person, known, query),
        // `unserved` is deprecated: removed after 0.1.
        ...(blockedBy.length > 0 && { blockedBy, unserved: blockedBy }),
        leavers,
        heldBack,
      },
    }
  },

  async listNotEffective(ctx, { query: { connection, after, limit, values } }) {
    if (connection !== undefined) requireConnection(ctx, connection)
    const connections = connection === undefined ? [...ctx.sync.connections.keys()] : [connection]
    const scope = { list: 'not-effective', connection }
    const place = readCursor(scope, after, ProblemCursor)
    const found = await listLeavers(ctx.sync.store.db, {
      connections,
      now: ctx.sync.now(),
      notEffective: true,
      ...(place !== undefined && { after: place }),
      limit,
    })
    const next = nextCursor(scope, { found, limit }, problemCursor)
    return { status: 200, body: { data: found.map((leaver) => leaverView(ctx, leaver, { values })), next } }
  },

  async reportLeavers(ctx, { query }) {
    if (query.connection !== undefined) requireConnection(ctx, query.connection)
    return { status: 200, body: await leaverReport(ctx, query) }
  },

  async packLeavers(ctx, { query }) {
    if (query.connection !== undefined) requireConnection(ctx, query.connection)
    return { status: 200, body: await leaverPack(ctx, query) }
  },

  async retractPerson(ctx, { params, body }) {
    requireConnection(ctx, params.connection)
    return { status: 201, body: await retractPerson(ctx.sync, { ...params, ...body, ...ctx.actor }) }
  },

  async withdrawRetraction(ctx, { params }) {
    requireConnection(ctx, params.connection)
    return { status: 201, body: await restorePerson(ctx.sync, { ...params, ...ctx.actor }) }
  },

  async forgetPerson(ctx, { params, body }) {
    requireConnection(ctx, params.connection)
    const now = ctx.sync.now()
    const today = now.toISOString().slice(0, 'yyyy-mm-dd'.length)
    const changes = await forgetPerson(ctx.sync.store.db, { ...params, ...body, by: ctx.actor.by, today, now })
    return { status: 200, body: { identityId: params.identityId, changes } }
  },

  async verifyAudit(ctx, { body: { publicKey } }) {
    return { status: 200, body: await ctx.audit.verify({ ...(publicKey !== undefined && { publicKey }) }) }
  },

  async exportAudit(ctx, { query: { after, from, to, connection, runId, identityId } }) {
    if (after === 0) await ctx.audit.seal()
    const filter = {
      ...(from !== undefined && { from: new Date(from) }),
      ...(to !== undefined && { to: new Date(to) }),
      ...(connection !== undefined && { connection }),
      ...(runId !== undefined && { runId }),
      ...(identityId !== undefined && { people: new Set([identityId]) }),
    }
    const { lines, next } = await excerptPage(ctx.sync.store.db, { after, filter })
    return { status: 200, body: { data: lines.map((line) => JSON.stringify(line)), next } }
  },

  async replaceAuditKey(ctx, { body: { reason } }) {
    const { head, tied } = await ctx.audit.replaceKey({ reason, by: ctx.actor.by })
    return { status: 201, body: { tied, ordinal: head.ordinal, publicKey: publicPem(head.key) } }
  },
}

async function listAlerts({ sync, alerts, monitored }: ControlContext): Promise<Alert[]> {
  return await alertViews(sync.store.db, {
    ...conditionSettings(monitored, alerts, sync.now()),
    linkOf: alertLinks(alerts),
  })
}

type ChangesAsked = {
  readonly kind: ChangeKind | undefined
  readonly search: string | undefined
  readonly values: boolean
  readonly scope: ListScope
  readonly after: string | undefined
  readonly limit: number
}

async function changesAsked(
  { sync }: ControlContext,
  runId: string,
  { kind, search, values, scope, after, limit }: ChangesAsked,
): Promise<{ readonly changes: AccountedChange[]; readonly next: string | null }> {
  const { db } = sync.store
  if (search !== undefined) {
    const place = readCursor(scope, after, SearchCursor)
    const page = await searchChanges(db, runId, { kind, search, values, place, limit, withinMs: searchWithinMs })
    return { changes: page.found, next: page.next && writeCursor(scope, page.next) }
  }
  const place = readCursor(scope, after, TextCursor)
  const narrowed = { ...(kind !== undefined && { kind }), ...(place !== undefined && { after: place }) }
  const changes = await changesOf(db, runId, { ...narrowed, limit })
  return { changes, next: nextCursor(scope, { found: changes, limit }, ({ change }) => change.identityId) }
}

function connectionStatus(
  ctx: ControlContext,
  name: string,
  {
    state,
    runs,
    problems,
    blockedPeople,
    foreign,
    inDoubt,
    pause,
  }: {
    state: ConnectionState | undefined
    runs: CurrentRuns
    problems: ProblemCounts
    blockedPeople: BlockedPeopleCounts
    foreign: ForeignTally
    inDoubt: InDoubtCounts | null
    pause: Pause | null
  },
): ConnectionStatus {
  const { target, feeds, approvals } = ctx.sync.connections.get(name) ?? {}
  const people = state?.people ?? 0
  const due = state?.outOfSync ?? 0
  return {
    name,
    target: target && 'name' in target ? target.name : `connection ${state?.targetId ?? target?.id}`,
    people: { desired: people, separated: state?.separated ?? 0, due },
    problems,
    blockedPeople,
    // Deprecated: removed after 0.1.
    unserved: blockedPeople,
    foreign,
    inDoubt,
    twoPeople: approvals?.twoPeople ?? false,
    inbox: feeds?.webhook
      ? { pending: state?.pendingEvents ?? 0, held: state?.heldEvents ?? 0, rejected: state?.rejectedEvents ?? 0 }
      : null,
    blocked: state?.blocked ?? null,
    paused: pause && pauseView(pause),
    ...runs,
    nextAt: nextAt(ctx, { connection: name, purpose: 'read', pause }),
    nextVerifyAt: nextAt(ctx, { connection: name, purpose: 'verify', pause }),
    nextSampleAt: nextAt(ctx, { connection: name, purpose: 'sample', pause }),
  }
}

/** When the connection's next run comes by itself, whatever it is for: each tries again the people that the platform refused. */
function nextRunAt(ctx: ControlContext, connection: string): string | null {
  const times = purposes.flatMap((purpose) => nextAt(ctx, { connection, purpose, pause: null }) ?? [])
  const [first] = times.sort()
  return first ?? null
}

/** When the schedule starts something next. A time in a pause is made up for at its end. */
function nextAt(ctx: ControlContext, of: { connection: string; purpose: Purpose; pause: Pause | null }): string | null {
  const found = ctx.schedules.find(({ connection, purpose }) => connection === of.connection && purpose === of.purpose)
  if (!found) return null
  return nextTime(found.schedule, { pause: of.pause, now: ctx.sync.now() })?.toISOString() ?? null
}

async function listProcesses({ sync }: ControlContext): Promise<Process[]> {
  const all = await processes(sync.store.db)
  return all.map(({ roles, host, pid, version, since, seenAt, settings }) => ({
    ...{ roles, host, pid, version, since },
    seenAt: seenAt.toISOString(),
    differs: [...new Set(all.flatMap((other) => differences(settings, other.settings)))].sort(),
  }))
}
