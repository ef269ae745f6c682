import type { LiveAlert, LiveEvent, LiveRun } from '../../contract/control/live.ts'
import { Failure } from '../../errors.ts'
import { openAlerts } from '../../store/alerts/alerts.ts'
import { getRun, listRuns, type Run, type RunState } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'

const pauseMs = 1000
const maxListeners = 200
/** Ended runs are read too: a run may begin and end between two reads. */
const newestRuns = 20
const maxRuns = 200
const openStates: readonly RunState[] = ['reading', 'planned', 'delivering', 'held', 'waiting']

/** A listener of changes. */
export type Listener = {
  /** Only events of this connection. Default: all. */
  readonly connection?: string
  readonly onEvent: (event: LiveEvent) => void
}

/** Notifies listeners of changes of runs and alerts. */
export type Live = {
  /** Sends the listener a snapshot and then each change. Returns a function that ends this. Throws `conflict` if there are too many. */
  listen(listener: Listener): Promise<() => void>
  [Symbol.dispose](): void
}

type State = { readonly runs: ReadonlyMap<string, LiveRun>; readonly alerts: ReadonlyMap<string, LiveAlert> }

/**
 * Reads the store every second while there are listeners. Each process reads for itself, with two short statements for any number of
 * listeners.
 */
export function startLive(db: Db): Live {
  const listeners = new Set<Listener>()
  let lastState: State | null = null
  let reading: Promise<void> | null = null
  let timer: NodeJS.Timeout | undefined
  /** True from setting the timer to the end of the read, so that there is one read at a time. */
  let isWatching = false
  let isStopped = false

  function readShared(): Promise<void> {
    reading ??= readNow().finally(() => {
      reading = null
    })
    return reading
  }

  async function readNow(): Promise<void> {
    const before = lastState
    const now = await read(db)
    if (before === null) {
      lastState = now
      return
    }
    const ended = [...before.runs.values()].filter(({ id, state }) => openStates.includes(state) && !now.runs.has(id))
    const known = new Map(now.runs)
    for (const { id } of ended) {
      const run = await getRun(db, id)
      if (run) known.set(id, liveRun(run))
    }
    lastState = now
    for (const run of known.values()) if (!isSame(run, before.runs.get(run.id))) notify({ event: 'run', data: run })
    for (const [id, alert] of now.alerts)
      if (!isSame(alert, before.alerts.get(id))) notify({ event: 'alert', data: alert })
    for (const [id, alert] of before.alerts) {
      if (!now.alerts.has(id)) notify({ event: 'alert', data: { ...alert, open: false } })
    }
  }

  function notify(event: Exclude<LiveEvent, { event: 'snapshot' }>): void {
    for (const { connection, onEvent } of listeners) {
      if (connection === undefined || connection === event.data.connection) onEvent(event)
    }
  }

  function scheduleRead(): void {
    if (isWatching || isStopped || listeners.size === 0) return
    isWatching = true
    timer = setTimeout(readOnce, pauseMs)
  }

  async function readOnce(): Promise<void> {
    try {
      if (listeners.size > 0) await readShared()
    } catch {
      // An unreachable store is reported elsewhere; the next read finds what happened meanwhile.
    }
    isWatching = false
    scheduleRead()
  }

  return {
    async listen(listener) {
      if (isStopped || listeners.size >= maxListeners)
        throw new Failure(
          'conflict',
          `no more than ${maxListeners} clients can watch at the same time; try again later`,
        )
      await readShared()
      const { connection } = listener
      const isMeant = (about: { readonly connection: string }) =>
        connection === undefined || connection === about.connection
      const runs = [...(lastState?.runs.values() ?? [])].filter(isMeant)
      const alerts = [...(lastState?.alerts.values() ?? [])].filter(isMeant)
      listeners.add(listener)
      listener.onEvent({ event: 'snapshot', data: { runs, alerts } })
      scheduleRead()
      return () => {
        listeners.delete(listener)
      }
    },
    [Symbol.dispose]() {
      isStopped = true
      listeners.clear()
      clearTimeout(timer)
    },
  }
}

async function read(db: Db): Promise<State> {
  const runs = [
    ...(await listRuns(db, { limit: newestRuns })),
    ...(await listRuns(db, { states: openStates, limit: maxRuns })),
  ]
  const alerts = await openAlerts(db)
  return {
    runs: new Map(runs.map((run) => [run.id, liveRun(run)])),
    alerts: new Map(
      alerts.map(({ id, connection, kind, code, people, since }) => [
        id,
        { connection, kind, code, people, since: since.toISOString(), open: true } satisfies LiveAlert,
      ]),
    ),
  }
}

function liveRun(run: Run): LiveRun {
  const { id, connection, feed, trigger, state, counts, confirmed, problems, remaining } = run
  const { createdAt, startedAt, finishedAt } = run
  return {
    id,
    connection,
    feed,
    trigger,
    state,
    counts,
    confirmed,
    problems,
    remaining,
    createdAt,
    startedAt,
    finishedAt,
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
