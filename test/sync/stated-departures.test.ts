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

const stories = isFull ? 40 : 4
const nights = 8
const dayMs = 24 * 60 * 60_000
const setup = { people: 6, leavers: 0, batchSize: 1000, updateWave: 100 }

/** What happens to one person on a day: an operator states or withdraws, HR writes the departure, hires again, or goes on as before. */
const happening = fc.record({
  person: fc.integer({ min: 1, max: 4 }),
  act: fc.constantFrom(
    'states' as const,
    'states' as const,
    'withdraws' as const,
    'hr leaves' as const,
    'hr rehires' as const,
  ),
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

/** The independent account of a person: which departure an operator states, and what HR's newest export says. */
type Account = { stated: string | null; ofHr: string | null }

/** Whether the person is separated by these rules: HR's day replaces that of the operator, who alone takes a stated one back. */
function separatedOn({ stated, ofHr }: Account): string | null {
  return ofHr ?? stated
}

test('people whose departure operators state before HR end as an independent account says, whoever is killed and when', {
  timeout: 60_000 + stories * 60_000,
}, async ({ task }) => {
  const counts = { stated: 0, withdrawn: 0, confirmed: 0, contradicted: 0, kills: 0 }
  await fc.assert(
    fc.asyncProperty(fc.array(night, { minLength: nights, maxLength: nights }), async (days) => {
      await using system = await openTestSystem({ host, at: testDatabase.at, setup })
      const hr = createHr(setup.people)
      const accounts = new Map([...hr.people.keys()].map((id): [string, Account] => [id, { stated: null, ofHr: null }]))
      await takeExport(system, hr)
      await system.calm()
      for (const { happens, interruption, takesExport: exports } of days) {
        system.passTime(dayMs)
        const today = system.world.sync.now().toISOString().slice(0, 10)
        const written: string[] = []
        for (const { person, act } of happens) {
          const id = `E000${person}`
          const account = accounts.get(id) ?? { stated: null, ofHr: null }
          if (act === 'states' && account.ofHr === null && account.stated === null) {
            await stateDeparture(system.world.sync, { ...by, identityId: id })
            account.stated = today
            counts.stated++
          } else if (act === 'withdraws' && account.stated !== null) {
            await withdrawDeparture(system.world.sync, { ...by, identityId: id })
            account.stated = null
            counts.withdrawn++
          } else if (act === 'hr leaves' && hr.people.get(id)?.status === 'Active') {
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
    { numRuns: stories, seed, endOnFailure: true },
  )
  const { stated, withdrawn, confirmed, contradicted, kills } = counts
  reportTrials(task, {
    subject: 'departures stated before HR',
    times: `${stories} stories of ${nights} nights (seed ${seed})`,
    result: `${stated} stated, ${withdrawn} withdrawn, ${confirmed} confirmed, ${contradicted} nights contradicted, ${kills} interruptions`,
  })
  expect(Math.min(stated, withdrawn, confirmed, contradicted, kills)).toBeGreaterThan(0)
})

const by = { connection: 'acme', reason: 'dismissed', by: 'ana', principal: 'token:ana' }

async function takeExport(system: TestSystem, hr: ReturnType<typeof createHr>): Promise<void> {
  system.show(hr.night(system.world.sync.now().toISOString()))
  await requestRun(system.world.sync, { connection: 'acme', trigger: 'operator' })
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
  const rows = await db.selectFrom('stated_departures').select('identity_id').orderBy('identity_id').execute()
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
