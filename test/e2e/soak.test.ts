import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, describe, test } from 'vitest'
import type { CrashDaemon } from '../helpers/crash/crashes.ts'
import { openStory, type Story, sizes } from '../helpers/crash/story.ts'
import { createDice, type Dice } from '../helpers/dice.ts'
import { seed } from '../helpers/seed.ts'
import { reportTrials } from '../helpers/trials.ts'
import { openVisitor } from '../helpers/visitor.ts'
import { type Host, startHost } from '../helpers/world.ts'

const minutes = Number(process.env.ROLLCALL_SOAK_MINUTES ?? 2)
const redisDatabase = 9

/** What one process and its servers hold after a night. */
type Held = {
  readonly memoryMebibytes: number
  readonly openFiles: number
  readonly redisKeys: number
  readonly storeMebibytes: number
  /** Sign-ins that the store keeps; those of an embedded one can be counted by its daemon alone. */
  readonly sessions: number | null
}

/** What the visitor of the console looks at each night. */
const pages = [
  '/',
  '/overview',
  '/runs',
  '/people',
  '/problems',
  '/sources',
  '/events',
  '/schedules',
  '/audit',
  '/reports',
]
/** Minutes without a visit after which a session ends. The next sign-in removes it. */
const idleMinutes = 2
/** Maximum delay until it is gone after that. */
const slackMs = 120_000

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

// While nights pass, somebody uses the console.
describe.concurrent.each(sizes(redisDatabase))(
  'one daemon that works through night after night, $name',
  { tags: ['full'] },
  (size) => {
    test('uses no more at the end than in the middle, and loses nobody', {
      timeout: (minutes + 10) * 60_000,
    }, async ({ task, expect }) => {
      const dice = createDice(`${seed} ${size.name}`)
      await using story = await openStory(host, size, { server: `, sessions: { idleMinutes: ${idleMinutes} }` })
      const daemon = await story.daemon()
      const { token } = await (await daemon.control()).createToken({ body: { name: 'ana', role: 'approver' } })
      await using visitor = await openVisitor(daemon.url(), token)
      const nights: Held[] = []
      const end = performance.now() + minutes * 60_000

      while (performance.now() < end) {
        await Promise.all([night(story, daemon, dice), visitor.visit(pages)])
        nights.push(await held(story, daemon))
        const { sessions } = nights.at(-1) ?? {}
        const lately = performance.now() - idleMinutes * 60_000 - slackMs
        if (sessions) expect(sessions).toBeLessThanOrEqual(visitor.signIns.filter((at) => at > lately).length)
      }
      expect(visitor.eventsReceived).toBeGreaterThan(nights.length)
      await visitor[Symbol.asyncDispose]()
      await story.tidyNight(dice)
      await story.requestRun(daemon)
      await daemon.atRest()
      expect(await daemon.kill('SIGTERM')).toBe(0)

      const quarter = Math.floor(nights.length / 4)
      const [second, last] = [nights.slice(quarter, 2 * quarter), nights.slice(-quarter)]
      const [before, after] = [typical(second), typical(last)]
      expect(await story.account()).toEqual([])
      expect(after.memoryMebibytes).toBeLessThan(before.memoryMebibytes * 1.05 + 2)
      // The embedded database keeps the files of its tables open, of which vacuuming makes some more.
      expect(after.openFiles).toBeLessThan(before.openFiles * 1.05 + 4)
      expect(after.redisKeys).toBeLessThanOrEqual(before.redisKeys + 10)
      // History is kept for years, so that each night adds to the store, but not more than the one before. A few nights in which the
      // embedded database gave room back are no measure for later ones.
      expect(growth(last)).toBeLessThan(Math.max(growth(second), 0) * 1.5 + 0.1)
      reportTrials(task, {
        subject: `a daemon whose console is in use, ${size.name}`,
        times: `${nights.length} nights in ${minutes} minutes, ${visitor.pages} pages, ${visitor.eventsReceived} live events (seed ${seed})`,
        result: `nobody lost; from the second quarter to the last: ${describeHeld(before)} → ${describeHeld(after)}`,
      })
    })
  },
)

/** HR tells of a day, and an operator decides about what is held. */
async function night(story: Story, daemon: CrashDaemon, dice: Dice): Promise<void> {
  await story.night(dice, { unlisted: dice.chance(1 / 8) })
  await story.requestRun(daemon)
  await daemon.atRest()
  const causes = await story.heldFor(daemon)
  if (causes.length === 0) return
  if (causes.includes('unlistedValues')) {
    await story.classifyStatuses(daemon)
    await story.requestRun(daemon)
  } else {
    await story.approve(daemon)
  }
  await daemon.atRest()
}

async function held({ storage }: Story, { pid, weigh }: CrashDaemon): Promise<Held> {
  return {
    memoryMebibytes: (await weigh()) / 2 ** 20,
    openFiles: (await readdir(`/proc/${pid}/fd`)).length,
    redisKeys: storage.queue ? await keysOf(storage.queue) : 0,
    sessions: storage.database ? await countedIn(storage.database, 'rollcall.access_sessions') : null,
    storeMebibytes: (storage.database ? await bytesOf(storage.database) : await bytesIn(storage.store)) / 2 ** 20,
  }
}

async function keysOf(queue: string): Promise<number> {
  const redis = new Redis(queue)
  try {
    return await redis.dbsize()
  } finally {
    redis.disconnect()
  }
}

function bytesOf(database: string): Promise<number> {
  return numberOf(database, 'SELECT pg_database_size(current_database())::float8 AS number')
}

function countedIn(database: string, table: string): Promise<number> {
  return numberOf(database, `SELECT count(*)::float8 AS number FROM ${table}`)
}

async function numberOf(database: string, query: string): Promise<number> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    const { rows } = await client.query<{ number: number }>(query)
    return rows[0]?.number ?? Number.NaN
  } finally {
    await client.end()
  }
}

/** The embedded database makes and removes files meanwhile, and keeps a log of fixed size. */
async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true })
  const fileSizes = names
    .filter((name) => !name.includes('pg_wal'))
    .map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    )
  return (await Promise.all(fileSizes)).reduce((sum, size) => sum + size, 0)
}

/** The median of each. */
function typical(nights: readonly Held[]): Held {
  const median = (of: (night: Held) => number) =>
    nights.map(of).toSorted((a, b) => a - b)[nights.length >> 1] ?? Number.NaN
  return {
    memoryMebibytes: median((one) => one.memoryMebibytes),
    openFiles: median((one) => one.openFiles),
    redisKeys: median((one) => one.redisKeys),
    sessions: nights[0]?.sessions === null ? null : median((one) => one.sessions ?? Number.NaN),
    storeMebibytes: median((one) => one.storeMebibytes),
  }
}

/** What a night added to the store, in mebibytes. */
function growth(nights: readonly Held[]): number {
  const [first, last] = [nights[0], nights.at(-1)]
  return first && last ? (last.storeMebibytes - first.storeMebibytes) / nights.length : Number.NaN
}

function describeHeld({ memoryMebibytes, openFiles, redisKeys, storeMebibytes, sessions }: Held): string {
  return `${sessions === null ? '' : `${sessions} sign-ins kept, `}${memoryMebibytes.toFixed(0)} MiB, ${openFiles} open files, ${redisKeys} keys in Redis, store ${storeMebibytes.toFixed(1)} MiB`
}
