import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../../../src/database/database.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { Db, StoreSchema } from '../../../src/store/schema.ts'
import type { PlatformClient } from '../../../src/sync/context.ts'
import type { Dice } from '../dice.ts'
import { type FaultProxy, startFaultProxy } from '../faults/proxy.ts'
import { install } from '../installation.ts'
import { createHr, type Hr } from '../model/hr-model.ts'
import { postgresPlace } from '../servers/databases.ts'
import { redisUrl } from '../servers/provided.ts'
import type { Host } from '../world.ts'
import { type CrashDaemon, prepareDaemon } from './crashes.ts'
import { acceptedExports, acceptedStates, judge } from './judge.ts'

/** Where an installation keeps its state and its jobs. */
export type Size = {
  readonly name: string
  readonly open: (stack: AsyncDisposableStack) => Promise<{ readonly database?: string; readonly queue?: string }>
}

/** Small batches, so that a night has several; of those of the leavers some travel together and some person by person. */
const connection = `    delivery: { batchSize: 4, updateWave: 2 }
    guards: { leavers: { count: 10000 }, emailChanges: { count: 10000 }, shrink: { count: 10000 } }
`

/** So many people HR knows before it stops hiring; nights then take as long as those before. */
const mostPeople = 200
/** How long it may take until the end of a process is known whose connections have ended. */
const dyingMs = 5000
/** How many people HR begins with. */
const staff = 30
/** A long time ago, so that no leaving date lies ahead. */
const firstDay = Temporal.PlainDate.from('2021-03-01')

/** The three sizes. Jobs in Redis have a database of their own there, which `redisDatabase` names. */
export function sizes(redisDatabase: number): readonly Size[] {
  return [
    { name: 'embedded', open: async () => ({}) },
    { name: 'PostgreSQL', open: async (stack) => ({ database: stack.use(await postgresPlace()).at }) },
    {
      name: 'PostgreSQL and Redis',
      open: async (stack) => ({
        database: stack.use(await postgresPlace()).at,
        queue: new URL(`/${redisDatabase}`, await redisUrl()).href,
      }),
    },
  ]
}

type Employee = Hr['people'] extends ReadonlyMap<string, infer E> ? E : never

/** A company over many nights whose daemon dies again and again. */
export type Story = AsyncDisposable & {
  readonly hr: Hr
  readonly client: PlatformClient
  /** Stands between the daemon and the platform. */
  readonly proxy: FaultProxy
  /** HR goes on: people join, change, leave, return; leaving dates are corrected; then it drops an export. */
  night(dice: Dice): Promise<void>
  /** HR drops an export. */
  tell(): Promise<void>
  /** The next daemon, ready to start. The one before must have ended by then. */
  next(): CrashDaemon
  /** The next daemon, serving. */
  daemon(): Promise<CrashDaemon>
  /** Whether a run has been asked for since the last night. */
  readonly asked: boolean
  /** Asks for a run. A daemon that dies meanwhile is no failure. */
  ask(daemon: CrashDaemon): Promise<void>
  /** What is wrong on the platform; empty when everything has arrived that was in the exports which a daemon found. It has to serve. */
  findings(daemon: CrashDaemon): Promise<string[]>
  /** What is wrong on the platform and in the store; no daemon may run. */
  account(): Promise<string[]>
}

export async function openStory(host: Host, size: Size): Promise<Story> {
  await using opening = new AsyncDisposableStack()
  const { key, client } = await host.tenant()
  const proxy = opening.use(await startFaultProxy({ target: host.platform.baseUrl }))
  const place = await size.open(opening)
  const settings = { baseUrl: proxy.baseUrl, key, ...place }
  const work = opening.use(await install(settings, { hasStore: place.database === undefined }))
  await work.configure({ connection })
  const hr = createHr(staff)
  let asked = true
  let ready = opening.use(prepareDaemon(work))
  const opened = opening.move()

  const story: Story = {
    hr,
    client,
    proxy,
    get asked() {
      return asked
    },
    async night(dice) {
      goOn(hr, dice)
      await story.tell()
    },
    async tell() {
      asked = false
      await work.hrSays(hr.rows())
      const { mtime } = await stat(join(work.folder, 'exports', 'people.csv'))
      hr.night(mtime.toISOString())
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
    async ask(daemon) {
      try {
        const control = await daemon.control()
        await control.startRun({ params: { connection: 'acme' }, body: {} })
        asked = true
      } catch (error) {
        const end = await Promise.race([daemon.ended, sleep(dyingMs, 'alive', { ref: false })])
        if (end !== 'SIGKILL') throw error
      }
    },
    async findings(daemon) {
      const control = await daemon.control()
      const { data } = await control.listRuns({ query: { limit: 1000 } })
      return await compared(data.flatMap(({ state, asOf }) => (acceptedStates.includes(state) && asOf ? [asOf] : [])))
    },
    async account() {
      const at = place.database ?? join(work.dataDir, 'store')
      await using store = await openDatabase<StoreSchema>({ at, schemas: ['rollcall', 'bullmq'], migrations })
      return await compared(await acceptedExports(store.db), store.db)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
  return story

  /** An export that HR replaced before a daemon came to read it has told nobody anything. */
  async function compared(times: readonly string[], db?: Db): Promise<string[]> {
    const read = new Set(hr.nightsOf(times))
    const accepted = hr.nights.filter((night) => read.has(night))
    const unread = accepted.at(-1) === hr.nights.at(-1) ? [] : ['the last export was not accepted']
    return [...unread, ...(await judge({ client, expected: hr.expected(accepted), ...(db && { db }) }))]
  }
}

/** What HR learns on one day; nobody is met by two things at once. */
function goOn(hr: Hr, dice: Dice): void {
  const today = firstDay.add({ days: hr.nights.length })
  const lately = () => today.subtract({ days: dice.integer(1, 20) }).toString()
  const met = new Set<string>()
  const some = (count: number, fits: (person: Employee) => boolean): Employee[] => {
    const people = [...hr.people.values()].filter((person) => fits(person) && !met.has(person.id))
    const chosen = Array.from(
      { length: Math.min(count, people.length) },
      () => people.splice(dice.integer(0, people.length - 1), 1)[0],
    )
    for (const person of chosen) if (person) met.add(person.id)
    return chosen.flatMap((person) => person ?? [])
  }

  const leavers = some(dice.integer(2, 4), isEmployed)
  const corrected = some(dice.integer(2, 3), hasLeft)
  const returners = some(dice.integer(1, 2), (person) => hasLeft(person) || !person.listed)
  const movers = some(dice.integer(3, 5), ({ listed }) => listed)
  // The last one of an export stays in it, else it looks cut off.
  const vanished = some(dice.integer(0, 1), (person) => isEmployed(person) && person.id <= nameOf(staff))
  for (const { id } of leavers) hr.leave(id, lately())
  for (const { id, left } of corrected) hr.correct(id, otherThan(left, lately))
  for (const { id } of returners) hr.comeBack(id, today.toString())
  for (const { id } of movers) hr.change(id, { title: `Title ${hr.nights.length}.${dice.integer(0, 99)}` })
  for (const { id } of vanished) hr.vanish(id)
  const joiners = hr.people.size < mostPeople ? dice.integer(2, 4) : 0
  for (let i = 0; i < joiners; i++) hr.hire(nameOf(hr.people.size + 1))
}

function isEmployed({ listed, left }: Employee): boolean {
  return listed && !left
}

function hasLeft({ listed, left }: Employee): boolean {
  return listed && Boolean(left)
}

function otherThan(known: string | undefined, draw: () => string): string {
  const drawn = draw()
  return drawn === known ? otherThan(known, draw) : drawn
}

/** As HR numbers people, also those of its first day. */
function nameOf(number: number): string {
  return `E${String(number).padStart(4, '0')}`
}
