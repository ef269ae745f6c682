import { z } from 'zod'
import type { Alert } from '../../contract/control/alerts.ts'
import { foldLetters, holdsFolded } from '../../contract/control/fold-letters.ts'
import type { Process } from '../../contract/control/processes.ts'
import type { ConnectionStatus, Status } from '../../contract/control/shapes.ts'
import type { statusOperations } from '../../contract/control/status.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { connectionStates } from '../../store/connections/connections.ts'
import { pausedConnections } from '../../store/connections/pauses.ts'
import { noProblems, problemCounts } from '../../store/deliveries/problems.ts'
import { foreignCounts, noForeignPeople } from '../../store/foreign/people.ts'
import { inDoubtCounts } from '../../store/in-doubt.ts'
import { countBlockedPeople, noBlockedPeople } from '../../store/rejects/blocked-people.ts'
import { leftOutCounts } from '../../store/roster/left-out-people.ts'
import { type CurrentRuns, currentRunStates, currentRuns, endStates } from '../../store/runs/runs.ts'
import { pushedTallies } from '../../store/scim/resources.ts'
import { connectionsWithStated } from '../../store/stated-departures.ts'
import { differences, processes } from '../../store/workers/processes.ts'
import { currentAlerts } from './alerts.ts'
import { stateOf } from './connection-state.ts'
import type { ControlContext } from './control-context.ts'
import { readCursor, writeCursor } from './cursors.ts'
import { platformDelay } from './delays.ts'
import { pauseView } from './pauses.ts'
import { requireConnection } from './require-connection.ts'
import { nextAt } from './schedules.ts'
import type { WithActor } from './with-permissions.ts'

/** Handlers of the operations about what runs here. */
export const statusHandlers: Handlers<typeof statusOperations, ControlContext & WithActor> = {
  async about({ about: { version, daemon }, sync }) {
    const receivers = [...sync.connections].flatMap(([name, { feeds }]) => (feeds.webhook ? [name] : []))
    return { status: 200, body: { version, daemon, connections: [...sync.connections.keys()], receivers } }
  },

  async status(ctx, { query: { connection, search, state, after, limit } }) {
    if (connection !== undefined) requireConnection(ctx, connection)
    const scope = { list: 'status', connection, search, state }
    const last = readCursor(scope, after, Position)
    const alerts = await currentAlerts(ctx)
    const facts = await readFacts(ctx, alerts)
    const positions = new Map([...ctx.sync.connections.keys()].map((name, position) => [name, position]))
    const positionOf = (one: Summary) => positions.get(one.name) ?? 0
    const matching = [...positions.keys()]
      .filter((name) => name === (connection ?? name) && holdsText(name, search))
      .map((name) => connectionSummary(ctx, name, facts))
    const listed = matching.filter((one) => one.state === (state ?? one.state))
    const following = last === undefined ? listed : listed.filter((one) => positionOf(one) > last)
    const shown = following.slice(0, limit)
    const end = following.length > limit ? shown.at(-1) : undefined
    return {
      status: 200,
      body: {
        ...ctx.about,
        platformDelay: (await platformDelay(ctx.sync)) ?? undefined,
        alerts,
        unsigned: ctx.audit.trouble() ?? undefined,
        processes: await listProcesses(ctx),
        reload: ctx.reloads?.last ?? undefined,
        connections: await withRuns(ctx, shown, facts),
        states: countedStates(matching),
        totals: totalsOf(matching, facts),
        next: end === undefined ? null : writeCursor(scope, positionOf(end)),
      },
    }
  },
}

/** The position of a connection in the configuration: one that has left the chosen state since still has its place. */
const Position = z.int().min(0)

function holdsText(name: string, search: string | undefined): boolean {
  return search === undefined || holdsFolded(foldLetters(name), foldLetters(search))
}

function totalsOf(connections: readonly Summary[], { stated }: Facts): Status['totals'] {
  const sum = (countOf: (connection: Summary) => number) =>
    connections.reduce((total, connection) => total + countOf(connection), 0)
  return {
    employed: sum(({ people }) => people.desired - people.separated),
    problems: sum(({ problems }) => problems.refused.people + problems.undelivered.people),
    blockedPeople: sum(({ blockedPeople }) => blockedPeople.people + blockedPeople.rows),
    foreign: sum(({ foreign }) => foreign.people),
    leftOut: sum(({ leftOut }) => leftOut?.people ?? 0),
    stated: connections.flatMap(({ name }) => (stated.has(name) ? [name] : [])),
    inDoubt: connections.flatMap(({ name, inDoubt }) => (inDoubt === null ? [] : [{ connection: name, ...inDoubt }])),
  }
}

function countedStates(connections: readonly Summary[]): Status['states'] {
  const groups = Object.groupBy(connections, ({ state }) => state)
  return Object.fromEntries(Object.entries(groups).map(([state, { length }]) => [state, length]))
}

/** What the store has of all connections, by their names. Each is one query, however many connections there are. */
async function readFacts({ sync }: ControlContext, alerts: readonly Alert[]) {
  const { db } = sync.store
  return {
    states: new Map((await connectionStates(db)).map((state) => [state.name, state])),
    problems: await problemCounts(db, { now: sync.now() }),
    blockedPeople: await countBlockedPeople(db, { now: sync.now() }),
    foreign: await foreignCounts(db),
    leftOut: await leftOutCounts(db),
    inDoubt: await inDoubtCounts(db),
    pauses: await pausedConnections(db, sync.now()),
    runs: await currentRunStates(db, [...sync.connections.keys()]),
    pushed: await pushedTallies(db),
    stated: await connectionsWithStated(db),
    alerts: Map.groupBy(alerts, ({ connection }) => connection),
  }
}

type Facts = Awaited<ReturnType<typeof readFacts>>

/** A connection without what takes a query or a calculation of its own: its runs and next times. */
type Summary = Omit<ConnectionStatus, 'active' | 'last' | 'nextAt' | 'nextVerifyAt' | 'nextSampleAt'>

const noRuns = { active: null, last: null }

function connectionSummary(ctx: ControlContext, name: string, facts: Facts): Summary {
  const { target, feeds, approvals, isPushed } = ctx.sync.connections.get(name) ?? {}
  const state = facts.states.get(name)
  const people = state?.people ?? 0
  const pause = facts.pauses.get(name) ?? null
  const pushed = facts.pushed.get(name)
  const known = {
    // `wanted` is deprecated: removed after 0.1.
    people: { desired: people, wanted: people, separated: state?.separated ?? 0, due: state?.outOfSync ?? 0 },
    problems: facts.problems.get(name) ?? noProblems,
    blockedPeople: facts.blockedPeople.get(name) ?? noBlockedPeople,
    foreign: facts.foreign.get(name) ?? noForeignPeople,
    leftOut: facts.leftOut.get(name),
    inDoubt: facts.inDoubt.get(name) ?? null,
    inbox: feeds?.webhook
      ? { pending: state?.pendingEvents ?? 0, held: state?.heldEvents ?? 0, rejected: state?.rejectedEvents ?? 0 }
      : null,
    blocked: state?.blocked ?? null,
    paused: pause && pauseView(pause),
  }
  return {
    name,
    state: stateOf({ ...known, runs: facts.runs.get(name) ?? noRuns, alerts: facts.alerts.get(name) ?? [] }),
    target: target && 'name' in target ? target.name : `connection ${state?.targetId ?? target?.id}`,
    ...known,
    // Deprecated: removed after 0.1.
    unserved: known.blockedPeople,
    asOf: state?.acceptedAsOf ?? null,
    twoPeople: approvals?.twoPeople ?? false,
    requireReason: approvals?.requireReason ?? false,
    ...(isPushed && pushed && { pushed: { ...pushed, lastAt: pushed.lastAt?.toISOString() ?? null } }),
  }
}

/** A run that ended after its state was read is the last one. */
function withoutEnded({ active, last }: CurrentRuns): CurrentRuns {
  return active !== null && endStates.includes(active.state) ? { active: null, last: active } : { active, last }
}

async function withRuns(ctx: ControlContext, shown: readonly Summary[], facts: Facts): Promise<ConnectionStatus[]> {
  const states = new Map(shown.map(({ name }) => [name, facts.runs.get(name) ?? noRuns]))
  const runs = await currentRuns(ctx.sync.store.db, states)
  const schedules = Map.groupBy(ctx.schedules, ({ connection }) => connection)
  return shown.map((summary) => {
    const { name: connection } = summary
    const pause = facts.pauses.get(connection) ?? null
    const current = withoutEnded(runs.get(connection) ?? noRuns)
    const scheduled = { sync: ctx.sync, schedules: schedules.get(connection) ?? [] }
    return {
      ...summary,
      ...current,
      state: stateOf({ ...summary, runs: current, alerts: facts.alerts.get(connection) ?? [] }),
      nextAt: nextAt(scheduled, { connection, purpose: 'read', pause }),
      nextVerifyAt: nextAt(scheduled, { connection, purpose: 'verify', pause }),
      nextSampleAt: nextAt(scheduled, { connection, purpose: 'sample', pause }),
    }
  })
}

async function listProcesses({ sync }: ControlContext): Promise<Process[]> {
  const all = await processes(sync.store.db)
  return all.map(({ roles, host, pid, version, since, seenAt, settings }) => ({
    roles,
    host,
    pid,
    version,
    since,
    seenAt: seenAt.toISOString(),
    differs: [...new Set(all.flatMap((other) => differences(settings, other.settings)))].sort(),
  }))
}
