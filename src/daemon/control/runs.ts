import type { ChangesQuery, runOperations } from '../../contract/control/runs.ts'
import type { ChangeView } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import {
  type AccountedChange,
  type ChangeFilter,
  changesOf,
  changesOfPart,
  rejectsOf,
  searchChanges,
} from '../../store/history/history.ts'
import { changesInOrder } from '../../store/history/ordered-changes.ts'
import { planGroups } from '../../store/plans/approved-part.ts'
import { summarizePlan } from '../../store/plans/summary.ts'
import { rosterEntries } from '../../store/roster/roster.ts'
import { readRunAccount } from '../../store/runs/accounts.ts'
import { outdatedBasis } from '../../store/runs/held-runs.ts'
import { relatedRuns } from '../../store/runs/related-runs.ts'
import { listRuns } from '../../store/runs/runs.ts'
import {
  approveRun,
  cancelRun,
  hasMovedBasis,
  previewPart,
  rejectRun,
  requestPerson,
  requestRevert,
  requestRun,
} from '../../sync/sync.ts'
import type { ControlContext } from './control-context.ts'
import {
  ChangeCursor,
  maxSearchMs,
  NumberCursor,
  nextCursor,
  RunCursor,
  readCursor,
  SearchCursor,
  writeCursor,
} from './cursors.ts'
import { delayOf } from './delays.ts'
import { existingRun, requireConnection } from './require-connection.ts'
import { scanInTurn } from './scan-turns.ts'
import { changeView, labelOf, personAccountView, rejectView, summaryView } from './views.ts'
import type { WithActor } from './with-permissions.ts'

/** Handlers of the operations about runs. */
export const runHandlers: Handlers<typeof runOperations, ControlContext & WithActor> = {
  async listRuns(ctx, { query: { connection, state: states, trigger: triggers, after, limit } }) {
    if (connection !== undefined) requireConnection(ctx, connection)
    const scope = { list: 'runs', connection, states, triggers }
    const cursor = readCursor(scope, after, RunCursor)
    const data = await listRuns(ctx.sync.store.db, { connection, states, triggers, after: cursor, limit })
    const next = nextCursor(scope, { rows: data, limit }, ({ createdAt, id }) => ({ createdAt, id }))
    return { status: 200, body: { data, next } }
  },

  async getRun(ctx, { params }) {
    const run = await existingRun(ctx, params.runId)
    const hasMoved = run.state === 'held' && run.moved === null && (await hasMovedBasis(ctx.sync, run))
    const moved = hasMoved ? outdatedBasis : run.moved
    const related = await relatedRuns(ctx.sync.store.db, run)
    return { status: 200, body: { ...run, ...related, moved, delay: await delayOf(ctx.sync, run) } }
  },

  async listChanges(ctx, { params: { runId }, query }) {
    const { connection } = await existingRun(ctx, runId)
    const { changes, next } = await readChanges(ctx, { runId, connection }, query)
    return { status: 200, body: { data: await changeViews(ctx, { connection, changes, values: query.values }), next } }
  },

  async summarizeRun(ctx, { params: { runId }, query }) {
    await existingRun(ctx, runId)
    return { status: 200, body: summaryView(await summarizePlan(ctx.sync.store.db, runId), query) }
  },

  async listRejects(ctx, { params: { runId }, query: { after, limit } }) {
    await existingRun(ctx, runId)
    const scope = { list: 'rejects', runId }
    const cursor = readCursor(scope, after, NumberCursor)
    const rejects = await rejectsOf(ctx.sync.store.db, runId, { after: cursor, limit })
    const next = nextCursor(scope, { rows: rejects, limit }, (last) => last.cursor)
    return { status: 200, body: { data: rejects.map(({ reject }) => rejectView(reject)), next } }
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
    const account = await readRunAccount(ctx.sync.store.db, runId)
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

  async listPlanGroups(ctx, { params: { runId }, query }) {
    await existingRun(ctx, runId)
    return { status: 200, body: await planGroups(ctx.sync.store.db, { runId, ...query }) }
  },

  async previewPart(ctx, { params: { runId }, query: { values, limit }, body: selection }) {
    const { connection } = await existingRun(ctx, runId)
    const part = await previewPart(ctx.sync, { runId, selection })
    const changes = await changesOfPart(ctx.sync.store.db, { runId, selection, limit })
    return { status: 200, body: { runId, ...part, changes: await changeViews(ctx, { connection, changes, values }) } }
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
}

type ShownChanges = {
  readonly connection: string
  readonly changes: readonly AccountedChange[]
  readonly values: boolean
}

async function changeViews(ctx: ControlContext, { connection, changes, values }: ShownChanges): Promise<ChangeView[]> {
  // A retraction holds no record: the person is in the roster.
  const retracted = values
    ? changes.flatMap(({ change }) => (change.kind === 'retract' ? [change.identityId] : []))
    : []
  const known = await rosterEntries(ctx.sync.store.db, { connection, identityIds: retracted })
  const label = labelOf(ctx.sync, connection)
  return changes.map(({ change, origin }) =>
    changeView(change, { values, label, origin, record: known.get(change.identityId)?.desired ?? null }),
  )
}

async function readChanges(
  ctx: ControlContext,
  { runId, connection }: { readonly runId: string; readonly connection: string },
  query: ChangesQuery,
): Promise<{ readonly changes: AccountedChange[]; readonly next: string | null }> {
  const { db } = ctx.sync.store
  const { search, sort = 'key', after, limit, values } = query
  const label = labelOf(ctx.sync, connection)
  const filter = filterOf(query)
  if (search === undefined) {
    const scope = { list: 'changes', runId, ...filter, sort }
    const position = readCursor(scope, after, ChangeCursor)
    const page = await changesInOrder(db, { runId, order: sort, filter, position, limit })
    return { changes: page.changes, next: page.next && writeCursor(scope, page.next) }
  }
  if (sort !== 'key') throw new Failure('usage', 'sort: a search is sorted by key; leave out the search or the order')
  const scope = { list: 'changes', runId, ...filter, search, values }
  const cursor = readCursor(scope, after, SearchCursor)
  const page = await scanInTurn(ctx, () =>
    searchChanges(db, runId, { filter, search, values, label, cursor, limit, withinMs: maxSearchMs }),
  )
  return { changes: page.matches, next: page.next && writeCursor(scope, page.next) }
}

function filterOf({ kind, group, withoutGroup }: ChangesQuery): ChangeFilter {
  if (group !== undefined && withoutGroup === true)
    throw new Failure('usage', 'withoutGroup: goes with no group; leave out one of the two')
  return { kind, group: withoutGroup === true ? null : group }
}
