import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '../../src/errors.ts'
import { listRuns } from '../../src/store/runs/runs.ts'
import { stateDeparture } from '../../src/sync/requests/stated-departures.ts'
import { withdrawDeparture } from '../../src/sync/requests/withdrawn-departures.ts'
import { approveRun, requestDueRuns, requestRun } from '../../src/sync/sync.ts'
import { createHr } from '../helpers/model/hr-model.ts'
import { openTestSystem, type TestSystem } from '../helpers/model/test-system.ts'
import { seed } from '../helpers/seed.ts'
import { createPostgresDatabase, type TestDatabase } from '../helpers/servers/databases.ts'
import { isFull } from '../helpers/tier.ts'
import { reportTrials } from '../helpers/trials.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'

let host: Host
let testDatabase: TestDatabase
beforeAll(async () => {
  host = await startHost()
  testDatabase = await createPostgresDatabase()
})
afterAll(async () => {
  await testDatabase[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const stories = isFull ? 40 : 1
const nights = 8
const dayMs = 24 * 60 * 60_000
const setup = { people: 6, leavers: 0, batchSize: 1000, updateWave: 100 }

/** What happens to one person on a day: an operator states or withdraws, HR writes the departure, hires again, or goes on as before. */
const happening = fc.record({
  person: fc.integer({ min: 1, max: 4 }),
  act: fc.constantFrom(
    'states' as const,
    'states' as const,
    'approves' as const,
    'withdraws' as const,
    'hr leaves' as const,
    'hr rehires' as const,
  ),
  by: fc.constantFrom('ana', 'cleo'),
  emergency: fc.boolean(),
})
const death = fc.record({
  how: fc.constantFrom('dies' as const, 'aborts' as const),
  at: fc.constantFrom('any' as const, 'change' as const),
  number: fc.integer({ min: 1, max: 30 }),
})
const night = fc.record({
  happens: fc.array(happening, { maxLength: 3 }),
  interruption: fc.option(death, { freq: 3 }),
  takesExport: fc.boolean(),
})

type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never
const one = (person: number, act: Happening['act'], by: Happening['by'] = 'ana', emergency = false): Happening => ({
  ...{ person, act, by, emergency },
})
const quiet = { interruption: null, takesExport: true }
const killed = { how: 'dies', at: 'change', number: 2 } as const

/** A story in which each act takes effect, under either rule. */
const everything = [
  { ...quiet, happens: [one(1, 'states'), one(1, 'approves', 'cleo')], interruption: killed },
  { ...quiet, happens: [one(2, 'states', 'ana', true), one(3, 'states'), one(3, 'approves', 'cleo')] },
  { ...quiet, happens: [one(1, 'withdraws'), one(1, 'withdraws'), one(1, 'withdraws', 'cleo')] },
  { ...quiet, happens: [one(3, 'hr leaves'), one(2, 'withdraws', 'cleo')], interruption: killed },
  { ...quiet, happens: [one(4, 'states', 'cleo'), one(4, 'approves', 'cleo')] },
]

/** The independent account of a person: which departure an operator states, and what HR's newest export says. */
type Account = {
  stated: string | null
  ofHr: string | null
  /** Under the rule of two people: what a first person states or withdraws, and who alone stated an emergency. */
  waits: { readonly by: string; readonly day: string; readonly until: number } | null
  withdrawal: { readonly by: string; readonly until: number } | null
  alone: string | null
}

const newAccount = (): Account => ({ stated: null, ofHr: null, waits: null, withdrawal: null, alone: null })

/** Whether the person is separated by these rules: HR's day replaces that of the operator, who alone takes a stated one back. */
function separatedOn({ stated, ofHr }: Account): string | null {
  return ofHr ?? stated
}

test.for([
  { rule: 'one person', twoPeople: false },
  { rule: 'two people', twoPeople: true },
])(
  'under the rule of $rule, people whose departure operators state before HR end as an independent account says, whoever is killed and when',
  {
    timeout: 60_000 + stories * 60_000,
  },
  async ({ rule, twoPeople }, { task }) => {
    const counts = { stated: 0, withdrawn: 0, confirmed: 0, contradicted: 0, kills: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(night, { minLength: nights, maxLength: nights }), async (days) => {
        await using system = await openTestSystem({ host, at: testDatabase.at, setup: { ...setup, twoPeople } })
        const hr = createHr(setup.people)
        const accounts = new Map([...hr.people.keys()].map((id): [string, Account] => [id, newAccount()]))
        await takeExport(system, hr)
        await system.calm()
        for (const { happens, interruption, takesExport: exports } of days) {
          system.passTime(dayMs)
          const today = system.world.sync.now().toISOString().slice(0, 10)
          const written: string[] = []
          for (const { person, act, by, emergency } of happens) {
            const id = `E000${person}`
            const account = accounts.get(id) ?? newAccount()
            const decision = { system, account, id, by, today, twoPeople, emergency: emergency && twoPeople }
            if (act === 'states' || act === 'approves') counts.stated += await stateOne(act, decision)
            else if (act === 'withdraws') counts.withdrawn += await withdrawOne(decision)
            else if (act === 'hr leaves' && hr.people.get(id)?.status === 'Active') {
              hr.leave(id, today)
              written.push(id)
            } else if (act === 'hr rehires' && account.ofHr !== null) hr.comeBack(id, '2020-01-06')
            // Killed between a decision and its delivery.
            if (interruption) counts.kills++
            await system.work({ rounds: 2, doubled: false, stalled: true, interruption })
            await requestDueRuns(system.world.sync)
            await system.calm()
            await approveHeld(system)
            expect(await platformDates(system)).toEqual(datesOf(accounts))
          }
          if (!exports) continue
          await takeExport(system, hr)
          await system.work({ rounds: 2, doubled: false, stalled: true, interruption })
          await system.calm()
          await approveHeld(system)
          for (const [id, account] of accounts) {
            const ofHr = hr.people.get(id)?.leavingDate || null
            if (ofHr !== null) Object.assign(account, { waits: null, withdrawal: null, alone: null })
            if (ofHr !== null && account.stated !== null) {
              account.stated = null
              counts.confirmed++
            } else if (account.stated !== null) counts.contradicted++
            account.ofHr = ofHr
          }
          expect(await platformDates(system)).toEqual(datesOf(accounts))
          expect(await statedKeys(system)).toEqual(
            [...accounts].filter(([, account]) => account.stated !== null).map(([id]) => id),
          )
        }
        expect(await deliveredTwice(system)).toEqual([])
        system.complain()
      }),
      { numRuns: stories, seed, endOnFailure: true, examples: [[everything]] },
    )
    const { stated, withdrawn, confirmed, contradicted, kills } = counts
    reportTrials(task, {
      subject: `departures stated before HR, ${rule}`,
      times: `${stories} stories of ${nights} nights (seed ${seed})`,
      result: `${stated} stated, ${withdrawn} withdrawn, ${confirmed} confirmed, ${contradicted} nights contradicted, ${kills} interruptions`,
    })
    expect(Math.min(stated, withdrawn, confirmed, contradicted, kills)).toBeGreaterThan(0)
  },
)

type Decision = {
  readonly system: TestSystem
  readonly account: Account
  readonly id: string
  readonly by: string
  readonly today: string
  readonly twoPeople: boolean
  readonly emergency: boolean
}

const waitingMs = 3 * dayMs - 60_000

function about({ id, by }: Pick<Decision, 'id' | 'by'>) {
  return { connection: 'acme', reason: 'dismissed', identityId: id, by, principal: `token:${by}` }
}

/** One person states a departure, or a second one approves it. Returns how many departures apply by that. */
async function stateOne(act: 'states' | 'approves', decision: Decision): Promise<number> {
  const { system, account, id, by, today, twoPeople, emergency } = decision
  const { sync } = system.world
  const now = sync.now().getTime()
  if (account.ofHr !== null || account.stated !== null) return 0
  if (account.waits !== null && account.waits.until > now) {
    const { day, by: first } = account.waits
    const approval = stateDeparture(sync, { ...about(decision), on: day, approves: true })
    if (first === by) await expect(approval).rejects.toThrow('another person')
    if (first === by) return 0
    expect(await approval).toMatchObject({ applies: true, leavingDate: day })
    Object.assign(account, { stated: day, waits: null })
    return 1
  }
  if (act === 'approves') return 0
  const { applies } = await stateDeparture(sync, { ...about(decision), on: today, ...(emergency && { emergency }) })
  expect({ id, applies }).toEqual({ id, applies: !twoPeople || emergency })
  if (applies) Object.assign(account, { stated: today, waits: null, alone: emergency ? by : null })
  else account.waits = { by, day: today, until: now + waitingMs }
  return applies ? 1 : 0
}

/** One person withdraws what applies; under the rule of two people, it waits for another one unless one alone stated it. */
async function withdrawOne(decision: Decision): Promise<number> {
  const { system, account, by, twoPeople } = decision
  const { sync } = system.world
  const now = sync.now().getTime()
  if (account.stated === null) return 0
  const open = account.withdrawal !== null && account.withdrawal.until > now ? account.withdrawal : null
  const isFirst = twoPeople && (account.alone === null || account.alone === by) && open === null
  const withdrawal = withdrawDeparture(sync, about(decision))
  if (open?.by === by && (account.alone === null || account.alone === by)) {
    await expect(withdrawal).rejects.toThrow('another person')
    return 0
  }
  expect((await withdrawal).waits).toBe(isFirst)
  if (isFirst) account.withdrawal = { by, until: now + waitingMs }
  else Object.assign(account, { stated: null, withdrawal: null, alone: null })
  return isFirst ? 0 : 1
}

async function takeExport(system: TestSystem, hr: ReturnType<typeof createHr>): Promise<void> {
  system.show(hr.night(system.world.sync.now().toISOString()))
  await requestRun(system.world.sync, { connection: 'acme', trigger: 'operator', by: 'ana', principal: 'token:ana' })
}

/** The guards of this store allow two leavers at once. */
async function approveHeld(system: TestSystem): Promise<void> {
  for (const { id, state, digest } of await listRuns(system.world.sync.store.db, { limit: 50 })) {
    if (state !== 'held') continue
    await approveRun(system.world.sync, { runId: id, digest: digest ?? '', by: 'ben', principal: 'token:ben' }).catch(
      (error: unknown) => {
        if (!(error instanceof Failure)) throw error
      },
    )
  }
  await system.calm()
}

async function platformDates({ client }: TestSystem): Promise<Map<string, string | null>> {
  const people = [...(await peopleOn(client))].sort(([a], [b]) => a.localeCompare(b))
  return new Map(people.map(([id, { separatedAt }]) => [id, separatedAt?.slice(0, 10) ?? null]))
}

function datesOf(accounts: ReadonlyMap<string, Account>): Map<string, string | null> {
  return new Map([...accounts].map(([id, account]) => [id, separatedOn(account)]))
}

async function statedKeys({ world }: TestSystem): Promise<string[]> {
  const { db } = world.sync.store
  const rows = await db
    .selectFrom('stated_departures')
    .select('identity_id')
    .where('applies', '=', true)
    .orderBy('identity_id')
    .execute()
  return rows.map(({ identity_id }) => identity_id)
}

/** Departures of one person and day that two runs have delivered with no return between them. */
async function deliveredTwice({ world }: TestSystem): Promise<unknown[]> {
  const { rows } = await world.sync.store.pool.query(`
    select identity_id from (
      select identity_id, kind, lag(kind) over (partition by identity_id order by runs.created_at) as before
      from changes join runs on runs.id = run_id where kind in ('leave', 'return') and runs.state in ('finished', 'finished_with_problems')
    ) changed where kind = 'leave' and before = 'leave'`)
  return rows
}
