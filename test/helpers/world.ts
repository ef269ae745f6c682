import type { RecordFilter, SourceRow } from '../../src/connectors/connector.ts'
import { deliveryOperations } from '../../src/contract/platform/delivery-operations.ts'
import type { Identity } from '../../src/contract/platform/hris-user-identities.ts'
import { openDatabase } from '../../src/database/database.ts'
import { createClient } from '../../src/http/client/client.ts'
import { walk } from '../../src/http/client/walk.ts'
import { Guards } from '../../src/identity/guards/limits.ts'
import { Mapping } from '../../src/identity/mapping/mapping.ts'
import { databaseOperator } from '../../src/platform/operators/operator.ts'
import { type Platform, type PlatformOptions, startPlatform } from '../../src/platform/start.ts'
import { type JobRequest, Postponed } from '../../src/queue/jobs.ts'
import type { Signing } from '../../src/store/audit/key.ts'
import { migrations } from '../../src/store/migrations/index.ts'
import { getRun, type Run } from '../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../src/store/schema.ts'
import { takeLease } from '../../src/store/workers/leases.ts'
import type {
  PlatformClient,
  SourceFeed,
  SyncConnection,
  SyncContext,
  WebhookFeed,
} from '../../src/sync/context/context.ts'
import { createRateLimiter } from '../../src/sync/rate-limit/rate-limiter.ts'
import { makeOwedStatements, requestRun, sweep, syncWorkers, verifyPeopleInDoubt } from '../../src/sync/sync.ts'
import { createEvents } from '../../src/telemetry/events.ts'
import { noTraces } from '../../src/telemetry/traces.ts'
import { createPostgresDatabase } from './servers/databases.ts'

export const headers = [
  'Worker ID',
  'Email',
  'First Name',
  'Job Title',
  'Start Date',
  'Leaving Date',
  'Status',
] as const

/** One row of the imaginary HR export; what is left out is blank. */
export type HrPerson = {
  readonly id: string
  readonly email?: string
  readonly first?: string
  readonly title?: string
  readonly start?: string
  readonly leavingDate?: string
  readonly status?: string
}

export function staff(count: number): HrPerson[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `E${String(i + 1).padStart(4, '0')}`,
    email: `e${i + 1}@acme.example`,
    first: `Person ${i + 1}`,
    title: 'Engineer',
    start: startOf(i),
    status: 'Active',
  }))
}

/** One day for the first people, and another for each of the others: an export in which all start on one day is held. */
function startOf(index: number): string {
  return Temporal.PlainDate.from('2020-01-06')
    .add({ days: Math.max(0, index - 20) })
    .toString()
}

/** Replaces people of an export by key. */
export function change(people: readonly HrPerson[], ...changed: readonly HrPerson[]): HrPerson[] {
  const byId = new Map(changed.map((person) => [person.id, person]))
  return people.map((person) => ({ ...person, ...byId.get(person.id) }))
}

export function without(people: readonly HrPerson[], ...ids: readonly string[]): HrPerson[] {
  return people.filter(({ id }) => !ids.includes(id))
}

export type Host = AsyncDisposable & {
  readonly platform: Platform
  /** An account of its own with a key, so that tests share a platform without meeting. */
  tenant(): Promise<{ name: string; key: string; client: PlatformClient }>
}

/** A real platform over HTTP, on PostgreSQL by default. */
export async function startHost(at?: string, options: Partial<PlatformOptions> = {}): Promise<Host> {
  await using opening = new AsyncDisposableStack()
  const database = at ?? opening.use(await createPostgresDatabase()).at
  const platform = opening.use(await startPlatform({ database, validateResponses: true, ...options }))
  const operator = databaseOperator(platform.database.db)
  let tenants = 0
  const opened = opening.move()
  return {
    platform,
    async tenant() {
      const name = `Account ${++tenants}`
      await operator.createAccount({
        body: {
          name,
          entitlements: ['CUSTOM_CONNECTIONS_AND_TESTS'],
          termsAcceptedAt: '2026-01-01T00:00:00.000Z',
        },
      })
      const { key } = await operator.createKey({ body: { account: name, name: 'test', permissions: 'all' } })
      return { name, key, client: createClient(deliveryOperations, { baseUrl: platform.baseUrl, bearer: key }) }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/**
 * A store and everything that works on it, against a real platform. The queue is a list that the test works off itself, so that
 * it decides what happens before what, and what gets lost.
 */
export async function openWorld({
  at,
  client,
  connection: overrides = {},
  feed: rules = {},
  webhook,
  signing,
  indexing,
}: {
  /** PostgreSQL by default. */
  at?: string
  client: PlatformClient
  connection?: Partial<Omit<SyncConnection, 'feeds'>>
  /** Overrides of the source. */
  feed?: Partial<SourceFeed>
  webhook?: WebhookFeed
  /** The key of the installation; none by default. */
  signing?: Signing
  /** Enables the change filter, which needs a signing key; off by default. */
  indexing?: NonNullable<SyncContext['indexing']>
}) {
  await using opening = new AsyncDisposableStack()
  const database = at ?? opening.use(await createPostgresDatabase()).at
  const unsigned = opening.use(await openDatabase<StoreSchema>({ at: database, schemas: ['rollcall'], migrations }))
  const store = signing ? { ...unsigned, db: unsigned.db.withPlugin(signing) } : unsigned
  const lease = opening.use(await takeLease(store))
  const opened = opening.move()

  const clock = { now: new Date('2026-11-20T03:00:00.000Z') }
  const source = {
    asOf: '2026-11-20T01:00:00.000Z',
    rows: [] as SourceRow[],
    headers: [...headers] as string[],
    slice: 1000,
    /** Number of unchanged rows that were not parsed. */
    skippedRows: 0,
  }
  function* slices() {
    for (let start = 0; start < source.rows.length; start += source.slice)
      yield source.rows.slice(start, start + source.slice)
  }
  async function* filtered(filter: RecordFilter) {
    for (const slice of slices()) {
      const read = slice.filter(({ values, fault, origin }) => {
        const text = Buffer.from(JSON.stringify([values, fault]))
        const { length: end } = text
        return !filter.shouldSkip({ text, start: 0, end, next: end, line: origin.line, lines: 1 })
      })
      source.skippedRows += slice.length - read.length
      yield read
    }
  }
  const jobs: JobRequest[] = []
  const events: object[] = []
  const keep = (fields: object): void => {
    events.push(fields)
  }
  const feed: SourceFeed = {
    connector: {
      open: async () => ({
        mode: 'snapshot',
        asOf: source.asOf,
        source: {
          name: 'people.csv',
          bytes: source.rows.length * 100,
          cellBytes: source.rows.length * 100,
          version: source.asOf,
        },
        headers: source.headers,
        rows: (async function* () {
          yield* slices()
        })(),
        ...(indexing && { filterable: { dialect: 'rows', rows: filtered } }),
      }),
    },
    mapping: Mapping.parse({
      fields: {
        identityId: 'Worker ID',
        email: 'Email',
        firstName: 'First Name',
        jobTitle: 'Job Title',
        startedAt: { column: 'Start Date' },
        separatedAt: { column: 'Leaving Date' },
      },
      status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
    }),
    traps: [],
    absence: 'separate',
    graceRuns: 1,
    timeZone: 'UTC',
    future: 'defer',
    ...rules,
  }
  const connection: SyncConnection = {
    name: 'acme',
    target: { name: 'Acme HRIS' },
    feeds: { source: feed, ...(webhook && { webhook }) },
    guards: Guards.parse({}),
    pinned: new Set(),
    onHold: { send: [] },
    approvals: { expireHours: 72, twoPeople: false },
    configuration: 'as it was',
    delivery: { batchSize: 1000, batchBytes: 1_000_000, updateWave: 100 },
    ...overrides,
  }
  const sync: SyncContext = {
    store,
    lease,
    connections: new Map([[connection.name, connection]]),
    enqueue: async (added) => {
      for (const job of added) if (!jobs.some(({ id }) => id === job.id)) jobs.push(job)
    },
    platform: {
      client,
      baseUrl: 'http://platform.example',
      inFlight: 4,
      // Of real time only as much passes as the tests take.
      rateLimiter: createRateLimiter({
        pool: store.pool,
        platform: 'http://platform.example',
        requestsPerMinute: 1_000_000,
        inFlight: 4,
        circuit: { failures: 5, firstMs: 1, maxMs: 1 },
      }),
    },
    events: createEvents({ error: keep, warn: keep, info: keep, debug: keep }),
    traces: noTraces,
    ...(indexing && { indexing }),
    now: () => clock.now,
    startedBy: null,
  }

  /** Works jobs off until none is left. Answers what failed; such a job is gone, as it is from a queue that gave it up. */
  async function drain(): Promise<unknown[]> {
    const failures: unknown[] = []
    for (let job = jobs.shift(); job; job = jobs.shift()) {
      await workOn(job).catch((error: unknown) => failures.push(error))
    }
    return failures.filter((failure) => !(failure instanceof Postponed))
  }

  /** Works one job off, as this process or as another one. */
  async function workOn(
    job: JobRequest,
    signal: AbortSignal = new AbortController().signal,
    as: Partial<SyncContext> = {},
  ): Promise<void> {
    const context = { ...sync, ...as }
    if (job.name === 'run') return await syncWorkers.run(context, job.payload, signal)
    return await syncWorkers[job.name](context, job.payload, signal)
  }

  function setExport(people: readonly HrPerson[], asOf = source.asOf): void {
    source.asOf = asOf
    source.rows = people.map(
      ({ id, email = '', first = '', title = '', start = '', leavingDate = '', status = '' }, i) => ({
        values: [id, email, first, title, start, leavingDate, status],
        origin: { file: 'people.csv', line: i + 2 },
      }),
    )
  }

  return {
    sync,
    connection,
    clock,
    source,
    jobs,
    events,
    setExport,
    drain,
    workOn,
    async runOf(id: string): Promise<Run> {
      const run = await getRun(store.db, id)
      if (!run) throw new Error(`no run ${id}`)
      return run
    },
    /** One night: sets the export, requests a run and works its jobs off. */
    async night(
      people: readonly HrPerson[],
      options: { asOf?: string; full?: boolean; verify?: boolean } = {},
    ): Promise<Run> {
      const { asOf, ...resync } = options
      clock.now = new Date(clock.now.getTime() + 60_000)
      setExport(people, asOf)
      const { id } = await requestRun(sync, { connection: connection.name, trigger: 'operator', options: resync })
      await drain()
      return await this.runOf(id)
    },
    /** What the daemon does every minute, and what follows from it. */
    async minute(): Promise<unknown[]> {
      await sweep(sync)
      await makeOwedStatements(sync)
      await readInDoubt(sync)
      return await drain()
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** What the daemon does for people in doubt every few seconds. */
export async function readInDoubt(sync: SyncContext): Promise<void> {
  const connections = [...sync.connections.keys()]
  await verifyPeopleInDoubt(sync, { connections, repairs: 'by a run', signal: new AbortController().signal })
}

export type World = Awaited<ReturnType<typeof openWorld>>

/** Everybody whom the account's connections of people hold, by HR's key. */
export async function peopleOn(
  client: Pick<PlatformClient, 'listCustomConnections' | 'listHrisUserIdentities'>,
): Promise<Map<string, Identity>> {
  const people = new Map<string, Identity>()
  for await (const { id, providerTypes } of walk(client.listCustomConnections, { query: {} })) {
    if (!providerTypes?.includes('HRIS')) continue
    for await (const identity of walk(client.listHrisUserIdentities, {
      params: { connectionId: id },
      query: { size: 500 },
    })) {
      people.set(identity.identityId, identity)
    }
  }
  return people
}

/** Lets requests pass through `wrap` on their way to the platform. */
export function between(world: World, wrap: (client: PlatformClient) => Partial<PlatformClient>): void {
  const { platform } = world.sync
  Object.assign(world.sync, { platform: { ...platform, client: { ...platform.client, ...wrap(platform.client) } } })
}
