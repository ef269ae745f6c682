import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Control, controlOverSocket } from '../../../src/cli/session/control-client.ts'
import { isEndedOrHeld } from '../../../src/contract/control/shapes.ts'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import type { PlatformClient } from '../../../src/sync/context/context.ts'
import { acceptedExports, judge } from '../crash/judge.ts'
import { type Fault, type FaultProxy, pass, type ReceivedRequest, startFaultProxy } from '../faults/proxy.ts'
import { noLimits } from '../guards/no-limits.ts'
import { install } from '../installation.ts'
import { createHr, type Hr } from '../model/hr-model.ts'
import { type Served, serve } from '../served.ts'
import type { Host } from '../world.ts'

const lookAgainMs = 100
const restWithinMs = 240_000

/** A daemon of a site, in a process of its own. */
export type SiteDaemon = Served & { readonly control: Control }

/** Holds batches back. */
export type Gate = {
  /** Resolves when this number of batches waits. */
  reached(batches: number): Promise<void>
  /** Waiting batches stay; later ones pass. */
  leaveAside(): void
  /** Lets everything through; resolves when the waiting batches have been answered. */
  open(): Promise<void>
}

export type GateOptions = {
  /** What is kept: requests, of which the platform does not hear, or of every other one the answer of the platform that has taken it. */
  readonly keep?: 'requests' | 'both'
  /** How many are kept; those that come then pass by. */
  readonly atMost?: number
}

/** Maximum number of batches of a large run in flight: one of four requests stays free for short work. */
export const inFlight = 3

/** A company with people, a platform, a store that outlives its daemons, and as many daemons on it as a test starts. */
export type Site = AsyncDisposable & {
  readonly hr: Hr
  readonly client: PlatformClient
  /** Stands between the daemons and the platform. */
  readonly proxy: FaultProxy
  /** Writes an export of HR's current data. */
  night(): Promise<void>
  /** Starts another daemon, on a machine of its own as far as files go. */
  daemon(): Promise<SiteDaemon>
  /** Lets this many further batches through, and delays those that follow. */
  gateAfter(batches: number, options?: GateOptions): Gate
  /**
   * Resolves when every run has come to rest, however often the daemon did not answer meanwhile; tells how the newest one ended that
   * was asked for. A daemon that was in doubt about people adds a run to repair them.
   */
  atRest(control: Control, runs?: number): Promise<string>
  /** Resolves when no run is active, no batch is due, and nobody is in doubt. */
  whenIdle(): Promise<void>
  /** The differences between the platform and HR's data. */
  findings(): Promise<string[]>
  /** What is wrong with what everything came to; empty when everybody is on the platform as HR said, once, and accounted for. */
  account(): Promise<string[]>
  /** How many people were sent to the platform, each as often as it was sent. */
  peopleSent(): number
}

export type SiteOptions = {
  readonly people: number
  readonly batchSize: number
  readonly database: string
  readonly queue?: string
  /** How long a request to the platform may take. Default: as in production. */
  readonly requestTimeoutMs?: number
}

export async function openSite(
  host: Host,
  { people, batchSize, database, queue, requestTimeoutMs }: SiteOptions,
): Promise<Site> {
  await using opening = new AsyncDisposableStack()
  const { key, client } = await host.tenant()
  const proxy = opening.use(await startFaultProxy({ target: host.platform.baseUrl }))
  const settings = { baseUrl: proxy.baseUrl, key, database, ...(queue !== undefined && { queue }) }
  const first = opening.use(await install(settings))
  const path = join(first.folder, 'exports', 'people.csv')
  const connection = `    delivery: { batchSize: ${batchSize}, updateWave: 0 }
    guards: ${JSON.stringify(noLimits)}
`
  const hr = createHr(people)
  const opened = opening.move()
  let daemons = 0

  const site: Site = {
    hr,
    client,
    proxy,
    async night() {
      await first.writeExport(hr.rows())
      hr.night((await stat(path)).mtime.toISOString())
    },
    async daemon() {
      const work = daemons++ === 0 ? first : opened.use(await install(settings))
      await work.configure({ connection, path, ...(requestTimeoutMs !== undefined && { requestTimeoutMs }) })
      const served = await serve(work)
      return { ...served, control: controlOverSocket(served) }
    },
    gateAfter: (batches, options = {}) => gateAfter(proxy, batches, options),
    atRest: (control, runs = 1) =>
      until('every run had come to rest', async () => {
        const { data } = await control.listRuns({ query: { limit: 100 } })
        const resting = data.filter(isEndedOrHeld)
        const requested = data.filter(({ trigger }) => trigger !== 'repair')
        return requested.length >= runs && resting.length === data.length ? requested[0]?.state : undefined
      }),
    async whenIdle() {
      await using store = await openStore(database)
      await until('nothing was left to do', async () => ((await countUnfinished(store)) === 0 ? true : undefined))
    },
    findings: () => judge({ client, expected: hr.expected() }),
    async account() {
      await using store = await openStore(database)
      const accepted = hr.nightsOf(await acceptedExports(store.db))
      const unread = accepted.at(-1) === hr.nights.at(-1) ? [] : ['the last export was not accepted']
      return [...unread, ...(await judge({ client, expected: hr.expected(accepted), db: store.db }))]
    },
    peopleSent: () => proxy.requests.filter(isBatch).reduce((sum, { identityIds }) => sum + identityIds.length, 0),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
  return site
}

/** Opens the store beside the daemons that work on it. */
export function openStore(at: string): Promise<Database<StoreSchema>> {
  return openDatabase<StoreSchema>({ at, schemas: ['rollcall', 'bullmq'], migrations })
}

/** Polls until `look` returns a value. A failing look is repeated. */
export async function until<T>(condition: string, look: () => Promise<T | undefined>): Promise<T> {
  const limit = AbortSignal.timeout(restWithinMs)
  let trouble: unknown
  for (;;) {
    const result = await look().catch((error: unknown) => {
      trouble = error
      return undefined
    })
    if (result !== undefined) return result
    if (limit.aborted) throw new Error(`waited in vain until ${condition}`, { cause: trouble })
    await pause(lookAgainMs)
  }
}

async function countUnfinished({ pool }: Database<StoreSchema>): Promise<number> {
  const { rows } = await pool.query<{ left: number }>(
    `select (select count(*) from runs where state in ('waiting', 'reading', 'planned', 'delivering'))
       + (select count(*) from takeovers) + (select count(*) from roster where uncertain) as left`,
  )
  return rows[0]?.left ?? 0
}

function isBatch({ operation }: Pick<ReceivedRequest, 'operation'>): boolean {
  return operation === 'upsertHrisUserIdentities'
}

function gateAfter(
  proxy: FaultProxy,
  batches: number,
  { keep = 'requests', atMost = Number.POSITIVE_INFINITY }: GateOptions,
): Gate {
  const opened = Promise.withResolvers<void>()
  const waiting: Promise<void>[] = []
  let isClosed = true
  let arrived = 0
  const kept = (part: 'request' | 'answer'): Fault => ({
    name: `${part} kept`,
    async play(exchange) {
      if (part === 'answer') await exchange.forward()
      const played = opened.promise.then(() => pass.play(exchange))
      waiting.push(played)
      await played
    },
  })
  proxy.fault((request) => {
    if (!isClosed || !isBatch(request)) return pass
    arrived += 1
    if (arrived <= batches || arrived > batches + atMost) return pass
    return kept(keep === 'both' && arrived % 2 === 0 ? 'answer' : 'request')
  })
  return {
    reached: (requests) =>
      until(`${requests} batches stood before the gate`, async () =>
        waiting.length >= requests ? true : undefined,
      ).then(() => undefined),
    leaveAside() {
      isClosed = false
    },
    async open() {
      isClosed = false
      opened.resolve()
      await Promise.all(waiting)
    },
  }
}
