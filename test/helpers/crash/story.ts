import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Control } from '../../../src/cli/session/control-client.ts'
import { openDatabase } from '../../../src/database/database.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { listRuns } from '../../../src/store/runs/runs.ts'
import type { Db, StoreSchema } from '../../../src/store/schema.ts'
import type { PlatformClient } from '../../../src/sync/context/context.ts'
import type { Dice } from '../dice.ts'
import { type FaultProxy, startFaultProxy } from '../faults/proxy.ts'
import { noLimits } from '../guards/no-limits.ts'
import { install } from '../installation.ts'
import { createHr, type ExpectedPerson, type Hr } from '../model/hr-model.ts'
import { createPostgresDatabase } from '../servers/databases.ts'
import { redisUrl } from '../servers/provided.ts'
import { type Host, peopleOn } from '../world.ts'
import { type CrashDaemon, prepareDaemon } from './crashes.ts'
import { acceptedExports, acceptedStates, judge } from './judge.ts'
import { findUnreported, type Named, namedByControl, namedInStore } from './named.ts'
import { createClerks, type Faults, type Untidy, understood, unlistedIn, written } from './untidy.ts'

/** Where an installation keeps its state and its jobs. */
export type Size = {
  readonly name: string
  readonly open: (stack: AsyncDisposableStack) => Promise<{ readonly database?: string; readonly queue?: string }>
}

/** Small batches, so that a night has several. Leavers go in batches in some nights and one by one in others. */
const connection = `    delivery: { batchSize: 4, updateWave: 2 }
    guards: ${JSON.stringify({ ...noLimits, rejectedRows: undefined })}
`

/** Maximum number of people before HR stops hiring, so that later nights do not take longer. */
const maxPeople = 200
/** Maximum time between the last response of a killed process and the report of its end. */
const maxDeathNoticeMs = 5000
/** The number of people at the beginning. */
const staff = 30
/** In the past, so that no leaving date is in the future. */
const firstDay = Temporal.PlainDate.from('2021-03-01')

/** The three sizes. Jobs in Redis have a database of their own there, which `redisDatabase` names. */
export function sizes(redisDatabase: number): readonly Size[] {
  return [
    { name: 'embedded', open: async () => ({}) },
    { name: 'PostgreSQL', open: async (stack) => ({ database: stack.use(await createPostgresDatabase()).at }) },
    {
      name: 'PostgreSQL and Redis',
      open: async (stack) => ({
        database: stack.use(await createPostgresDatabase()).at,
        queue: new URL(`/${redisDatabase}`, await redisUrl()).href,
      }),
    },
  ]
}

type Employee = Hr['people'] extends ReadonlyMap<string, infer E> ? E : never

/** A company over many nights whose daemon is killed again and again. */
export type Story = AsyncDisposable & {
  /** Where the store and the jobs are; a store without a server is in `store`. */
  readonly storage: { readonly database?: string; readonly queue?: string; readonly store: string }
  readonly hr: Hr
  /** The faults in HR's next export, by person. */
  readonly faults: Faults
  readonly client: PlatformClient
  /** Stands between the daemon and the platform. */
  readonly proxy: FaultProxy
  /**
   * Simulates a day in HR: people join, change, leave, return; leaving dates are corrected; faults of rows come and go. Then writes an
   * export. With `unlisted` it contains a status that is in no list, so that the plan is held.
   */
  night(dice: Dice, options?: { readonly unlisted?: boolean }): Promise<void>
  /** Simulates a day in HR, corrects every row, and writes an export. */
  tidyNight(dice: Dice): Promise<void>
  /** Writes HR's next export. */
  writeExport(): Promise<void>
  /** The next daemon, not started yet. The previous one must have ended. */
  next(): CrashDaemon
  /** The next daemon, started. */
  daemon(): Promise<CrashDaemon>
  /** Whether a run has been requested since the last night. */
  readonly hasRequestedRun: boolean
  /** Requests a run. The daemon may be killed meanwhile. */
  requestRun(daemon: CrashDaemon): Promise<void>
  /** The guards that hold a plan; empty if no plan is held. */
  heldFor(daemon: CrashDaemon): Promise<string[]>
  /** Classifies the unlisted statuses of the last export, as an operator. The daemon may be killed meanwhile. */
  classifyStatuses(daemon: CrashDaemon): Promise<void>
  /** Approves the held run, as an operator. The daemon may be killed meanwhile. */
  approve(daemon: CrashDaemon): Promise<void>
  /** An operator approves two people of what is held. A daemon that dies meanwhile is no failure. */
  approvePart(daemon: CrashDaemon): Promise<void>
  /** An approver states that somebody left on a day (`YYYY-MM-DD`). A daemon that dies meanwhile is no failure. */
  stateDeparture(daemon: CrashDaemon, departure: { readonly identityId: string; readonly on: string }): Promise<void>
  /** The expected people on the platform if every export was accepted, without people for whom two states are right. */
  expected(): ReadonlyMap<string, ExpectedPerson>
  /**
   * Differences between the platform and the exports that a daemon read, without people whom the daemon names to an operator. The daemon
   * must be running.
   */
  findings(daemon: CrashDaemon): Promise<string[]>
  /** The same, read from the store while no daemon runs; a held run is a finding too. */
  account(): Promise<string[]>
}

/** `server`: further settings of the configuration below `server`. */
export async function openStory(host: Host, size: Size, { server = '' }: { server?: string } = {}): Promise<Story> {
  await using opening = new AsyncDisposableStack()
  const { key, client } = await host.tenant()
  const proxy = opening.use(await startFaultProxy({ target: host.platform.baseUrl }))
  const storage = await size.open(opening)
  const settings = { baseUrl: proxy.baseUrl, key, ...storage }
  const work = opening.use(await install(settings, { hasStore: storage.database === undefined, isEmbedded: true }))
  await work.configure({ connection, server })
  const hr = createHr(staff)
  const clerks = createClerks(hr)
  const exports: Untidy[] = []
  let hasRequestedRun = true
  let ready = opening.use(prepareDaemon(work))
  const opened = opening.move()

  const store = join(work.dataDir, 'store')
  const story: Story = {
    storage: { ...storage, store },
    hr,
    faults: clerks.faults,
    client,
    proxy,
    get hasRequestedRun() {
      return hasRequestedRun
    },
    async night(dice, { unlisted = false } = {}) {
      const leavers = simulateDay(hr, dice, clerks.faults)
      clerks.addFaults(dice, { leavers, unlisted })
      await story.writeExport()
    },
    async tidyNight(dice) {
      simulateDay(hr, dice, clerks.faults)
      clerks.correctAll()
      await story.writeExport()
    },
    async writeExport() {
      hasRequestedRun = false
      const faults = new Map(clerks.faults)
      await work.writeExport(written({ night: { asOf: '', csv: '', rows: hr.rows() }, faults }))
      const { mtime } = await stat(join(work.folder, 'exports', 'people.csv'))
      exports.push({ night: hr.night(mtime.toISOString()), faults })
    },
    next() {
      const daemon = ready
      ready = opened.use(prepareDaemon(work))
      return daemon
    },
    async daemon() {
      const daemon = story.next()
      await daemon.start()
      return daemon
    },
    async requestRun(daemon) {
      await ignoreKill(daemon, async (control) => {
        await control.startRun({ params: { connection: 'acme' }, body: {} })
        hasRequestedRun = true
      })
    },
    async heldFor(daemon) {
      const { guards = [] } = (await heldRun(await daemon.control())) ?? {}
      return (guards ?? []).flatMap(({ name, ok }) => (ok ? [] : [name]))
    },
    async classifyStatuses(daemon) {
      const last = exports.at(-1)
      await ignoreKill(daemon, async (control) => {
        for (const { value, as } of last ? unlistedIn(last) : [])
          await control.classifyValue({ params: { connection: 'acme' }, body: { value, as, by: 'ops' } })
      })
    },
    async approve(daemon) {
      await ignoreKill(daemon, async (control) => {
        const held = await heldRun(control)
        if (held)
          await control.approveRun({ params: { runId: held.id }, body: { digest: held.digest ?? '', by: 'ops' } })
      })
    },
    async approvePart(daemon) {
      await ignoreKill(daemon, async (control) => {
        const { id: runId } = (await heldRun(control)) ?? { id: '' }
        const { data } = await control.listChanges({ params: { runId }, query: { limit: 2, values: false } })
        const part = { people: data.map(({ identityId }) => identityId) }
        const { digest } = await control.previewPart({
          params: { runId },
          query: { limit: 2, values: false },
          body: part,
        })
        await control.approveRun({ params: { runId }, body: { digest, part, by: 'ops' } })
      })
    },
    async stateDeparture(daemon, { identityId, on }) {
      await ignoreKill(daemon, async (control) => {
        const params = { connection: 'acme', identityId }
        await control.stateDeparture({ params, body: { on, reason: 'dismissed', by: 'ops' } })
      })
    },
    expected: () => expectedOf(exports).expected,
    async findings(daemon) {
      const control = await daemon.control()
      const { data } = await control.listRuns({ query: { limit: 1000 } })
      const timesOf = (states: readonly string[]) =>
        data.flatMap(({ state, feed, asOf }) => (states.includes(state) && feed === 'source' && asOf ? [asOf] : []))
      const named = await namedByControl(control)
      return await compared({ accepted: timesOf(acceptedStates), held: timesOf(['held']), named })
    },
    async account() {
      const at = storage.database ?? store
      await using database = await openDatabase<StoreSchema>({ at, schemas: ['rollcall', 'bullmq'], migrations })
      const { db } = database
      const held = (await listRuns(db, { limit: 1000 })).filter(({ state }) => state === 'held')
      return [
        ...held.map(({ id }) => `run ${id} is still held`),
        ...(await compared({ accepted: await acceptedExports(db), held: [], named: await namedInStore(db), db })),
      ]
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
  return story

  /** An export that HR replaced before a daemon read it has no effect. */
  async function compared({
    accepted: acceptedTimes,
    held: heldTimes,
    named,
    db,
  }: {
    accepted: readonly string[]
    held: readonly string[]
    named: Named
    db?: Db
  }): Promise<string[]> {
    const readAt = (times: readonly string[]): Untidy[] => {
      const nights = new Set(hr.nightsOf(times))
      return exports.filter(({ night }) => nights.has(night))
    }
    const accepted = readAt(acceptedTimes)
    const read = readAt([...acceptedTimes, ...heldTimes])
    const unread = read.at(-1) === exports.at(-1) ? [] : ['the last export was neither accepted nor held']
    const { expected, open } = expectedOf(accepted)
    return [
      ...unread,
      ...(await judge({ client, expected, open, ...(db && { db }) })),
      ...findUnreported({ platform: await peopleOn(client), accepted, read, named }),
    ]
  }

  function expectedOf(read: readonly Untidy[]) {
    const { nights, open } = understood(read)
    const expected = new Map([...hr.expected(nights)].filter(([id]) => !open.has(id)))
    return { expected, open }
  }
}

async function heldRun(control: Control) {
  const { data } = await control.listRuns({ query: { limit: 1000 } })
  return data.find(({ state }) => state === 'held')
}

/** Sends requests to a daemon, and ignores an error if the daemon was killed meanwhile. */
async function ignoreKill(daemon: CrashDaemon, act: (control: Control) => Promise<void>): Promise<void> {
  try {
    await act(await daemon.control())
  } catch (error) {
    const end = await Promise.race([daemon.ended, sleep(maxDeathNoticeMs, 'alive', { ref: false })])
    if (end !== 'SIGKILL') throw error
  }
}

/** Simulates a day in HR, with at most one change per person. Returns the keys of the leavers. */
function simulateDay(hr: Hr, dice: Dice, faults: Faults): string[] {
  const today = firstDay.add({ days: hr.nights.length })
  const lately = () => today.subtract({ days: dice.integer(1, 20) }).toString()
  const changed = new Set<string>()
  const chooseFrom = (count: number, fits: (person: Employee) => boolean): Employee[] => {
    const people = [...hr.people.values()].filter((person) => fits(person) && !changed.has(person.id))
    const chosen = Array.from(
      { length: Math.min(count, people.length) },
      () => people.splice(dice.integer(0, people.length - 1), 1)[0],
    )
    for (const person of chosen) if (person) changed.add(person.id)
    return chosen.flatMap((person) => person ?? [])
  }

  const leavers = chooseFrom(dice.integer(2, 4), isEmployed)
  const corrected = chooseFrom(dice.integer(2, 3), hasLeft)
  const returners = chooseFrom(dice.integer(1, 2), (person) => hasLeft(person) || !person.listed)
  const movers = chooseFrom(dice.integer(3, 5), ({ listed }) => listed)
  // The last person of an export stays in it, otherwise it looks truncated.
  const mayVanish = (person: Employee) => isEmployed(person) && person.id <= keyOf(staff) && !faults.has(person.id)
  const vanished = chooseFrom(dice.integer(0, 1), mayVanish)
  for (const { id } of leavers) hr.leave(id, lately())
  for (const { id, leavingDate } of corrected) hr.correct(id, otherThan(leavingDate, lately))
  for (const { id } of returners) hr.comeBack(id, today.toString())
  for (const { id } of movers) hr.change(id, { title: `Title ${hr.nights.length}.${dice.integer(0, 99)}` })
  for (const { id } of vanished) hr.vanish(id)
  const joiners = hr.people.size < maxPeople ? dice.integer(2, 4) : 0
  for (let i = 0; i < joiners; i++) hr.hire(keyOf(hr.people.size + 1))
  return leavers.map(({ id }) => id)
}

function isEmployed({ listed, leavingDate }: Employee): boolean {
  return listed && !leavingDate
}

function hasLeft({ listed, leavingDate }: Employee): boolean {
  return listed && Boolean(leavingDate)
}

function otherThan(known: string | undefined, draw: () => string): string {
  const drawn = draw()
  return drawn === known ? otherThan(known, draw) : drawn
}

/** The key of the nth person. */
function keyOf(number: number): string {
  return `E${String(number).padStart(4, '0')}`
}
