import { deliveryOperations } from '../../../src/contract/platform/delivery-operations.ts'
import {
  byIdentityId,
  type Identity,
  type IdentityRecord,
} from '../../../src/contract/platform/hris-user-identities.ts'
import { Failure } from '../../../src/errors.ts'
import { createClient } from '../../../src/http/client/client.ts'
import { Postponed } from '../../../src/queue/jobs.ts'
import { claimTarget, connectionStates, releaseTarget } from '../../../src/store/connections/connections.ts'
import type { Run } from '../../../src/store/runs/runs.ts'
import { takeLease } from '../../../src/store/workers/leases.ts'
import type { PlatformClient } from '../../../src/sync/context/context.ts'
import type { CircuitOptions } from '../../../src/sync/rate-limit/circuit.ts'
import { createRateLimiter, type RateLimiter } from '../../../src/sync/rate-limit/rate-limiter.ts'
import { makeOwedStatements, requestRun, sweep } from '../../../src/sync/sync.ts'
import { judge } from '../crash/judge.ts'
import { noLimits } from '../guards/no-limits.ts'
import { createHr, type ExpectedPerson } from '../model/hr-model.ts'
import { createPostgresDatabase } from '../servers/databases.ts'
import { type Host, openWorld, peopleOn, readInDoubt } from '../world.ts'
import { type Fault, type OperationName, type Passed, pass, type ReceivedRequest, startFaultProxy } from './proxy.ts'

const changing: readonly (OperationName | null)[] = [
  'upsertHrisUserIdentities',
  'updateHrisUserIdentity',
  'deleteHrisUserIdentity',
]
const firstDay = Temporal.PlainDate.from('2026-11-20')
const timeoutMs = 30_000
const shortTimeoutMs = 500
/** Longer than any fault delays a batch. */
const maxHours = 30

export type StoryOptions = {
  readonly people?: number
  readonly delivery?: Partial<{ batchSize: number; batchBytes: number; updateWave: number }>
}

/** A company with a fault proxy on the way to a platform of its own. E0004 and E0005 have left; nothing has been delivered yet. */
export async function openStory(host: Host, { people = 12, delivery = {} }: StoryOptions = {}) {
  await using opening = new AsyncDisposableStack()
  const { key, client } = await host.tenant()
  const { at } = opening.use(await createPostgresDatabase())
  const proxy = opening.use(await startFaultProxy({ target: host.platform.baseUrl }))
  const clientTo = (baseUrl: string, requestTimeoutMs = timeoutMs): PlatformClient =>
    createClient(deliveryOperations, { baseUrl, bearer: key, timeoutMs: requestTimeoutMs })
  const world = opening.use(
    await openWorld({
      at,
      client: clientTo(proxy.baseUrl),
      connection: {
        guards: noLimits,
        delivery: { batchSize: 1000, batchBytes: 1_000_000, updateWave: 100, ...delivery },
      },
    }),
  )
  const { connection, sync } = world
  const hr = createHr(people)
  hr.leave('E0004', '2026-10-01')
  hr.leave('E0005', '2026-11-10')
  let nights = 0
  let stopping = new AbortController()
  let beforeEachDelivery = (): void => {}
  const kept = opening.move()

  /** Runs all queued jobs. A failed job leaves the queue, and its work stays due in the store; the test sees bugs. */
  async function drain(): Promise<void> {
    for (let job = world.jobs.shift(); job; job = world.jobs.shift()) {
      if (job.name !== 'run') beforeEachDelivery()
      await world.workOn(job, stopping.signal).catch((error: unknown) => {
        if (!(error instanceof Postponed || error instanceof Failure || stopping.signal.aborted)) throw error
      })
    }
  }

  async function targetId(): Promise<number> {
    const [state] = await connectionStates(sync.store.db)
    return state?.targetId ?? 0
  }

  function use(platform: Partial<typeof sync.platform>): void {
    Object.assign(sync, { platform: { ...sync.platform, ...platform } })
  }

  // Pauses follow the clock of the test. Failures open no circuit, except in tests about the circuit.
  const unlimitedRate: RateLimiter = {
    send: async (request) => await request(),
    pause: async () => {},
    readBudget: async () => ({ remaining: 1, remainingMs: 0, isOpen: false }),
    get lowPriority() {
      return unlimitedRate
    },
  }
  use({ rateLimiter: unlimitedRate })

  return {
    world,
    proxy,
    hr,
    /** Sends requests to the platform without the proxy. */
    client,

    /** Reads HR's next export, and delivers what the faults let through. */
    async night(options: { verify?: boolean } = {}): Promise<Run> {
      const day = firstDay.add({ days: nights++ })
      const { rows, asOf } = hr.night(`${day}T01:00:00.000Z`)
      world.clock.now = new Date(Math.max(world.clock.now.getTime(), Date.parse(`${day}T03:00:00.000Z`)))
      world.setExport(rows, asOf)
      const { id } = await requestRun(sync, { connection: connection.name, trigger: 'schedule', options })
      await drain()
      return await world.runOf(id)
    },

    /** Moves the clock on, then does what the daemon does every minute. */
    async advanceMinutes(minutes: number): Promise<void> {
      world.clock.now = new Date(world.clock.now.getTime() + minutes * 60_000)
      await sweep(sync)
      await makeOwedStatements(sync)
      await readInDoubt(sync)
      await drain()
    },

    /** Moves the clock on until the run has ended, for at most 30 hours; returns the run. */
    async end({ id }: Run): Promise<Run> {
      for (let hours = 0; hours < maxHours; hours++) {
        const run = await world.runOf(id)
        if (run.state !== 'delivering') return run
        await this.advanceMinutes(61)
      }
      return await world.runOf(id)
    },

    /** From now on this fault happens to every request that changes a person. */
    setFault(fault: Fault | ((request: ReceivedRequest) => Fault)): void {
      proxy.fault((request) => {
        if (!changing.includes(request.operation)) return pass
        return typeof fault === 'function' ? fault(request) : fault
      })
    },

    /** From now on requests go to this address. */
    useAddress: (baseUrl: string) => use({ client: clientTo(baseUrl) }),

    /** From now on requests time out early. */
    useShortTimeout: () => use({ client: clientTo(proxy.baseUrl, shortTimeoutMs) }),

    /** From now on failures open a circuit. */
    useCircuit(circuit: CircuitOptions): void {
      const { inFlight } = sync.platform
      const budget = { pool: sync.store.pool, platform: 'proxy', requestsPerMinute: 1_000_000, inFlight }
      use({ rateLimiter: createRateLimiter({ ...budget, circuit }) })
    },

    /** Aborts the work that is under way. */
    stop: () => stopping.abort(),

    /** Sets what is called before each delivery. */
    beforeDelivery(callback: () => void): void {
      beforeEachDelivery = callback
    },

    /** Puts the connection into the configuration, or takes it out. */
    configure(isConfigured: boolean): void {
      Object.assign(sync, { connections: new Map(isConfigured ? [[connection.name, connection]] : []) })
    },

    /** Ends all faults, as after a restart of the process. */
    async heal(): Promise<void> {
      stopping = new AbortController()
      beforeEachDelivery = () => {}
      use({ client: clientTo(proxy.baseUrl), rateLimiter: unlimitedRate })
      this.configure(true)
      await proxy.heal()
      proxy.forget()
    },

    /** Registers what is closed together with the story. */
    use: <T extends AsyncDisposable>(opened: T): T => kept.use(opened),

    /** Writes a person to the platform, as another tool would. */
    async platformHolds(record: IdentityRecord): Promise<void> {
      await client.upsertHrisUserIdentities({ params: { connectionId: await targetId() }, body: [record] })
    },

    async platformLoses(identityId: string): Promise<void> {
      const params = { connectionId: await targetId(), userIdentityId: byIdentityId(identityId) }
      await client.deleteHrisUserIdentity({ params })
    },

    /** Adds a second connection of the same name, and forgets the id of the right one. Returns a function that deletes the second one. */
    async rivalConnection(): Promise<() => Promise<unknown>> {
      const made = await client.createCustomConnection({ body: { name: 'Acme HRIS', providerTypes: ['HRIS'] } })
      await sync.store.db.updateTable('connections').set({ target_id: null }).execute()
      const connectionId = made.status === 201 ? made.body.id : 0
      return () => client.deleteCustomConnection({ params: { connectionId } })
    },

    /** Claims the look-up of the connection, as another live process would. Returns a function that releases it. */
    async lookedUpElsewhere(): Promise<() => Promise<unknown>> {
      const { db } = sync.store
      const lease = kept.use(await takeLease(sync.store))
      await db.updateTable('connections').set({ target_id: null }).execute()
      await claimTarget(db, { connection: connection.name, lease })
      return () => releaseTarget(db, { connection: connection.name, lease })
    },

    /** The requests that would change a person, since the last `heal`. */
    changes: (): Passed[] => proxy.requests.filter(({ operation }) => changing.includes(operation)),

    /** How many of these requests named each person. */
    timesSent(): Record<string, number> {
      const named = this.changes().flatMap(({ identityIds }) => identityIds)
      return Object.fromEntries([...Map.groupBy(named, (id) => id)].map(([id, times]) => [id, times.length]))
    },

    /** The keys of the people in the table of problems. */
    async refused(): Promise<string[]> {
      const rows = await sync.store.db.selectFrom('problems').select('identity_id').orderBy('identity_id').execute()
      return rows.map(({ identity_id }) => identity_id)
    },

    /** The stored batches of a run. */
    async batchesOf({ id }: Run) {
      return await sync.store.db
        .selectFrom('deliveries')
        .selectAll()
        .where('run_id', '=', id)
        .orderBy('batch')
        .execute()
    },

    /** How many people the platform has. */
    confirmed: async (): Promise<number> => (await peopleOn(client)).size,

    async blocked() {
      const [state] = await connectionStates(sync.store.db)
      return state?.blocked ?? null
    },

    findings: () => judge({ client, expected: hr.expected(), db: sync.store.db }),

    /** People whose record on the platform differs from HR's newest data. */
    async differingPeople(): Promise<string[]> {
      const onPlatform = await peopleOn(client)
      return [...hr.expected()]
        .filter(([id, person]) => !isAs(onPlatform.get(id), person, [person.separatedAt]))
        .map(([id]) => id)
    },

    /** People whose record on the platform matches neither last night's data nor today's; a date may be missing in between. */
    async unexplainedPeople(): Promise<string[]> {
      const before = hr.expected(hr.nights.slice(0, -1))
      const now = hr.expected()
      return [...(await peopleOn(client)).values()]
        .filter((identity) => {
          const stated = [before.get(identity.identityId), now.get(identity.identityId)].filter((person) => !!person)
          return !stated.some((person) => isAs(identity, person, [person.separatedAt, null]))
        })
        .map(({ identityId }) => identityId)
    },

    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

export type Story = Awaited<ReturnType<typeof openStory>>

/** One change of each kind (join, update, leave, return, correct), in two batches. */
export function changeOfEachKind({ hr }: Story): void {
  hr.hire('J0001', { start: '2026-11-21' })
  hr.change('E0002', { title: 'Director' })
  hr.leave('E0003', '2026-11-19')
  hr.comeBack('E0004', '2026-11-21')
  hr.correct('E0005', '2026-11-05')
}

function isAs(
  identity: Identity | undefined,
  { separatedAt: _date, ...fields }: ExpectedPerson,
  dates: readonly (string | null)[],
): boolean {
  if (!identity || !dates.includes(identity.separatedAt)) return false
  return Object.entries(fields).every(([name, value]) => identity[name as keyof typeof fields] === value)
}
