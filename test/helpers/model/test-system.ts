import { setTimeout as sleep } from 'node:timers/promises'
import type { KyselyPlugin } from 'kysely'
import pg from 'pg'
import { Failure } from '../../../src/errors.ts'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { type JobRequest, Postponed } from '../../../src/queue/jobs.ts'
import { auditKey, newKeyPem, Signing } from '../../../src/store/audit/key.ts'
import { makeOwedStatements, requestEventRuns, sweep } from '../../../src/sync/sync.ts'
import { webhookFeed } from '../events.ts'
import { type Host, openWorld, readInDoubt, type World } from '../world.ts'
import { faultyClient, type Outage } from './faults.ts'
import type { Night } from './hr-model.ts'

/** With how many people a story begins, how many of them have left, and how they are delivered. */
export type Setup = {
  readonly people: number
  readonly leavers: number
  readonly batchSize: number
  readonly updateWave: number
  /** Whether a second person has to approve. */
  readonly twoPeople?: boolean
}

/** When work is interrupted: by the death of the process or by its signal, at its nth action or its nth change. */
export type Interruption = { readonly how: 'dies' | 'aborts'; readonly at: 'any' | 'change'; readonly number: number }

export type TestSystem = Awaited<ReturnType<typeof openTestSystem>>

const minuteMs = 60_000
/** No request is under way for longer. */
const mostLateMs = 14 * minuteMs

/**
 * A daemon's store (a database on a PostgreSQL server, which is emptied first), workers and queue against a real platform, in the hands of whoever breaks them: jobs get lost or doubled, the
 * platform fails, and the process dies at any statement or request, without a word and with its sessions, as a killed one does.
 */
export async function openTestSystem({ host, at, setup }: { host: Host; at: string; setup: Setup }) {
  await using opening = new AsyncDisposableStack()
  const operator = await connect(at)
  opening.defer(() => operator.end())
  await emptyStore(operator)
  const { client } = await host.tenant()
  const signing = new Signing(auditKey(newKeyPem(), 'a trial'))
  const outage: Outage = { fault: null, remaining: 0, script: [], passesReads: false, late: [] }
  const bugs: unknown[] = []
  let life = createLife()
  let world = await open()
  const opened = opening.move()

  async function open(): Promise<World> {
    const born = createLife()
    life = born
    const next = await openWorld({
      at,
      client: faultyClient(client, { outage, step: born.step }),
      connection: {
        guards: Guards.parse({ leavers: { count: 2, share: 0 }, shrink: { count: 2, share: 0 } }),
        delivery: { batchSize: setup.batchSize, batchBytes: 1_000_000, updateWave: setup.updateWave },
        ...(setup.twoPeople && { approvals: { expireHours: 72, twoPeople: true, requireReason: false } }),
      },
      webhook: webhookFeed(),
      signing,
      indexing: { version: '1', sampleSize: 2 },
    })
    next.source.slice = 2
    const { store } = next.sync
    Object.assign(next.sync, {
      store: { ...store, db: store.db.withPlugin(born.plugin) },
      // No two things happen at the same time.
      now: () => {
        next.clock.now = new Date(next.clock.now.getTime() + 1)
        return next.clock.now
      },
    })
    return next
  }

  async function reopen(kept: readonly JobRequest[]): Promise<void> {
    const { clock, source } = world
    world = await open()
    world.clock.now = clock.now
    Object.assign(world.source, source)
    world.jobs.push(...kept)
  }

  /** As SIGKILL does: nothing that was under way goes on, and the server ends the sessions with whatever they had begun. */
  async function die(): Promise<void> {
    life.dead = true
    const { sync } = world
    sync.store.pool.end().catch(() => undefined)
    await operator.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
    sync.lease[Symbol.asyncDispose]().catch(() => undefined)
  }

  const system = {
    client,
    outage,
    get world(): World {
      return world
    },

    passTime(ms: number): void {
      world.clock.now = new Date(world.clock.now.getTime() + ms)
      for (const late of outage.late) late.ageMs += ms
      outage.late = outage.late.filter(({ ageMs }) => ageMs < mostLateMs)
    },

    /** Requests that were given up some time ago reach the platform after all. Answers how many. */
    async arriveLate(): Promise<number> {
      const { late = [], fresh = [] } = Object.groupBy(outage.late, ({ ageMs }) => (ageMs > 0 ? 'late' : 'fresh'))
      outage.late = fresh
      for (const { send } of late) await send()
      return late.length
    },

    /** HR puts this export where the source looks. */
    show({ rows, asOf }: Night): void {
      world.setExport(rows, asOf)
    },

    /** What the daemon does every minute; like everything else it may meet a failing database, and comes round again. */
    async minute(): Promise<void> {
      await requestEventRuns(world.sync)
      await sweep(world.sync)
      await makeOwedStatements(world.sync)
      await readInDoubt(world.sync)
    },

    /**
     * Works on jobs, several at a time, in this number of rounds over the queue. `stalled`: jobs of a dead process come
     * back from the queue. Doubled jobs run twice at the same time.
     */
    async work({
      rounds,
      doubled,
      stalled,
      interruption,
    }: {
      rounds: number
      doubled: boolean
      stalled: boolean
      interruption: Interruption | null
    }): Promise<void> {
      const controller = new AbortController()
      const atWork = life
      if (interruption) atWork.interrupt(interruption, () => controller.abort())
      for (let round = 0; round < rounds && world.jobs.length > 0 && !atWork.dead; round++) {
        const taken = world.jobs.splice(0)
        const working = (doubled ? [...taken, ...taken] : taken).map((job) => attempt(job, controller.signal))
        await Promise.race([Promise.all(working), atWork.death])
        if (!atWork.dead) continue
        const kept = [...world.jobs, ...(stalled ? taken : [])]
        await die()
        await reopen(kept)
      }
      atWork.interrupt(null, () => undefined)
    },

    /** The daemon is stopped in peace and started again; the queue may have kept its jobs. */
    async restart(keepsJobs: boolean): Promise<void> {
      const kept = keepsJobs ? [...world.jobs] : []
      await world[Symbol.asyncDispose]()
      await reopen(kept)
    },

    /** Ends whatever is wrong, and lets time pass until there is nothing left to do. */
    async calm(): Promise<void> {
      outage.fault = null
      for (let hour = 0; hour < 48; hour++) {
        system.passTime(61 * minuteMs)
        await system.minute()
        await system.work({ rounds: 50, doubled: false, stalled: false, interruption: null })
        if (await isAtRest(world)) return
        // The breaks of the world's circuit go by the machine's own clock.
        await sleep(2)
      }
      throw new Error('two days after everything has become well again there is still something left to do')
    },

    /** Throws what nobody foresaw: an error that has neither a code nor to do with an interruption. */
    complain(): void {
      const [first] = bugs
      if (first !== undefined) throw first
    },

    async [Symbol.asyncDispose](): Promise<void> {
      life.dead = true
      await world[Symbol.asyncDispose]()
      await opened.disposeAsync()
    },
  }
  return system

  async function attempt(job: JobRequest, signal: AbortSignal): Promise<void> {
    const atWork = life
    try {
      await world.workOn(job, signal)
    } catch (error) {
      if (atWork.dead || signal.aborted || error instanceof Failure || error instanceof Postponed) return
      bugs.push(error)
    }
  }
}

/** What a process does, step by step: each statement and each request, until it is dead. */
function createLife() {
  const { promise: death, resolve: isDead } = Promise.withResolvers<void>()
  const never = new Promise<never>(() => undefined)
  let ends: (Interruption & { remaining: number; abort: () => void }) | null = null
  const life = {
    dead: false,
    death,
    interrupt(interruption: Interruption | null, abort: () => void): void {
      ends = interruption && { ...interruption, remaining: interruption.number, abort }
    },
    /** Waits for ever in a dead process. */
    async step(kind: Interruption['at']): Promise<void> {
      if (life.dead) await never
      if (!ends || (ends.at === 'change' && kind !== 'change') || --ends.remaining > 0) return
      const { how, abort } = ends
      ends = null
      if (how === 'aborts') return abort()
      life.dead = true
      isDead()
      await never
    },
    plugin: {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        await life.step('any')
        return result
      },
    } satisfies KyselyPlugin,
  }
  return life
}

async function isAtRest({ sync }: World): Promise<boolean> {
  const { rows } = await sync.store.pool.query<{ busy: boolean }>(`
    select exists (select 1 from runs where state in ('waiting', 'reading', 'planned', 'delivering'))
      or exists (select 1 from inbox where state = 'pending' and run_id is null)
      or exists (select 1 from roster where uncertain) as busy`)
  return rows[0]?.busy === false
}

/** Deletes what a former story left behind, which for a handful of rows is far cheaper than to truncate every table. Most name a run, and runs name a connection. */
async function emptyStore(operator: pg.Client): Promise<void> {
  const { rows } = await operator.query<{ statement: string }>(
    `select format('delete from %I.%I', schemaname, tablename) as statement from pg_tables
    where schemaname = 'rollcall' and tablename <> 'migrations' order by tablename = 'connections', tablename = 'runs'`,
  )
  if (rows.length > 0) await operator.query(rows.map(({ statement }) => statement).join(';'))
}

async function connect(at: string): Promise<pg.Client> {
  const client = new pg.Client(at)
  await client.connect()
  return client
}
