import type { control } from '../contract/control.ts'
import type { ConnectionStatus, Run, Status } from '../contract/control-shapes.ts'
import { Failure } from '../errors.ts'
import type { Handlers } from '../http/mount.ts'
import { type ConnectionState, connectionStates } from '../store/connections.ts'
import { changesOf, listProblems, personOf, rejectsOf } from '../store/history.ts'
import { dismissEvents, listEvents, retryEvents } from '../store/inbox-review.ts'
import { getRun, listRuns, type RunState, settledStates } from '../store/runs.ts'
import type { SyncContext } from '../sync/context.ts'
import { approveRun, cancelRun, planOnly, rejectRun, requestRun, restorePerson, retractPerson } from '../sync/sync.ts'
import { nextSlotAt, type Schedule } from './schedules.ts'
import { changeView, personView, planView, problemView } from './views.ts'

/** What the control API is served from. */
export type ControlContext = {
  readonly sync: SyncContext
  readonly schedules: ReadonlyMap<string, Schedule>
  readonly about: Pick<Status, 'version' | 'daemon' | 'database' | 'queue' | 'platform'>
  /** Aborted when this process stops. */
  readonly signal: AbortSignal
}

/** How many of the newest runs are looked through for the active and the last one. */
const recentRuns = 20

/** What a run needs no more than a glance for; the active states come before the waiting ones. */
const activeOrder: readonly RunState[] = ['reading', 'planned', 'delivering', 'held', 'waiting']

/** The control API. What cannot be done is thrown as a Failure. */
export const controlHandlers: Handlers<typeof control, ControlContext> = {
  async status(ctx) {
    const states = new Map((await connectionStates(ctx.sync.store.db)).map((state) => [state.name, state]))
    const connections: ConnectionStatus[] = []
    for (const name of ctx.sync.connections.keys()) {
      const runs = await listRuns(ctx.sync.store.db, { connection: name, limit: recentRuns })
      connections.push(connectionStatus(ctx, name, states.get(name), runs))
    }
    return { status: 200, body: { ...ctx.about, connections } }
  },

  async listRuns(ctx, { query: { connection, limit } }) {
    if (connection !== undefined) knownConnection(ctx, connection)
    const data = await listRuns(ctx.sync.store.db, { ...(connection !== undefined && { connection }), limit })
    return { status: 200, body: { data } }
  },

  async getRun(ctx, { params }) {
    return { status: 200, body: await existingRun(ctx, params.runId) }
  },

  async listChanges(ctx, { params: { runId }, query: { after, limit, values } }) {
    await existingRun(ctx, runId)
    const changes = await changesOf(ctx.sync.store.db, runId, { ...(after !== undefined && { after }), limit })
    const data = changes.map(({ change }) => changeView(change, { values }))
    return { status: 200, body: { data, next: data.length < limit ? null : (data.at(-1)?.identityId ?? null) } }
  },

  async listRejects(ctx, { params: { runId }, query: { after, limit } }) {
    await existingRun(ctx, runId)
    const found = await rejectsOf(ctx.sync.store.db, runId, { ...(after !== undefined && { after }), limit })
    const next = found.length < limit ? null : (found.at(-1)?.place ?? null)
    return { status: 200, body: { data: found.map(({ reject }) => reject), next } }
  },

  async startRun(ctx, { params: { connection }, body: { full, verify } }) {
    knownConnection(ctx, connection)
    const options = { ...(full && { full }), ...(verify && { verify }) }
    return { status: 201, body: await requestRun(ctx.sync, { connection, trigger: 'operator', options }) }
  },

  async planConnection(ctx, { params: { connection }, query }) {
    knownConnection(ctx, connection)
    return { status: 200, body: planView(await planOnly(ctx.sync, connection, ctx.signal), query) }
  },

  async approveRun(ctx, { params: { runId }, body: { digest, by } }) {
    return { status: 200, body: await approveRun(ctx.sync, { runId, digest, by }) }
  },

  async rejectRun(ctx, { params: { runId }, body: { by } }) {
    return { status: 200, body: await rejectRun(ctx.sync, { runId, by }) }
  },

  async cancelRun(ctx, { params: { runId }, body: { by } }) {
    return { status: 200, body: await cancelRun(ctx.sync, { runId, by }) }
  },

  async listProblems(ctx, { query: { connection } }) {
    if (connection !== undefined) knownConnection(ctx, connection)
    const problems = await listProblems(ctx.sync.store.db, connection === undefined ? {} : { connection })
    return { status: 200, body: { data: problems.map(problemView) } }
  },

  async listEvents(ctx, { params: { connection }, query: { state, after, limit } }) {
    knownConnection(ctx, connection)
    const narrowed = { ...(state !== undefined && { state }), ...(after !== undefined && { after }) }
    const data = await listEvents(ctx.sync.store.db, { connection, ...narrowed, limit })
    return { status: 200, body: { data, next: data.length < limit ? null : (data.at(-1)?.id ?? null) } }
  },

  async retryEvents(ctx, { params: { connection }, body: { ids } }) {
    knownConnection(ctx, connection)
    const events = await retryEvents(ctx.sync.store.db, { connection, ...(ids !== undefined && { ids }) })
    return { status: 200, body: { events } }
  },

  async dismissEvents(ctx, { params: { connection }, body: { ids, by } }) {
    knownConnection(ctx, connection)
    return { status: 200, body: { events: await dismissEvents(ctx.sync.store.db, { connection, ids, by }) } }
  },

  async getPerson(ctx, { params, query }) {
    knownConnection(ctx, params.connection)
    const known = await personOf(ctx.sync.store.db, params)
    if (!known)
      throw new Failure('not_found', `nobody with the key "${params.identityId}" is known in ${params.connection}`)
    return { status: 200, body: personView(params, known, query) }
  },

  async retractPerson(ctx, { params, body }) {
    knownConnection(ctx, params.connection)
    return { status: 201, body: await retractPerson(ctx.sync, { ...params, ...body }) }
  },

  async restorePerson(ctx, { params, body }) {
    knownConnection(ctx, params.connection)
    return { status: 201, body: await restorePerson(ctx.sync, { ...params, ...body }) }
  },
}

function knownConnection(ctx: ControlContext, name: string): void {
  if (ctx.sync.connections.has(name)) return
  const names = [...ctx.sync.connections.keys()].join(', ')
  throw new Failure('not_found', `there is no connection "${name}" in the configuration; it has ${names}`)
}

async function existingRun(ctx: ControlContext, runId: string): Promise<Run> {
  const run = await getRun(ctx.sync.store.db, runId)
  if (!run) throw new Failure('not_found', `there is no run ${runId}; "rollcall runs" lists them`)
  return run
}

function connectionStatus(
  ctx: ControlContext,
  name: string,
  state: ConnectionState | undefined,
  runs: readonly Run[],
): ConnectionStatus {
  const { target, feeds } = ctx.sync.connections.get(name) ?? {}
  const schedule = ctx.schedules.get(name)
  const people = state?.people ?? 0
  const due = state?.behind ?? 0
  return {
    name,
    target: target && 'name' in target ? target.name : `connection ${state?.targetId ?? target?.id}`,
    people: { wanted: people, separated: state?.separated ?? 0, due },
    problems: state?.problems ?? 0,
    inbox: feeds?.webhook ? { pending: state?.pendingEvents ?? 0, rejected: state?.rejectedEvents ?? 0 } : null,
    blocked: state?.blocked ?? null,
    active: activeOrder.flatMap((wanted) => runs.filter((run) => run.state === wanted)).at(0) ?? null,
    last: runs.find((run) => settledStates.includes(run.state)) ?? null,
    nextAt: schedule ? (nextSlotAt(schedule, ctx.sync.now())?.toISOString() ?? null) : null,
  }
}
