import type { Process } from '../../contract/control/processes.ts'
import type {
  BlockedPeopleCounts,
  ConnectionStatus,
  ForeignTally,
  InDoubtCounts,
} from '../../contract/control/shapes.ts'
import type { statusOperations } from '../../contract/control/status.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { type ConnectionState, connectionStates } from '../../store/connections/connections.ts'
import { type Pause, pausedConnections } from '../../store/connections/pauses.ts'
import { noProblems, type ProblemCounts, problemCounts } from '../../store/deliveries/problems.ts'
import { foreignCounts, noForeignPeople } from '../../store/foreign/people.ts'
import { inDoubtCounts } from '../../store/in-doubt.ts'
import { countBlockedPeople, noBlockedPeople } from '../../store/rejects/blocked-people.ts'
import { type CurrentRuns, currentRuns } from '../../store/runs/runs.ts'
import { type PushedTally, pushedTallies } from '../../store/scim/resources.ts'
import { differences, processes } from '../../store/workers/processes.ts'
import { currentAlerts } from './alerts.ts'
import type { ControlContext } from './control-context.ts'
import { platformDelay } from './delays.ts'
import { pauseView } from './pauses.ts'
import { nextAt } from './schedules.ts'
import type { WithActor } from './with-permissions.ts'

/** Handlers of the operations about what runs here. */
export const statusHandlers: Handlers<typeof statusOperations, ControlContext & WithActor> = {
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
    const pushed = await pushedTallies(db)
    const connections = names.map((name) =>
      connectionStatus(ctx, name, {
        state: states.get(name),
        runs: runs.get(name) ?? { active: null, last: null },
        problems: problems.get(name) ?? noProblems,
        blockedPeople: blockedPeople.get(name) ?? noBlockedPeople,
        foreign: foreign.get(name) ?? noForeignPeople,
        inDoubt: inDoubt.get(name) ?? null,
        pause: paused.get(name) ?? null,
        pushed: pushed.get(name),
      }),
    )
    return {
      status: 200,
      body: {
        ...ctx.about,
        platformDelay: (await platformDelay(ctx.sync)) ?? undefined,
        alerts: await currentAlerts(ctx),
        unsigned: ctx.audit.trouble() ?? undefined,
        processes: await listProcesses(ctx),
        reload: ctx.reloads?.last ?? undefined,
        connections,
      },
    }
  },
}

/** What the store has of one connection. */
type ConnectionFacts = {
  readonly state: ConnectionState | undefined
  readonly runs: CurrentRuns
  readonly problems: ProblemCounts
  readonly blockedPeople: BlockedPeopleCounts
  readonly foreign: ForeignTally
  readonly inDoubt: InDoubtCounts | null
  readonly pause: Pause | null
  readonly pushed: PushedTally | undefined
}

function connectionStatus(ctx: ControlContext, name: string, facts: ConnectionFacts): ConnectionStatus {
  const { state, runs, problems, blockedPeople, foreign, inDoubt, pause, pushed } = facts
  const { target, feeds, approvals, isPushed } = ctx.sync.connections.get(name) ?? {}
  const people = state?.people ?? 0
  const due = state?.outOfSync ?? 0
  return {
    name,
    target: target && 'name' in target ? target.name : `connection ${state?.targetId ?? target?.id}`,
    // `wanted` is deprecated: removed after 0.1.
    people: { desired: people, wanted: people, separated: state?.separated ?? 0, due },
    problems,
    blockedPeople,
    // Deprecated: removed after 0.1.
    unserved: blockedPeople,
    foreign,
    inDoubt,
    twoPeople: approvals?.twoPeople ?? false,
    requireReason: approvals?.requireReason ?? false,
    inbox: feeds?.webhook
      ? { pending: state?.pendingEvents ?? 0, held: state?.heldEvents ?? 0, rejected: state?.rejectedEvents ?? 0 }
      : null,
    ...(isPushed && pushed && { pushed: { ...pushed, lastAt: pushed.lastAt?.toISOString() ?? null } }),
    blocked: state?.blocked ?? null,
    paused: pause && pauseView(pause),
    ...runs,
    nextAt: nextAt(ctx, { connection: name, purpose: 'read', pause }),
    nextVerifyAt: nextAt(ctx, { connection: name, purpose: 'verify', pause }),
    nextSampleAt: nextAt(ctx, { connection: name, purpose: 'sample', pause }),
  }
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
