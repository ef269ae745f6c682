import type { LiveAlert, LiveEvent, LiveRun } from '../../contract/control/live.ts'
import { Failure } from '../../errors.ts'
import { openAlerts } from '../../store/alerts/alerts.ts'
import { getRun, listRuns, type Run, type RunState } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'

const pauseMs = 1000
const mostListeners = 200
/** The newest runs are watched too: one may begin and end between two looks. */
const newestRuns = 20
const mostRuns = 200
const unsettled: readonly RunState[] = ['reading', 'planned', 'delivering', 'held', 'waiting']

export type Listener = {
  /** Only what is about this connection; left out: everything. */
  readonly connection?: string
  readonly onEvent: (event: LiveEvent) => void
}

export type Live = {
  /** Tells the listener how everything stands, and then each change, until the function that is answered is called. */
  listen(listener: Listener): Promise<() => void>
  [Symbol.dispose](): void
}

type Seen = { readonly runs: ReadonlyMap<string, LiveRun>; readonly alerts: ReadonlyMap<string, LiveAlert> }

/**
 * Watches the store for as long as someone listens. Each process looks for itself, whichever of them does the work: two short
 * statements a second, however many listen.
 */
export function startLive(db: Db): Live {
  const listeners = new Set<Listener>()
  let seen: Seen | null = null
  let looking: Promise<void> | null = null
  let timer: NodeJS.Timeout | undefined
  /** From when the next look is set until that look has ended: there is one at a time, whoever comes and goes meanwhile. */
  let isWatching = false
  let isStopped = false

  function look(): Promise<void> {
    looking ??= lookNow().finally(() => {
      looking = null
    })
    return looking
  }

  async function lookNow(): Promise<void> {
    const before = seen
    const now = await read(db)
    if (before === null) {
      seen = now
      return
    }
    const ended = [...before.runs.values()].filter(({ id, state }) => unsettled.includes(state) && !now.runs.has(id))
    const known = new Map(now.runs)
    for (const { id } of ended) {
      const run = await getRun(db, id)
      if (run) known.set(id, liveRun(run))
    }
    seen = now
    for (const run of known.values()) if (!isSame(run, before.runs.get(run.id))) tell({ event: 'run', data: run })
    for (const [id, alert] of now.alerts)
      if (!isSame(alert, before.alerts.get(id))) tell({ event: 'alert', data: alert })
    for (const [id, alert] of before.alerts) {
      if (!now.alerts.has(id)) tell({ event: 'alert', data: { ...alert, open: false } })
    }
  }

  function tell(event: Exclude<LiveEvent, { event: 'snapshot' }>): void {
    for (const { connection, onEvent: heard } of listeners) {
      if (connection === undefined || connection === event.data.connection) heard(event)
    }
  }

  function lookAgain(): void {
    if (isWatching || isStopped || listeners.size === 0) return
    isWatching = true
    timer = setTimeout(lookOnce, pauseMs)
  }

  async function lookOnce(): Promise<void> {
    try {
      if (listeners.size > 0) await look()
    } catch {
      // A store that is away is told of elsewhere; the next look finds what happened meanwhile.
    }
    isWatching = false
    lookAgain()
  }

  return {
    async listen(listener) {
      if (isStopped || listeners.size >= mostListeners)
        throw new Failure(
          'conflict',
          `no more than ${mostListeners} readers are told of what happens at once; try again later`,
        )
      await look()
      const { connection } = listener
      const isMeant = (about: { readonly connection: string }) =>
        connection === undefined || connection === about.connection
      const runs = [...(seen?.runs.values() ?? [])].filter(isMeant)
      const alerts = [...(seen?.alerts.values() ?? [])].filter(isMeant)
      listeners.add(listener)
      listener.onEvent({ event: 'snapshot', data: { runs, alerts } })
      lookAgain()
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

async function read(db: Db): Promise<Seen> {
  const runs = [
    ...(await listRuns(db, { limit: newestRuns })),
    ...(await listRuns(db, { states: unsettled, limit: mostRuns })),
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
